#include "strata/codegen/driver/compiled.h"

namespace strata::codegen {

namespace {

const isa::CodeObject& object_of(const Compiled& compiled) {
    if (!compiled.object) throw Exception(compiled.without_object.value());
    return *compiled.object;
}

}  // namespace

const isa::Bytes& Compiled::code_object() const { return object_of(*this).image; }
const isa::KernelInfo& Compiled::info() const { return *object_of(*this).kernel(entry).value(); }

}  // namespace strata::codegen
