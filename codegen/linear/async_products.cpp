#include "strata/codegen/linear/async_products.h"

#include <algorithm>

#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {

/// A loop carries the products after its last barrier whose sums nothing touches up to its end.
AsyncProducts::AsyncProducts(std::span<const UOp> ops) {
    std::vector<UOp> loops;
    for (UOp u : ops) {
        if (u.is(Op::range)) loops.push_back(u), carried_[u] = {};
        if (u.is(Op::end)) loops.pop_back();
        if (loops.empty()) continue;
        std::vector<Product>& last = carried_[loops.back()];
        if (u.is(Op::barrier)) last.clear();
        if (warpgroup_product(u)) last.push_back({u, {}});
        if (!u.is(Op::load) && !u.is(Op::store)) continue;
        const UOp memory = memory_of(u);
        const auto placed = std::ranges::find(last, u.is(Op::store) && u.src(1).is(Op::lane) ? u.src(1).src(0) : UOp(),
                                              &Product::value);
        if (placed != last.end())
            placed->sums = memory;
        else if (const auto read = std::ranges::find(last, memory, &Product::sums); read != last.end())
            last.erase(last.begin(), read + 1);  // those before it end too
    }
}

void AsyncProducts::begin_loop(UOp range) {
    const std::vector<Product>& carried = carried_[range];
    if (std::ranges::equal(products_, carried, {}, &Product::sums, &Product::sums)) return;
    products_.insert(products_.end(), carried.begin(), carried.end());
}

AsyncProducts::Product* AsyncProducts::placed_by(UOp u) {
    const UOp part = u.is(Op::store) ? u.src(1) : u;
    if (!part.is(Op::lane)) return nullptr;
    const auto found = std::ranges::find(products_, part.src(0), &Product::value);
    return found == products_.end() ? nullptr : &*found;
}

size_t AsyncProducts::ending_before(UOp u) const {
    if (u.is(Op::barrier)) return products_.size();
    if (u.is(Op::end)) return products_.size() - std::min(products_.size(), carried_.at(u.src(1)).size());
    if (!u.is(Op::load) && !u.is(Op::store)) return 0;
    const auto found = std::ranges::find(products_, memory_of(u), &Product::sums);
    return found == products_.end() ? 0 : static_cast<size_t>(found - products_.begin()) + 1;
}

std::vector<AsyncProducts::Product> AsyncProducts::take(size_t count) {
    const auto end = products_.begin() + static_cast<ptrdiff_t>(count);
    std::vector<Product> taken(products_.begin(), end);
    products_.erase(products_.begin(), end);
    return taken;
}

}  // namespace strata::codegen
