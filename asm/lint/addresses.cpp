#include "strata/asm/lint/addresses_p.h"

namespace strata::lint {

std::optional<uint64_t> Addresses::pair(const isa::Operand& operand) const {
    const auto low = halves_.find(operand.code), high = halves_.find(static_cast<uint16_t>(operand.code + 1));
    if (low == halves_.end() || high == halves_.end()) return {};
    return low->second | uint64_t{high->second} << 32;
}

std::optional<uint32_t> Addresses::half(const isa::Operand& operand, uint32_t literal) const {
    if (operand.is_literal()) return literal;
    if (isa::is_inline_integer(operand.code)) return static_cast<uint32_t>(isa::inline_integer(operand.code));
    const auto known = halves_.find(operand.code);
    if (known == halves_.end()) return {};
    return known->second;
}

std::optional<uint64_t> Addresses::target(const isa::Inst& jump) const { return pair(jump.src[0]); }

void Addresses::forget(const Step& step) {
    for (const Write& write : step.access->all_writes()) {
        for (uint16_t i = 0; i < write.registers.count; ++i)
            halves_.erase(static_cast<uint16_t>(write.registers.first + i));
        if (write.registers.first == kScc) carry_.reset();
    }
}

void Addresses::add(const Step& step, bool carries) {
    const isa::Inst& inst = *step.inst;
    const auto a = half(inst.src[0], inst.literal), b = half(inst.src[1], inst.literal);
    const bool of_place = halves_.contains(inst.src[0].code) || halves_.contains(inst.src[1].code);
    const std::optional<bool> carry = carries ? carry_ : false;
    forget(step);
    if (!a || !b || !carry || !of_place) return;
    const uint64_t sum = uint64_t{*a} + *b + *carry;
    halves_[inst.dst[0].code] = static_cast<uint32_t>(sum);
    carry_ = sum >> 32 != 0;
}

void Addresses::step(const Step& step) {
    const isa::Inst& inst = *step.inst;
    const std::string_view name = inst.row->mnemonic;
    const uint16_t to = inst.dst[0].code;
    if (name == "s_add_u32" || name == "s_add_co_u32") return add(step, false);
    if (name == "s_addc_u32" || name == "s_add_co_ci_u32") return add(step, true);
    std::optional<uint64_t> both;
    std::optional<uint32_t> one;
    if (name == "s_getpc_b64") both = step.pc + inst.size;
    if (name == "s_mov_b64") both = pair(inst.src[0]);
    if (name == "s_mov_b32" && halves_.contains(inst.src[0].code)) one = halves_.at(inst.src[0].code);
    if (name == "s_sext_i32_i16" && halves_.contains(inst.src[0].code))  // what RDNA4's s_getpc_b64 leaves to the code
        one = static_cast<uint32_t>(static_cast<int16_t>(halves_.at(inst.src[0].code)));
    forget(step);
    if (both) {
        halves_[to] = static_cast<uint32_t>(*both);
        halves_[static_cast<uint16_t>(to + 1)] = static_cast<uint32_t>(*both >> 32);
    }
    if (one) halves_[to] = *one;
}

}  // namespace strata::lint
