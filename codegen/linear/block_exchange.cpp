#include "strata/codegen/linear/block_exchange_p.h"

#include "strata/core/uop/kernel.h"

namespace strata::codegen {

void BlockExchange::wait_for_readers(std::vector<UOp>& values) {
    if (loops_.empty()) return;
    std::vector<UOp> registers, stores;
    for (UOp value : values) {
        registers.push_back(uop::placeholder(1, value.dtype(), Space::reg, next_slot_++));
        stores.push_back(uop::store(uop::at(uop::after(registers.back(), loops_), 0), value));
    }
    meet(stores);
    for (size_t i = 0; i < values.size(); ++i) values[i] = uop::load(uop::at(settled(registers[i]), 0));
}

UOp BlockExchange::memory(int64_t size, DType type) { return uop::placeholder(size, type, Space::local, next_slot_++); }

void BlockExchange::meet(std::span<const UOp> effects) { barrier_ = uop::barrier(effects); }

UOp BlockExchange::settled(UOp memory) const { return barrier_ ? uop::after(memory, {barrier_}) : memory; }

int cheapest_mask(const Target& target, int bit, std::span<const int> same) {
    int best = bit;
    for (uint32_t chosen = 1; chosen < 1u << same.size(); ++chosen) {
        int mask = bit;
        for (size_t i = 0; i < same.size(); ++i)
            if (chosen >> i & 1) mask |= same[i];
        if (lane_xor(target, mask).path < lane_xor(target, best).path) best = mask;
    }
    return best;
}

UOp in_register(UOp value, std::span<const UOp> loops, int& next_slot) {
    const UOp memory = uop::placeholder(1, value.dtype(), Space::reg, next_slot++);
    const UOp kept = uop::store(uop::at(uop::after(memory, loops), 0), value);
    return uop::load(uop::at(uop::after(memory, {kept}), 0));
}

}  // namespace strata::codegen
