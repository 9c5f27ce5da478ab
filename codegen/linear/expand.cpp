// expand: upcast and unroll ranges are replaced by their values, one copy of an expression each.
//
// Before  store(out[r0*4 + r1], value(r1)), r1 upcast 4;  reduce(value(r2), r0, r2), r2 unroll 2
// After   four stores in a group;                         reduce(vec(value(0), value(1)), r0)
//         contract(value(r3), r3) with r3 vector 2         vec(value(0), value(1)); element(v, r1): lane(v, 0) ...
// An expression that does not depend on such a range stays one node. Ranges of one step vanish the same way, but for
// those that threads leave (break_if). So do short serial reductions where no later compiler would unroll them.
#include <algorithm>
#include <unordered_map>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr size_t kMaxCopies = 4096;  // of one node
constexpr size_t kMaxTerms = 255;    // of one reduction: lanes of a DType
constexpr size_t kShortLoop = 64;    // steps of a reduction that are unrolled unasked
constexpr size_t kShortBody = 512;   // nodes that this may make

/// The steps of some ranges as one number, the first range slowest.
class Steps {
  public:
    Steps(const Scopes& scopes, RangeSet set) : set_(set) {
        for (UOp r : scopes.list(set)) {
            digits_.push_back({scopes.bit(r), static_cast<size_t>(range_arg(r).size)});
            count_ *= digits_.back().size;
        }
    }
    RangeSet set() const { return set_; }
    size_t count() const { return count_; }
    /// Which step of `part`, a subset, belongs to step `n` of this set.
    size_t project(size_t n, const Steps& part) const {
        if (part.set_ == set_) return n;
        if (part.count_ == 1) return 0;
        size_t result = 0, scale = 1;
        for (size_t i = digits_.size(); i-- > 0; n /= digits_[i].size) {
            const auto [range, size] = digits_[i];
            if (!(part.set_ & range)) continue;
            result += n % size * scale;
            scale *= size;
        }
        return result;
    }

  private:
    struct Digit {
        RangeSet range;  ///< its bit
        size_t size;
    };
    RangeSet set_;
    std::vector<Digit> digits_;  ///< the last one is the fastest
    size_t count_ = 1;
};

class Expansion {
  public:
    Expansion(const Scopes& scopes, bool unrolls)
        : scopes_(scopes), replicated_(scopes_.with_axis({Axis::upcast, Axis::unroll, Axis::vector})) {
        for (UOp r : scopes_.ranges())
            if (range_arg(r).size == 1) replicated_ |= scopes_.bit(r);
        for (UOp u : scopes_.order())
            if (u.is(Op::break_if)) replicated_ &= ~scopes_.bit(u.src(1));
        if (unrolls) add_short_loops();
    }

    Result<UOp> run() {
        UOp sink = scopes_.order().back();
        if (!replicated_) return sink;
        for (UOp u : scopes_.order()) {
            STRATA_TRY(copies_[u], copies(u));
        }
        return copies_.at(sink).nodes[0];
    }

  private:
    /// Serial ranges that reductions alone close, as long as all copies together are few. Steps that store, and what
    /// they share memory by, follow each other: they stay a loop.
    void add_short_loops() {
        for (UOp r : scopes_.ranges()) {
            const RangeSet bit = scopes_.bit(r);
            if (range_arg(r).axis != Axis::reduce || replicated_ & bit) continue;
            bool reduces = true;
            size_t copies = 0;
            for (UOp u : scopes_.order()) {
                const RangeSet closed = scopes_.closed_by(u);
                if (closed & bit)
                    reduces &= u.is(Op::reduce) && steps(closed & (replicated_ | bit)).count() <= kShortLoop;
                if (!(scopes_.free(u) & bit)) continue;
                reduces &= !u.is(Op::store) && !u.is(Op::barrier) && !u.is(Op::wmma);
                copies += steps(scopes_.free(u) & (replicated_ | bit)).count();
            }
            if (reduces && copies <= kShortBody) replicated_ |= bit;
        }
    }

    struct Copies {
        const Steps* steps;
        std::vector<UOp> nodes;
    };

    const Steps& steps(RangeSet set) {
        auto found = steps_.find(set);
        return found != steps_.end() ? *found->second
                                     : *steps_.emplace(set, std::make_unique<Steps>(scopes_, set)).first->second;
    }

    UOp copy_of(UOp source, const Steps& all, size_t n) const {
        const Copies& held = copies_.at(source);
        return held.nodes.size() == 1 ? held.nodes[0] : held.nodes[all.project(n, *held.steps)];
    }

    Result<Copies> copies(UOp u) {
        const Steps& mine = steps(scopes_.free(u) & replicated_);
        Copies out{&mine, {}};
        if (u.is(Op::range) && mine.set()) {
            for (size_t i = 0; i < mine.count(); ++i) out.nodes.push_back(index_const(static_cast<int64_t>(i)));
            return out;
        }
        RangeSet closed = scopes_.closed_by(u) & replicated_;
        const Steps& all = steps(mine.set() | closed);
        if (all.count() > kMaxCopies || (u.is(Op::reduce) && all.count() / mine.count() > kMaxTerms))
            return make_error(ErrorKind::Usage,
                              "kernel: {} is copied {} times by upcast and unroll ranges; use smaller ones",
                              to_string(u), all.count());
        for (size_t n = 0; n < mine.count(); ++n)
            out.nodes.push_back(closed ? closing(u, mine, all, n) : plain(u, mine, n));
        return out;
    }

    UOp plain(UOp u, const Steps& mine, size_t n) {
        sources_.clear();
        for (UOp s : u.src()) {
            bool step_of_after = u.is(Op::after) && s.is(Op::range) && (scopes_.bit(s) & replicated_);
            if (step_of_after) continue;
            const UOp copy = copy_of(s, mine, n);
            if (u.is(Op::barrier) && copy.is(Op::vec))
                sources_.insert(sources_.end(), copy.src().begin(), copy.src().end());
            else
                sources_.push_back(copy);
        }
        if (u.is(Op::lane)) return uop::lane(sources_[0], u.as<IndexArg>().index);
        if (u.is(Op::element)) return uop::lane(sources_[0], static_cast<int>(const_int(simplify(sources_[1]))));
        return u.with_src(sources_);
    }

    /// An end, reduce or contract of replicated ranges over all copies of its first source.
    UOp closing(UOp u, const Steps& mine, const Steps& all, size_t n) {
        std::vector<UOp> parts;
        for (size_t k = 0; k < all.count(); ++k)
            if (all.project(k, mine) == n) parts.push_back(copy_of(u.src(0), all, k));
        if (u.is(Op::contract)) return uop::vec(parts);
        sources_.assign(1, parts[0]);
        if (u.is(Op::reduce) && parts.size() > 1)
            sources_[0] = make(Op::vec, u.dtype().vector(static_cast<int>(parts.size())), parts);
        else if (parts.size() > 1)
            sources_[0] = make(Op::group, dtypes::none, parts);
        for (UOp r : u.src().subspan(1))
            if (!(scopes_.bit(r) & replicated_)) sources_.push_back(r);
        return u.is(Op::end) && sources_.size() == 1 ? sources_[0] : u.with_src(sources_);
    }

    const Scopes& scopes_;
    RangeSet replicated_;
    std::unordered_map<RangeSet, std::unique_ptr<Steps>> steps_;
    UOpMap<Copies> copies_;
    std::vector<UOp> sources_;
};

}  // namespace

Result<UOp> expand(UOp sink, Context& context) {
    return Expansion(context.scopes(sink), context.target.unrolls_loops).run();
}

}  // namespace strata::codegen
