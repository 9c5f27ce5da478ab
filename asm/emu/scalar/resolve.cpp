#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/scalar/scalar.h"

// From the operands of a decoded scalar instruction to those of its op.
namespace strata::emu {
namespace {

using isa::Operand;
using isa::Type;

/// A constant source's dwords go to `fields.value` from `used` on.
void resolve_source(const Decoded& decoded, const Operand& operand, int i, int& used, ScalarFields& fields) {
    const bool wide = is_64bit(operand.type) || (operand.type == Type::lanes && decoded.wave_size == 64);
    const bool null = operand.code == isa::code::null;
    // NULL spans two dwords of a 64-bit operand, the second of which is M0: take a constant instead. An absent operand
    // reads as 0, for handlers that add it without asking.
    if (!operand.present()) {
        fields.src[i] = Wave::scalar_place(isa::code::null);
    } else if (operand.code < isa::code::inline_zero && !(null && is_64bit(operand.type))) {
        fields.src[i] = Wave::scalar_place(operand.code);
    } else if (operand.code == isa::code::scc) {
        fields.src[i] = static_cast<Place>(offsetof(Wave, scc));
    } else if (is_zero_flag(operand)) {
        fields.src[i] = zero_flag_place(operand);
    } else {
        const uint64_t value = constant_value(operand, decoded.inst.literal, decoded.inst.row->packed_reals);
        fields.constant |= 1 << i;
        fields.src[i] = static_cast<uint32_t>(used);
        fields.value[used++] = static_cast<uint32_t>(value);
        if (wide) fields.value[used++] = static_cast<uint32_t>(value >> 32);
    }
}

}  // namespace

ScalarFields resolve_scalar(const Decoded& decoded) {
    const isa::Inst& inst = decoded.inst;
    ScalarFields fields;
    fields.dst = destination_place(inst.dst[0], decoded.wave_size);
    int used = 0;
    for (int i = 0; i < 3; ++i) resolve_source(decoded, inst.src[static_cast<size_t>(i)], i, used, fields);
    fields.imm = static_cast<uint32_t>(inst.offset);
    fields.after = decoded.after;
    return fields;
}

}  // namespace strata::emu
