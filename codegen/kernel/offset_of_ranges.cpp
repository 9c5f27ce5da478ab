#include "strata/codegen/kernel/offset_of_ranges.h"

#include <algorithm>

#include "strata/core/uop/numbers.h"

namespace strata::codegen {
namespace {

int64_t applied(Op op, int64_t a, int64_t b, int64_t c) {
    switch (op) {
        case Op::cast: return a;
        case Op::where: return a ? b : c;
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

/// True of computed integers: all other types count as 0.
bool is_computed(UOp u) {
    if (u.is(Op::where)) return true;
    if (u.is(Op::cast)) return u.dtype().is_integer() && !u.src(0).dtype().is_float();
    return info(u.op()).is(kBinary) && u.src(0).dtype().is_integer();
}

}  // namespace

OffsetOfRanges::OffsetOfRanges(UOp offset, std::span<const UOp> ranges) {
    const std::vector<UOp> order = toposort(offset);
    NodeNumbers places(order.size());
    values_.resize(order.size());
    for (UOp u : order) {
        const uint32_t place = places.add(u);
        if (const auto range = std::ranges::find(ranges, u); range != ranges.end()) {
            ranges_.emplace_back(place, static_cast<size_t>(range - ranges.begin()));
        } else if (u.is_const() && !u.dtype().is_float()) {
            values_[place] = const_int(u);
        } else if (is_computed(u)) {
            Step& step = steps_.emplace_back(Step{u.op(), place, {}});
            for (size_t i = 0; i < u.src().size(); ++i) step.sources[i] = places.find(u.src(i));
        }
    }
}

int64_t OffsetOfRanges::at(std::span<const int64_t> values) {
    for (const auto& [place, range] : ranges_) values_[place] = values[range];
    for (const auto& [op, place, sources] : steps_)
        values_[place] = applied(op, values_[sources[0]], values_[sources[1]], values_[sources[2]]);
    return values_.back();
}

}  // namespace strata::codegen
