#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {

/// Products of groups of waves that the text has begun and not waited for yet. They are under way while their sums are put where they
/// belong, and from there on up to where somebody reads those sums, in the next step of a loop too.
class AsyncProducts {
  public:
    struct Product {
        UOp value, sums;   ///< what they are added to
        std::string name;  ///< of those
    };

    explicit AsyncProducts(std::span<const UOp> ops) { find_carried(ops); }

    bool empty() const { return products_.empty(); }
    size_t size() const { return products_.size(); }
    void begin(UOp product) { products_.push_back({product, {}, {}}); }
    /// Those that a step of a loop leaves to the next one, as the loop before may have left them to the first; what gives the name of
    /// their sums.
    template <class Name>
    void begin_loop(UOp range, Name name) {
        const std::vector<Product>& carried = carried_[range];
        if (std::ranges::equal(products_, carried, {}, &Product::sums, &Product::sums)) return;
        for (const Product& p : carried) products_.push_back({p.value, p.sums, name(p.sums)});
    }
    /// The one that the operation puts somewhere, or gives a part of to an operation that does; null for others.
    Product* placed_by(UOp u) {
        const UOp part = u.is(Op::store) ? u.src(1) : u;
        if (!part.is(Op::lane)) return nullptr;
        const auto found = std::ranges::find(products_, part.src(0), &Product::value);
        return found == products_.end() ? nullptr : &*found;
    }
    /// How many of the first are to end before an operation.
    size_t ending_before(UOp u) const {
        if (u.is(Op::barrier)) return products_.size();
        if (u.is(Op::end)) return products_.size() - std::min(products_.size(), carried_.at(u.src(1)).size());
        if (!u.is(Op::load) && !u.is(Op::store)) return 0;
        const auto found = std::ranges::find(products_, memory_of(u), &Product::sums);
        return found == products_.end() ? 0 : static_cast<size_t>(found - products_.begin()) + 1;
    }
    std::vector<Product> take(size_t count) {
        const auto end = products_.begin() + static_cast<ptrdiff_t>(count);
        std::vector<Product> taken(products_.begin(), end);
        products_.erase(products_.begin(), end);
        return taken;
    }

  private:
    /// Of each loop, the products whose sums nothing touches up to the loop's end, which is behind the last barrier.
    void find_carried(std::span<const UOp> ops) {
        std::vector<UOp> loops;
        for (UOp u : ops) {
            if (u.is(Op::range)) loops.push_back(u), carried_[u] = {};
            if (u.is(Op::end)) loops.pop_back();
            if (loops.empty()) continue;
            std::vector<Product>& last = carried_[loops.back()];
            if (u.is(Op::barrier)) last.clear();
            if (warpgroup_product(u)) last.push_back({u, {}, {}});
            if (!u.is(Op::load) && !u.is(Op::store)) continue;
            const UOp memory = memory_of(u);
            const auto placed = std::ranges::find(
                last, u.is(Op::store) && u.src(1).is(Op::lane) ? u.src(1).src(0) : UOp(), &Product::value);
            if (placed != last.end())
                placed->sums = memory;
            else if (const auto read = std::ranges::find(last, memory, &Product::sums); read != last.end())
                last.erase(last.begin(), read + 1);  // those before it end too
        }
    }

    std::vector<Product> products_;
    UOpMap<std::vector<Product>> carried_;
};

}  // namespace strata::codegen
