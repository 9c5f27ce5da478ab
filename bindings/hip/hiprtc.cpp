// The functions of libhiprtc, which lies beside this library and is loaded when a program first compiles.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/missing.h"

namespace {

void* compiler() {
    static void* const library = [] {
        Dl_info info{};
        std::string file = dladdr(reinterpret_cast<const void*>(&hipInit), &info) ? info.dli_fname : "";
        file = file.substr(0, file.rfind('/') + 1) + "libhiprtc.so.7";
        void* const found = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (!found) fmt::print(stderr, "strata: hiprtc: {}\n", dlerror());
        return found;
    }();
    return library;
}

template <class R>
R unavailable() {
    if constexpr (std::is_same_v<R, int>)
        return strata::hip::library::kRtcInternalError;
    else
        return "HIPRTC_ERROR_INTERNAL_ERROR";
}

}  // namespace

extern "C" {
#define RTC(result, name, parameters, arguments)                                                     \
    [[gnu::visibility("default")]] result name parameters {                                          \
        static const auto call =                                                                     \
            reinterpret_cast<result(*) parameters>(compiler() ? dlsym(compiler(), #name) : nullptr); \
        return call ? call arguments : unavailable<result>();                                        \
    }
#include "strata/bindings/hip/hiprtc.def"
#undef RTC
}
