// The functions of libhiprtc, which lies beside this library and is loaded when a program first compiles.
#include <dlfcn.h>

#include <cstdio>
#include <new>
#include <string>

#include "strata/hip/api/exports.h"
#include "strata/hip/api/missing.h"

namespace {

/// nullptr: it is not there, and stderr says why.
void* compiler() noexcept {
    static void* const library = []() -> void* {
        Dl_info info{};
        if (!dladdr(reinterpret_cast<const void*>(&hipInit), &info)) return nullptr;
        try {
            std::string file = info.dli_fname;
            file = file.substr(0, file.rfind('/') + 1) + "libhiprtc.so.7";
            if (void* const found = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) return found;
            std::fprintf(stderr, "strata: hiprtc: %s\n", dlerror());
        } catch (const std::bad_alloc&) {
        }
        return nullptr;
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
#include "strata/hip/api/hiprtc.def"
#undef RTC
}
