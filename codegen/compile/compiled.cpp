#include "strata/codegen/compile/compiled.h"

namespace strata::codegen {

const isa::KernelInfo& Compiled::info() const { return *object->kernel(entry).value(); }

}  // namespace strata::codegen
