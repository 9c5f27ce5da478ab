#include <unistd.h>

#include "strata/asm/llvm/service/serve.h"
#include "strata/asm/llvm/service/wire.h"

int main() {
    strata::isa::serve(strata::isa::kServiceSocket);
    _exit(0);  // a thread still looks at the socket
}
