// Functions of AMD's library that are known and not there: programs that name them load, and hear of it when they call one.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>

#include "strata/bindings/hip/state_p.h"

namespace {

using namespace strata::hip::library;

int not_there(const char* call, std::atomic<bool>& told) {
    if (!told.exchange(true))
        fmt::print(stderr, "strata: {} is not implemented: it returns hipErrorNotSupported\n", call);
    return finish(hipErrorNotSupported);
}

}  // namespace

// How many arguments there are is the caller's affair, on x86-64 and AArch64.
extern "C" {
#define MISSING(version, name)                  \
    [[gnu::visibility("default")]] int name() { \
        static std::atomic<bool> told;          \
        return not_there(#name, told);          \
    }
#include "strata/bindings/hip/missing.def"
#undef MISSING
}
