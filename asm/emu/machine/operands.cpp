#include "strata/asm/emu/machine/operands.h"

#include <algorithm>

namespace strata::emu {
namespace {

using isa::Operand;
using isa::Type;

uint64_t literal_value(uint32_t literal, Type type) {
    if (type == Type::f64) return uint64_t{literal} << 32;  // the high half of the double
    if (type == Type::i64) return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
    return literal;
}

}  // namespace

uint32_t destination_place(const Operand& operand, int wave_size) {
    if (operand.is_vector()) return Wave::vector_place(operand.row(), wave_size);
    return Wave::scalar_place(operand.code == isa::code::null || !operand.present() ? Wave::kTrash : operand.code);
}

uint64_t constant_value(const Operand& operand, uint32_t literal, isa::Reals packed) {
    const int code = operand.code;
    if (code == isa::code::literal) return literal_value(literal, operand.type);
    if (isa::is_inline_integer(operand.code)) return static_cast<uint64_t>(int64_t{isa::inline_integer(operand.code)});
    if (isa::is_inline_real(operand.code)) {
        const isa::Reals reals = isa::info(operand.type).reals;
        return isa::inline_real(operand.code).bits(reals == isa::Reals::packed ? packed : reals);
    }
    // Aperture registers are 64 bits wide with zeros below; a 32-bit read sees the low half.
    if (code == isa::code::shared_base) return uint64_t{kSharedAperture} << 32;
    if (code == isa::code::shared_limit) return uint64_t{kSharedAperture} << 32 | 0xffffffff;
    if (code == isa::code::private_base) return uint64_t{kPrivateAperture} << 32;
    if (code == isa::code::private_limit) return uint64_t{kPrivateAperture} << 32 | 0xffffffff;
    return 0;  // NULL and codes without a value
}

bool is_zero_flag(const Operand& operand) {
    return operand.code == isa::code::vccz || operand.code == isa::code::execz;
}

Place zero_flag_place(const Operand& operand) {
    return Wave::scalar_place(operand.code == isa::code::vccz ? Wave::kVccz : Wave::kExecz);
}

bool reads_zero_flags(const isa::Inst& inst) { return std::any_of(inst.src.begin(), inst.src.end(), is_zero_flag); }

}  // namespace strata::emu
