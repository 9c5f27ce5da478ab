#include "strata/codegen/compile/compiled.h"

namespace strata::codegen {

const isa::KernelInfo& Compiled::info() const {
    if (const isa::KernelInfo* found = object->find(entry)) return *found;
    std::string known;
    for (const isa::KernelInfo& k : object->kernels) known += (known.empty() ? "" : ", ") + k.name;
    user_error(ErrorKind::Launch, "the code object has no kernel '{}'; it has: {}", entry,
               known.empty() ? "none" : known);
}

}  // namespace strata::codegen
