#include "strata/core/uop/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "strata/core/uop/node_spec_p.h"
#include "strata/core/uop/scopes.h"
#include "strata/core/uop/uop_map.h"

namespace strata {
namespace {

Error broken(UOp u, const std::string& what) {
    return make_error(ErrorKind::Internal, "{}: {}\n{}", to_string(u), what, tree(u));
}

Result<void> verify_nodes(std::span<const UOp> nodes, Level level) {
    for (UOp u : nodes)
        if (std::string fault = node_fault(u, level); !fault.empty()) return broken(u, fault);
    return {};
}

/// Whether an inner loop's end stands in the loop of a range: several ranges of one end nest in the order of ids.
bool is_inside(UOp end, UOp inner, UOp range, const Scopes& scopes) {
    if (closes(end, range)) return range_arg(inner).id > range_arg(range).id;
    return scopes.free(end) & scopes.bit(range);
}

/// A loop that threads leave by themselves is walked step by step, and each thread leaves it as a whole.
Result<void> verify_breaks(std::span<const UOp> nodes, const Scopes& scopes) {
    const RangeSet copied = scopes.with_axis({Axis::upcast, Axis::unroll, Axis::vector});
    for (UOp u : nodes) {
        if (!u.is(Op::break_if)) continue;
        if (const RangeSet parts = scopes.free(u) & copied)
            return broken(u, fmt::format("depends on {}, whose steps a thread makes together: use a loop",
                                         to_string(scopes.list(parts)[0])));
        for (UOp inner : scopes.list(scopes.free(u) & ~scopes.bit(u.src(1))))
            for (UOp end : nodes)
                if (end.is(Op::end) && closes(end, inner) && is_inside(end, inner, u.src(1), scopes))
                    return broken(u,
                                  fmt::format("stands in the loop of {}: keep its condition in a register, and leave "
                                              "the outer loop after the inner one's end",
                                              to_string(inner)));
        for (UOp other : nodes)
            if (closes(other, u.src(1)) && !other.is(Op::end))
                return broken(u, fmt::format("{} has all steps of {}: write the loop with a register that it adds to, "
                                             "and an end",
                                             to_string(other), to_string(u.src(1))));
    }
    return {};
}

bool is_of_reduction(Axis axis) { return axis == Axis::reduce || axis == Axis::group || axis == Axis::unroll; }

/// Several reductions may close a range, each for itself, and one end, which then walks the row that they reduce.
Result<void> verify_ranges(std::span<const UOp> nodes) {
    std::unordered_set<int> ids;
    UOpMap<UOp> ended, reduced;
    for (UOp u : nodes) {
        if (u.is(Op::range) && !ids.insert(u.as<RangeArg>().id).second) return broken(u, "another range has this id");
        if (!closes_ranges(u)) continue;
        for (UOp r : u.src().subspan(1)) {
            const bool row = r.is(Op::range) && is_of_reduction(range_arg(r).axis);
            UOp other = ended[r];
            if (!other && u.is(Op::end) && !row) other = reduced[r];
            if (other && (u.is(Op::end) || !row))
                return broken(u, fmt::format("{} is closed by {} already", to_string(r), to_string(other)));
            (u.is(Op::end) ? ended : reduced)[r] = u;
        }
    }
    if (ids.size() > kMaxRanges)
        return make_error(ErrorKind::Internal, "{} ranges; the most is {}", ids.size(), kMaxRanges);
    const Scopes scopes({nodes.begin(), nodes.end()});
    if (const RangeSet open = scopes.free(nodes.back()))
        return broken(scopes.list(open)[0], "is used outside of what closes it, or nothing closes it");
    return verify_breaks(nodes, scopes);
}

/// A node that runs along a range goes step by step in the loop of the end that closes it, and in no reduction's.
Result<void> verify_scans(std::span<const UOp> nodes) {
    if (std::ranges::none_of(nodes, [](UOp u) { return u.is(Op::scan); })) return {};
    UOpMap<std::vector<UOp>> along;  // ranges that scans run along among what a node is made of, while they are open
    for (UOp u : nodes) {
        std::vector<UOp>& mine = along[u];
        for (UOp s : u.src()) mine.insert(mine.end(), along.at(s).begin(), along.at(s).end());
        if (u.is(Op::scan)) mine.insert(mine.end(), u.src().begin() + 1, u.src().end());
        std::ranges::sort(mine, {}, [](UOp r) { return r.node(); });
        mine.erase(std::ranges::unique(mine).begin(), mine.end());
        if (!closes_ranges(u)) continue;
        for (UOp r : u.src().subspan(1))
            if (std::erase(mine, r) && !u.is(Op::end))
                return broken(u, fmt::format("a scan runs along {}, which an end has to close", to_string(r)));
    }
    return {};
}

/// Follows a list as the machine would and knows what is computed.
class ListCheck {
  public:
    Result<void> run(std::span<const UOp> ops) {
        computed_.reserve(ops.size());
        for (UOp u : ops) {
            if (std::string fault = node_fault(u, Level::linear); !fault.empty()) return broken(u, fault);
            for (UOp s : u.src())
                if (!is_computed(s)) return broken(u, fmt::format("its source {} is not computed here", to_string(s)));
            if (u.is(Op::end)) {
                STRATA_TRY_VOID(close(u));
            }
            if (u.is(Op::break_if) && (loops_.empty() || loops_.back().range != u.src(1)))
                return broken(u, "leaves a loop that is not the innermost around it");
            if (u.is(Op::range)) loops_.push_back({u, {}});
            add(u);
        }
        if (!loops_.empty()) return broken(loops_.back().range, "a loop without end");
        return {};
    }

  private:
    struct Loop {
        UOp range;
        std::vector<UOp> computed;
    };

    // An after needs no place of its own in a list: it is its first source.
    bool is_computed(UOp u) const {
        const auto found = computed_.find(u);
        return (found != computed_.end() && found->second) || (u.is(Op::after) && is_computed(u.src(0))) ||
               u.dtype().scalar == Scalar::none;
    }

    Result<void> close(UOp end) {
        for (UOp r : end.src().subspan(1)) {
            if (loops_.empty() || loops_.back().range != r)
                return broken(end, fmt::format("{} is not the innermost loop", to_string(r)));
            for (UOp u : loops_.back().computed) computed_[u] = false;
            loops_.pop_back();
        }
        return {};
    }

    void add(UOp u) {
        computed_[u] = true;
        if (!loops_.empty()) loops_.back().computed.push_back(u);
    }

    std::vector<Loop> loops_;
    UOpMap<bool> computed_;
};

}  // namespace

Result<void> verify_tensor(UOp root) {
    if (!root) return make_error(ErrorKind::Internal, "verify_tensor: no graph");
    return verify_tensors(toposort(root));
}

Result<void> verify_tensors(std::span<const UOp> nodes) { return verify_nodes(nodes, Level::tensor); }

Result<void> verify_kernel(UOp sink) {
    if (!sink || !sink.is(Op::sink))
        return make_error(ErrorKind::Internal, "verify_kernel: {} is no sink", to_string(sink));
    std::vector<UOp> nodes = toposort(sink);
    STRATA_TRY_VOID(verify_nodes(nodes, Level::kernel));
    STRATA_TRY_VOID(verify_ranges(nodes));
    return verify_scans(nodes);
}

Result<void> verify_linear(std::span<const UOp> ops) { return ListCheck().run(ops); }

}  // namespace strata
