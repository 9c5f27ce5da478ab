// fuse_log_totals: the kernel of attention stores the logarithms of its totals too.
//
// Before  o <- attention of q, k, v;  l <- log of the totals of q, k, whose kernel multiplies q and k again
// After   o, l <- one kernel
// Tiles of matrix instructions have a row's top and total beside its sums: a logarithm is a number more to store. It is
// made of nothing else, since what a row reads besides is at places of its own.
#include <algorithm>
#include <optional>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

bool may_join(const ScheduleItem& item) {
    return item.output && !item.body.is(Op::custom) && item.beside.empty() && item.finish.empty();
}

/// With the values that separate_attention copied in place of their copies.
UOp without_copies(UOp body) {
    return rebuild(body, [](UOp u, std::span<const UOp> sources) {
        return u.is(Op::recompute) ? sources[0] : u.with_src(sources);
    });
}

bool holds(UOp u, UOp node) {
    const std::vector<UOp> nodes = toposort(u);
    return std::ranges::find(nodes, node) != nodes.end();
}

/// Attention each of whose results a body takes once, by arithmetic and in another order; empty: there is none.
std::optional<Attention> attention_of(UOp body) {
    std::vector<Attention> found = find_attention(in_order(std::span(&body, 1)));
    if (found.size() != 1 || !has_matrix_products(found[0])) return {};
    UOp u = body;
    while (u != found[0].result) {
        if (!u.is(Op::reshape) && !u.is(Op::permute) && !info(u.op()).elementwise()) return {};
        const auto leads = [&](UOp s) { return holds(s, found[0].product); };
        const auto next = std::ranges::find_if(u.src(), leads);
        if (next == u.src().end() || std::ranges::count_if(u.src(), leads) > 1) return {};
        u = *next;
    }
    return std::move(found[0]);
}

/// Arithmetic of tops and totals, in their shape; empty: something else is in it.
UOp in_shape_of_rows(UOp u, const Attention& attention, UOp total) {
    if (u == attention.top || u == total || u.is_const()) return u;
    if (u.is(Op::reshape)) return in_shape_of_rows(u.src(0), attention, total);
    if (!info(u.op()).elementwise()) return UOp();
    std::vector<UOp> sources;
    for (UOp s : u.src()) {
        sources.push_back(in_shape_of_rows(s, attention, total));
        if (!sources.back()) return UOp();
    }
    return u.with_src(sources);
}

class Fusing {
  public:
    explicit Fusing(std::vector<ScheduleItem> items) : items_(std::move(items)) {}

    std::vector<ScheduleItem> run() {
        for (size_t i = 0; i < items_.size(); ++i)
            if (may_join(items_[i]))
                if (const std::optional<UOp> total = total_of(items_[i].body)) logs_.push_back({i, *total});
        for (size_t i = 0; i < items_.size() && !logs_.empty(); ++i)
            if (may_join(items_[i])) take_logs(i);
        std::erase_if(items_, [](const ScheduleItem& item) { return !item.output; });
        return std::move(items_);
    }

  private:
    struct Log {
        size_t at;
        UOp total;
    };

    static std::optional<UOp> total_of(UOp body) {
        const std::vector<UOp> order = in_order(std::span(&body, 1));
        if (std::ranges::none_of(order, [](UOp u) { return u.is(Op::log); })) return {};
        const std::vector<ProductChain> chains = find_product_chains(order);
        return chains.size() == 1 && chains[0].is_log() ? std::optional(chains[0].sum) : std::nullopt;
    }

    void take_logs(size_t at) {
        const UOp body = without_copies(items_[at].body);
        const std::optional<Attention> attention = attention_of(body);
        if (!attention) return;
        for (const Log& log : logs_) {
            ScheduleItem& other = items_[log.at];
            if (!other.output || std::ranges::find(attention->inside, log.total) == attention->inside.end()) continue;
            const UOp value = in_shape_of_rows(other.body, *attention, log.total);
            const auto [first, last] = std::minmax(at, log.at);
            if (!value || value.shape() != attention->top.shape() || !may_be_at(first, last)) continue;
            ScheduleItem joined{.output = items_[at].output, .body = body, .why = items_[at].why};
            joined.beside.push_back({.output = other.output, .body = value, .why = other.why});
            items_[last] = {};
            items_[first] = std::move(joined);
            return;
        }
    }

    /// True if a step can be computed at the place of an earlier one.
    bool may_be_at(size_t first, size_t last) const {
        const std::vector<UOp> read = in_order(items_[last].bodies());
        for (size_t i = first; i < last; ++i) {
            if (!items_[i].output) continue;
            if (items_[i].body.is(Op::custom)) return false;  // it may write to what was read before
            for (UOp made : items_[i].outputs())
                if (std::ranges::find(read, made) != read.end()) return false;
        }
        return true;
    }

    std::vector<ScheduleItem> items_;
    std::vector<Log> logs_;
};

}  // namespace

std::vector<ScheduleItem> fuse_log_totals(std::vector<ScheduleItem> items) { return Fusing(std::move(items)).run(); }

}  // namespace strata::codegen
