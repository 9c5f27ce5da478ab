#include "strata/codegen/lower/finish/delays_p.h"

#include <algorithm>

namespace strata::codegen {

Delay Delay::of(DelayKind kind, int clocks) {
    const auto count = static_cast<uint8_t>(std::min(clocks, 255));
    switch (kind) {
        case DelayKind::vector: return {.vector_clocks = count, .vectors = 0};
        case DelayKind::transcendental: return {.trans_clocks = count, .trans = 0, .vectors_since_trans = 0};
        case DelayKind::scalar: return {.scalar_clocks = std::min(count, kScalarClocks)};
        case DelayKind::other: break;
    }
    return {};
}

void Delay::join(const Delay& other) {
    vector_clocks = std::max(vector_clocks, other.vector_clocks);
    vectors = std::min(vectors, other.vectors);
    trans_clocks = std::max(trans_clocks, other.trans_clocks);
    trans = std::min(trans, other.trans);
    vectors_since_trans = std::min(vectors_since_trans, other.vectors_since_trans);
    scalar_clocks = std::max(scalar_clocks, other.scalar_clocks);
}

bool Delay::pass(DelayKind kind, int clocks) {
    const bool vector = kind == DelayKind::vector;
    vectors = static_cast<uint8_t>(vectors + vector);
    if (vectors >= kVectors || vector_clocks <= clocks)
        vectors = kVectors, vector_clocks = 0;
    else
        vector_clocks = static_cast<uint8_t>(vector_clocks - clocks);
    trans = static_cast<uint8_t>(trans + (kind == DelayKind::transcendental));
    vectors_since_trans = static_cast<uint8_t>(std::min<int>(kVectors, vectors_since_trans + vector));
    if (trans >= kTranscendentals || trans_clocks <= clocks)
        trans = kTranscendentals, vectors_since_trans = kVectors, trans_clocks = 0;
    else
        trans_clocks = static_cast<uint8_t>(trans_clocks - clocks);
    scalar_clocks = scalar_clocks <= clocks ? uint8_t{0} : static_cast<uint8_t>(scalar_clocks - clocks);
    return vector_clocks || trans_clocks || scalar_clocks;
}

int Delay::immediate() const {
    int value = 0;
    const auto add = [&](int delay) {
        if (!value)
            value = delay;
        else if (value < 16)
            value |= delay << 7;
    };
    if (trans < kTranscendentals) add(4 + trans);                            // TRANS32_DEP_1
    if (vectors < kVectors && vectors <= vectors_since_trans) add(vectors);  // VALU_DEP_1
    if (scalar_clocks) add(8 + scalar_clocks);                               // SALU_CYCLE_1
    return value;
}

Delay Delays::take(const lint::Registers& registers) {
    Delay delay;
    std::erase_if(results_, [&](const Result& result) {
        if (!registers.overlaps({result.reg, 1})) return false;
        delay.join(result.delay);
        return true;
    });
    return delay;
}

void Delays::leave(const lint::Registers& registers, DelayKind kind, int clocks) {
    take(registers);
    for (uint16_t i = 0; i < registers.count; ++i)
        results_.push_back({static_cast<uint16_t>(registers.first + i), Delay::of(kind, clocks)});
    if (kind != DelayKind::scalar && !is_vector(registers)) last_scalar_ = registers.first;
}

void Delays::pass(DelayKind kind, int clocks) {
    std::erase_if(results_, [&](Result& result) { return !result.delay.pass(kind, clocks); });
}

void Delays::scalars_are_there() {
    if (last_scalar_ < 0) return;
    const auto last = std::ranges::find_if(results_, [&](const Result& result) { return result.reg == last_scalar_; });
    if (last == results_.end()) return;
    const uint8_t vectors = last->delay.vectors;
    std::erase_if(results_,
                  [&](const Result& result) { return result.delay.vectors >= vectors && result.delay.vector_clocks; });
    last_scalar_ = -1;
}

bool Delays::join(const Delays& other) {
    bool changed = false;
    for (const Result& theirs : other.results_) {
        const auto mine = std::ranges::find_if(results_, [&](const Result& one) { return one.reg == theirs.reg; });
        if (mine == results_.end()) {
            results_.push_back(theirs);
            changed = true;
            continue;
        }
        const Delay before = mine->delay;
        mine->delay.join(theirs.delay);
        changed |= mine->delay != before;
    }
    return changed;
}

}  // namespace strata::codegen
