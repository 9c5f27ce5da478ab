#include "strata/asm/emu/machine/operands.h"

#include <algorithm>

namespace strata::emu {
namespace {

using isa::Operand;
using isa::Type;

// Inline floating constants, code 240 on: 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi).
constexpr uint64_t kDouble[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
constexpr uint32_t kFloat[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                               0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint16_t kHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint16_t kBrain[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};

uint64_t inline_float(int index, Type type, std::string_view mnemonic) {
    switch (type) {
        case Type::b64:
        case Type::f64:
        case Type::i64:
        case Type::u64: return kDouble[index];
        case Type::f16:
        case Type::b16:
        case Type::i16:
        case Type::u16: return kHalf[index];
        case Type::bf16: return kBrain[index];
        case Type::pk16:  // packed integers see the 32-bit pattern
            if (mnemonic.find("bf16") != std::string_view::npos) return kBrain[index];
            return mnemonic.find("f16") != std::string_view::npos ? kHalf[index] : kFloat[index];
        default: return kFloat[index];
    }
}

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

uint64_t constant_value(const Operand& operand, uint32_t literal, std::string_view mnemonic) {
    int code = operand.code;
    if (code == isa::code::literal) return literal_value(literal, operand.type);
    if (code >= isa::code::inline_zero && code <= 192) return static_cast<uint64_t>(code - 128);
    if (code >= isa::code::inline_minus_one && code <= 208)
        return static_cast<uint64_t>(static_cast<int64_t>(192 - code));
    if (code >= isa::code::inline_half && code <= isa::code::inline_inv_2pi)
        return inline_float(code - isa::code::inline_half, operand.type, mnemonic);
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
