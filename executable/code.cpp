#include "strata/executable/code.h"

namespace strata::executable {
namespace {

const isa::CodeObject& object_of(const Code& code) {
    if (!code.object) throw Exception(code.without_object.value());
    return *code.object;
}

}  // namespace

const isa::Bytes& Code::code_object() const { return object_of(*this).image; }
const isa::KernelInfo& Code::info() const { return *object_of(*this).kernel(entry).value(); }

uint32_t bytes_of(std::span<const ParameterPlace> places) {
    return places.empty() ? 0 : places.back().offset + places.back().bytes;
}

}  // namespace strata::executable
