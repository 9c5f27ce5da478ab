#include <unistd.h>

#include "strata/asm/llvm/service/serve.h"
#include "strata/asm/llvm/service/wire.h"

int main(int count, char** arguments) {
    strata::isa::serve(strata::isa::kServiceSocket, count > 1 ? arguments[1] : "");
    _exit(0);  // a thread still looks at the socket
}
