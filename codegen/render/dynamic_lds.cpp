// dynamic_lds: local memory that the launch gives.
#include "strata/codegen/render/render.h"

namespace strata::codegen {

uint32_t dynamic_lds(const LinearProgram& program, const Target& target) {
    constexpr uint32_t kDeclared = 48 << 10;  // bytes of a block of NVIDIA's that need not be asked for
    return !target.arch.is_amd() && program.lds > kDeclared ? program.lds : 0;
}

}  // namespace strata::codegen
