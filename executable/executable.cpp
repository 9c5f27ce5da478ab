#include "strata/executable/executable.h"

namespace strata::executable {

size_t Executable::host_bytes() const {
    size_t bytes = sizeof *this + operands.size() * sizeof(Operand) + kernels.size() * sizeof(Kernel) +
                   results.size() * sizeof(uint32_t);
    for (const Step& step : steps)
        bytes += sizeof step + step.operands.size() * sizeof(uint32_t) + step.numbers.size() * sizeof(Number);
    return bytes;
}

}  // namespace strata::executable
