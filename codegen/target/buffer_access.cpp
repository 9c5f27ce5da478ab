// buffer_access: which accesses go through a descriptor, and whether its check is all of their predicate.
#include "strata/codegen/target/buffer_access.h"

#include <algorithm>
#include <cmath>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

void add_parts(UOp predicate, std::vector<UOp>& parts) {
    predicate = skip_after(predicate);
    if (!predicate.is(Op::bit_and)) return parts.push_back(predicate);
    for (UOp s : predicate.src()) add_parts(s, parts);
}

std::vector<UOp> parts_of(UOp predicate) {
    std::vector<UOp> parts;
    add_parts(predicate, parts);
    return parts;
}

bool is_frozen(UOp predicate) { return predicate.is(Op::freeze); }

/// A sum of terms, each times a number.
struct Sum {
    std::vector<std::pair<UOp, int64_t>> terms;
    int64_t constant = 0;

    void add(UOp u, int64_t factor) {
        u = skip_after(u);
        if (u.is_const()) {
            constant += factor * const_int(u);
        } else if (u.is(Op::add) || u.is(Op::sub)) {
            add(u.src(0), factor);
            add(u.src(1), u.is(Op::add) ? factor : -factor);
        } else if (u.is(Op::mul) && u.src(1).is_const()) {
            add(u.src(0), factor * const_int(u.src(1)));
        } else {
            const auto found = std::ranges::find(terms, u, [](const auto& term) { return term.first; });
            (found == terms.end() ? terms.emplace_back(u, 0) : *found).second += factor;
        }
    }
};

/// c of offset = factor * x + c.
std::optional<int64_t> constant_beyond(UOp offset, UOp x, int64_t factor) {
    Sum rest;
    rest.add(offset, 1);
    rest.add(x, -factor);
    if (std::ranges::any_of(rest.terms, [](const auto& term) { return term.second != 0; })) return {};
    return rest.constant;
}

/// True where the comparison says that the offset is below the size, or not below 0.
bool is_bound(UOp comparison, UOp offset, int64_t size) {
    comparison = skip_after(comparison);
    if (!comparison.is(Op::cmplt)) return false;
    const UOp a = skip_after(comparison.src(0)), b = skip_after(comparison.src(1));
    for (const int64_t factor : {1, 2, 4, 8, 16}) {
        if (b.is_const())
            if (const auto c = constant_beyond(offset, a, factor)) return const_int(b) * factor + *c == size;
        if (a.is_const())
            if (const auto c = constant_beyond(offset, b, factor)) return (const_int(a) + 1) * factor + *c == 0;
    }
    return false;
}

bool do_not_wrap(Bounds offset, int64_t element, int64_t bytes) {
    constexpr int64_t kAll = int64_t{1} << 32;
    return bytes <= kMostBufferBytes && offset.low >= -(kAll - bytes) / element && offset.high < kAll / element;
}

}  // namespace

UOp checked_by_descriptor(UOp inside) { return alu(Op::freeze, {inside}); }

bool gives_zero(UOp value) {
    value = skip_after(value);
    if (value.is(Op::vec)) return std::ranges::all_of(value.src(), gives_zero);
    if (!value.is_const()) return false;
    const ConstArg& held = value.as<ConstArg>();
    return held.i == 0 && held.f == 0 && !std::signbit(held.f);
}

bool is_checked_by_descriptor(UOp index) {
    return index.src().size() > 2 && std::ranges::any_of(parts_of(index.src(2)), is_frozen);
}

std::optional<BufferAccess> buffer_access(UOp index) {
    if (!is_checked_by_descriptor(index)) return {};
    std::vector<UOp> parts = parts_of(index.src(2));
    const auto frozen = std::ranges::find_if(parts, is_frozen);
    const UOp memory = memory_of(index), offset = skip_after(index.src(1));
    const int64_t size = memory.as<ParamArg>().size, element = memory.dtype().bytes();
    const std::vector<UOp> comparisons = parts_of(frozen->src(0));
    parts.erase(frozen);
    const bool is_exact = do_not_wrap(bounds(offset), element, size * element) &&
                          std::ranges::all_of(comparisons, [&](UOp each) { return is_bound(each, offset, size); });
    return BufferAccess{is_exact, std::move(parts)};
}

}  // namespace strata::codegen
