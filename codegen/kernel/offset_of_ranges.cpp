#include "strata/codegen/kernel/offset_of_ranges.h"

#include <algorithm>

namespace strata::codegen {
namespace {

int64_t applied(Op op, int64_t a, int64_t b) {
    switch (op) {
        case Op::add: return a + b;
        case Op::sub: return a - b;
        case Op::mul: return a * b;
        case Op::idiv: return b ? a / b : 0;
        case Op::mod: return b ? a % b : 0;
        case Op::max: return std::max(a, b);
        case Op::min: return std::min(a, b);
        case Op::cmplt: return a < b;
        case Op::bit_and: return a & b;
        case Op::bit_xor: return a ^ b;
        default: return 0;
    }
}

}  // namespace

OffsetOfRanges::OffsetOfRanges(UOp offset, std::span<const UOp> ranges) {
    UOpMap<size_t> place;
    for (UOp u : toposort(offset)) {
        const auto range = std::ranges::find(ranges, u);
        Step step{u, range == ranges.end() ? -1 : static_cast<int>(range - ranges.begin()), {}};
        for (UOp s : u.src()) step.sources.push_back(place.at(s));
        place[u] = steps_.size();
        steps_.push_back(std::move(step));
    }
    values_.resize(steps_.size());
}

int64_t OffsetOfRanges::at(std::span<const int64_t> values) {
    for (size_t i = 0; i < steps_.size(); ++i) {
        const auto& [u, range, sources] = steps_[i];
        const auto source = [&](size_t n) { return values_[sources[n]]; };
        int64_t& value = values_[i] = 0;
        if (range >= 0)
            value = values[static_cast<size_t>(range)];
        else if (u.is_const() && !u.dtype().is_float())
            value = const_int(u);
        else if (u.is(Op::cast) && u.dtype().is_integer() && !u.src(0).dtype().is_float())
            value = source(0);
        else if (u.is(Op::where))
            value = source(0) ? source(1) : source(2);
        else if (info(u.op()).is(kBinary) && u.src(0).dtype().is_integer())
            value = applied(u.op(), source(0), source(1));
    }
    return values_.back();
}

}  // namespace strata::codegen
