#include <unistd.h>

#include "strata/asm/llvm/service/serve.h"
#include "strata/asm/llvm/service/wire.h"

/// For a sanitizer. LLVM's own memory leaks; a limit of what is resident stands for that of the address space, which
/// shadows fill.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0:hard_rss_limit_mb=2048:allocator_may_return_null=0:max_allocation_size_mb=1024";
}

int main(int count, char** arguments) {
    strata::isa::serve(strata::isa::kServiceSocket, count > 1 ? arguments[1] : "");
    _exit(0);  // a thread still looks at the socket
}
