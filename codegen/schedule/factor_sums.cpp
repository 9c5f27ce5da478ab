// factor_sums: factors that are the same for all terms of a long sum come out of it, where the sum waited for them.
//
// Before  s <- sum(g * x);  t <- sum(g * a + x * b * s)      a, b and s are repeated along the sum
// After   s <- sum(g * x);  t <- a * sum(g) + b * s * sum(x)
// Then neither sum reads the other: one kernel walks g and x once for all three. The mean and the scale of a batch
// norm have such gradients. Sums that one block walks twice (rows.cpp) stay as they are.
#include <algorithm>
#include <optional>

#include "strata/codegen/schedule/paired_reductions_p.h"
#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int kDeepestFactor = 16;
constexpr size_t kMostWaiting = 6, kMostNodesOfFactor = 256;

/// A term of a sum: what is the same for all elements, of the shape of the sum, times the rest.
struct Term {
    UOp factor, rest;  ///< factor: none where it is 1; rest: none where all is the same
};

UOp times(UOp a, UOp b) { return !a ? b : !b ? a : a * b; }

class Factoring {
  public:
    explicit Factoring(UOp sum) : sum_(sum), axes_(sum.as<ReduceArg>().axes) {}

    /// The sum without the factors that it waited for; the sum itself where there are none.
    UOp run() {
        if (!add_terms(sum_.src(0), UOp(), kDeepestFactor) || waiting_.empty()) return sum_;
        UOp total = others_ ? sum_of(others_) : UOp();
        for (const Term& term : waiting_) {
            const UOp part = term.factor * Factoring(sum_of(term.rest)).run();
            total = total ? total + part : part;
        }
        return total;
    }

  private:
    UOp sum_of(UOp body) const { return sum_.with_src(std::vector{body}); }

    /// Splits a body that is multiplied by a factor into terms. False: there are too many, or some are constant along
    /// the sum, of which most would cancel.
    bool add_terms(UOp u, UOp factor, int depth) {
        if (depth > 0 && is_sum_of_two(u)) {
            const UOp second = u.is(Op::add) ? factor : negative(factor);
            return add_terms(u.src(0), factor, depth - 1) && add_terms(u.src(1), second, depth - 1);
        }
        const Term term = term_of(u, depth);
        if (!term.rest || term.rest.shape() != u.shape() || waiting_.size() == kMostWaiting) return false;
        const UOp all = times(factor, term.factor);
        const bool waits = all && waits_for(all);
        if (!waits && term.rest != u && is_sum_of_two(term.rest) && !is_difference(term.rest))
            return add_terms(term.rest, all, depth - 1);
        if (waits) {
            waiting_.push_back({all, term.rest});
        } else {
            const UOp other = factor ? u * along(factor) : u;
            others_ = others_ ? others_ + other : other;
        }
        return true;
    }

    static bool is_sum_of_two(UOp u) {
        return (u.is(Op::add) || u.is(Op::sub)) && u.src(0).shape() == u.src(1).shape();
    }
    /// True if one of two terms is the same all along the sum.
    bool is_difference(UOp u) const { return same(u.src(0), kDeepestFactor) || same(u.src(1), kDeepestFactor); }
    UOp negative(UOp factor) const { return alu(Op::neg, {factor ? factor : one()}); }
    UOp along(UOp factor) const {
        const Shape& shape = sum_.src(0).shape();
        return factor.shape().empty() ? factor : make(Op::expand, factor.dtype(), {factor}, ShapeArg{shape});
    }

    Term term_of(UOp u, int depth) const {
        if (const UOp factor = same(u, depth)) return {factor, UOp()};
        if (depth == 0) return {UOp(), u};
        if (u.is(Op::neg)) {
            const Term inner = term_of(u.src(0), depth - 1);
            return {negative(inner.factor), inner.rest};
        }
        if (u.is(Op::fdiv)) {
            const UOp divisor = same(u.src(1), depth - 1);
            if (!divisor) return {UOp(), u};
            const Term inner = term_of(u.src(0), depth - 1);
            return {alu(Op::fdiv, {inner.factor ? inner.factor : one(), divisor}), inner.rest};
        }
        if (!u.is(Op::mul)) return {UOp(), u};
        const Term a = term_of(u.src(0), depth - 1), b = term_of(u.src(1), depth - 1);
        if (!a.factor && !b.factor) return {UOp(), u};
        return {times(a.factor, b.factor), times(a.rest, b.rest)};
    }

    /// A value that does not vary along the sum, of the sum's shape or of none; empty: it varies.
    UOp same(UOp u, int depth) const {
        if (u.shape().empty()) return u;
        if (u.is(Op::expand)) {
            const UOp source = u.src(0);
            const auto is_one = [&](int axis) { return source.shape()[static_cast<size_t>(axis)] == 1; };
            if (source.shape().size() != u.shape().size() || !std::ranges::all_of(axes_, is_one)) return UOp();
            return source.shape() == sum_.shape() ? source
                                                  : make(Op::expand, u.dtype(), {source}, ShapeArg{sum_.shape()});
        }
        if (depth == 0 || !info(u.op()).elementwise() || u.is(Op::constant)) return UOp();
        std::vector<UOp> sources;
        for (UOp s : u.src()) {
            sources.push_back(same(s, depth - 1));
            if (!sources.back()) return UOp();
        }
        return u.with_src(sources);
    }

    /// True if a factor is made of another reduction of the same loops.
    bool waits_for(UOp factor) const {
        UOpSet seen{factor};
        std::vector<UOp> left{factor};
        while (!left.empty() && seen.size() < kMostNodesOfFactor) {
            const UOp u = left.back();
            left.pop_back();
            if (u.is(Op::reduce) && same_loops(u, sum_)) return true;
            if (u.is(Op::contiguous) || u.numel() > sum_.numel()) continue;
            for (UOp s : u.src())
                if (seen.insert(s).second) left.push_back(s);
        }
        return false;
    }

    UOp one() const { return constant(sum_.dtype(), 1); }

    UOp sum_;
    const std::vector<int>& axes_;
    std::vector<Term> waiting_;
    UOp others_;  ///< terms that wait for nothing
};

}  // namespace

std::vector<UOp> factor_sums(std::span<const UOp> roots, const Policy& policy) {
    if (policy.fusion == Fusion::less) return {roots.begin(), roots.end()};
    return rebuild_all(roots, [&](UOp u, std::span<const UOp> sources) {
        const UOp next = u.with_src(sources);
        const bool is_sum = next.is(Op::reduce) && next.as<ReduceArg>().op == Op::add && next.dtype().is_float() &&
                            next.dtype().bits() >= 32;
        return is_sum && is_two_stage_where_read_twice(next, policy.costs) ? Factoring(next).run() : next;
    });
}

}  // namespace strata::codegen
