// lower_reduces: reductions become loops over register accumulators.
//
// Before  reduce(add, value, r0)
// After   acc0 = register; store(acc0, 0); end(store(acc0, load(after(acc0, r0)) + value), r0); load(after(acc0, end))
// A vector has as many registers as elements, and what a matrix instruction adds to zero it adds to them. Floats that a
// thread reads side by side are summed side by side (kBeside), so that sums do not wait for each other. Reductions over
// the same ranges share one loop (clone_ranges has seen to it that others use other ranges), attention
// (online_softmax.cpp) that of their maximum. reduce_over_threads combines the parts that a `group` range spreads over
// threads.
#include <algorithm>
#include <array>
#include <map>

#include "strata/codegen/kernel/coordinates.h"
#include "strata/codegen/linear/loop_key_p.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// Floats of 16 bits and fewer are summed in float32.
DType accumulator_type(DType t) { return t.is_float() && t.bits() < 32 ? dtypes::float32.vector(t.lanes) : t; }

/// Sums that a thread has of one reduction.
constexpr size_t kBeside = 4;

/// The registers of an accumulator.
struct Registers {
    UOp memory;
    int lanes;

    UOp load(std::span<const UOp> earlier) const {
        std::vector<UOp> values;
        for (int i = 0; i < lanes; ++i) values.push_back(uop::load(uop::at(uop::after(memory, earlier), i)));
        return uop::vec(values);
    }
    UOp store(UOp value, std::span<const UOp> earlier) const {
        std::vector<UOp> stores;
        for (int i = 0; i < lanes; ++i)
            stores.push_back(uop::store(uop::at(uop::after(memory, earlier), i), uop::lane(value, i)));
        return uop::group(stores);
    }
};

UOp combined(Op op, UOp sum, UOp term) {
    if (term.is(Op::wmma)) return term.with_src(std::array{term.src(0), term.src(1), sum});
    return alu(op, {sum, term});
}

class Lowering {
  public:
    Lowering(const Scopes& scopes, const Context& context)
        : scopes_(scopes), keys_(scopes), context_(context), next_slot_(next_free_slot(scopes_)) {}

    UOp run() {
        for (UOp u : keys_.order())
            if (u.is(Op::reduce)) loops_[keys_.key(u)].push_back(u);
        if (loops_.empty()) return scopes_.order().back();
        return rebuild(keys_.order(), rebuilt_, [&](UOp u, std::span<const UOp> sources) {
            if (!u.is(Op::reduce)) return u.with_src(sources);
            if (!rebuilt_.contains(u)) lower(loops_.at(keys_.key(u)));
            return rebuilt_.at(u);
        });
    }

  private:
    struct Member {
        Op op;
        DType type;
        std::vector<UOp> terms;  ///< more than one where the reduction is unrolled; of attention not rebuilt
        const OnlineTerms* online = nullptr;  ///< of attention
        size_t top = 0;                       ///< its maximum among the members
    };
    using Members = std::vector<Member>;

    Members members_of(std::span<const UOp> reduces) const {
        Members members;
        for (UOp reduce : reduces) {
            Member m{reduce.as<ReduceArg>().op, accumulator_type(reduce.dtype()), {}, keys_.online(reduce)};
            const UOp value = m.online ? reduce.src(0) : rebuilt_.at(reduce.src(0));
            for (UOp term : terms_of(value, reduce.dtype())) m.terms.push_back(m.online ? term : cast(term, m.type));
            if (m.online) m.top = static_cast<size_t>(std::ranges::find(reduces, m.online->top) - reduces.begin());
            members.push_back(std::move(m));
        }
        return members;
    }

    void lower(std::span<const UOp> reduces) {
        RangeSet closed = scopes_.closed_by(reduces[0]);
        std::vector<UOp> serial = scopes_.list(closed & scopes_.with_axis({Axis::loop, Axis::reduce}));
        std::vector<UOp> groups = scopes_.list(closed & scopes_.with_axis({Axis::group}));
        std::vector<UOp> around = scopes_.list(keys_.loops_around(reduces[0]));
        const Members members = members_of(reduces);
        std::vector<UOp> results = serial.empty() ? folded(members) : looped(members, serial, around);
        if (!groups.empty()) spread(members, groups, around, results);
        for (size_t i = 0; i < reduces.size(); ++i) {
            if (members[i].online) results[i] = settled(*members[i].online, results[i], results[members[i].top]);
            rebuilt_[reduces[i]] = cast(results[i], reduces[i].dtype());
        }
    }

    /// Products are left to fused multiply-adds, whose tiles have sums enough.
    static bool goes_beside(const Member& m) {
        const auto is_sum = [](UOp term) { return !term.is(Op::mul) && !term.is(Op::wmma); };
        return m.op == Op::add && m.type.lanes == 1 && m.type.is_float() && !m.online &&
               m.terms.size() % kBeside == 0 && std::ranges::all_of(m.terms, is_sum);
    }

    /// Each sum with every kBeside-th term added.
    static UOp fold_beside(const Member& m, UOp sums) {
        std::vector<UOp> next;
        for (size_t i = 0; i < kBeside; ++i) {
            UOp sum = sums ? uop::lane(sums, static_cast<int>(i)) : UOp();
            for (size_t k = i; k < m.terms.size(); k += kBeside) sum = sum ? alu(m.op, {sum, m.terms[k]}) : m.terms[k];
            next.push_back(sum);
        }
        return uop::vec(next);
    }

    /// The result of contiguous partial sums.
    static UOp joined(const Member& m, UOp sums) {
        UOp all = uop::lane(sums, 0);
        for (int i = 1; i < static_cast<int>(kBeside); ++i) all = alu(m.op, {all, uop::lane(sums, i)});
        return all;
    }

    static UOp fold(const Member& m, std::span<const UOp> terms, UOp start) {
        for (size_t i = start ? 0 : 1; i < terms.size(); ++i)
            start = combined(m.op, start ? start : terms[0], terms[i]);
        return start ? start : terms[0];
    }

    static std::vector<UOp> folded(const Members& members) {
        std::vector<UOp> results;
        for (const Member& m : members)
            results.push_back(goes_beside(m) ? joined(m, fold_beside(m, UOp())) : fold(m, m.terms, UOp()));
        return results;
    }

    /// A part of attention's term, with this in place of what is subtracted.
    UOp with_shift(UOp u, const OnlineTerms& terms, UOp shift) const {
        if (u == terms.shift) return shift;
        if (keys_.depth(u) < keys_.depth(terms.top)) return rebuilt_.at(u);
        std::vector<UOp> sources;
        for (UOp s : u.src()) sources.push_back(with_shift(s, terms, shift));
        return u.with_src(sources);
    }

    /// Attention after a step, in which its maximum went from one to the other.
    UOp next(const Member& m, UOp sum, UOp before, UOp after) const {
        const UOp shift = shift_at(*m.online, after);
        std::vector<UOp> terms;
        for (UOp term : m.terms) terms.push_back(cast(with_shift(term, *m.online, shift), m.type));
        return fold(m, terms, sum * cast(rescaling(*m.online, before, after), m.type));
    }

    std::vector<UOp> looped(const Members& members, std::span<const UOp> serial, std::span<const UOp> around) {
        std::vector<Registers> accumulators;
        std::vector<std::vector<UOp>> inside;
        std::vector<UOp> loads, values, updates, results;
        for (const Member& m : members) {
            const int lanes = goes_beside(m) ? static_cast<int>(kBeside) : m.type.lanes;
            const Registers acc{uop::placeholder(lanes, m.type.element(), Space::reg, next_slot_++), lanes};
            const std::vector<UOp> start(static_cast<size_t>(lanes), identity(m.op, m.type.element()));
            std::vector<UOp> in_loop{acc.store(uop::vec(start), around)};
            in_loop.insert(in_loop.end(), serial.begin(), serial.end());
            inside.push_back(std::move(in_loop));
            accumulators.push_back(acc);
            loads.push_back(acc.load(inside.back()));
            values.push_back(m.online         ? UOp()
                             : goes_beside(m) ? fold_beside(m, loads.back())
                                              : fold(m, m.terms, loads.back()));
        }
        for (size_t i = 0; i < members.size(); ++i) {
            const Member& m = members[i];
            if (m.online) values[i] = next(m, loads[i], loads[m.top], values[m.top]);
            updates.push_back(accumulators[i].store(values[i], inside[i]));
        }
        const UOp end = uop::end(uop::group(updates), serial);
        for (size_t i = 0; i < members.size(); ++i) {
            const UOp all = accumulators[i].load(std::array{end});
            results.push_back(goes_beside(members[i]) ? joined(members[i], all) : all);
        }
        return results;
    }

    /// Members with one operation meet together, the maxima first.
    void spread(const Members& members, const std::vector<UOp>& groups, const std::vector<UOp>& around,
                std::vector<UOp>& results) {
        std::map<Op, std::vector<size_t>> by_op;
        for (size_t i = 0; i < members.size(); ++i) by_op[members[i].op].push_back(i);
        const std::vector<UOp> own = results;  // of this thread
        const auto meet = [&](Op op, std::span<const size_t> which) {
            std::vector<UOp> partials;
            for (size_t i : which) {
                const Member& m = members[i];
                partials.push_back(m.online ? own[i] * cast(rescaling(*m.online, own[m.top], results[m.top]), m.type)
                                            : own[i]);
            }
            partials =
                reduce_over_threads({op, groups, around, context_.threads, context_.target}, partials, next_slot_);
            for (size_t i = 0; i < which.size(); ++i) results[which[i]] = partials[i];
        };
        if (auto tops = by_op.extract(Op::max)) meet(Op::max, tops.mapped());
        for (const auto& [op, which] : by_op) meet(op, which);
    }

    const Scopes& scopes_;
    LoopKeys keys_;
    const Context& context_;
    int next_slot_;
    std::map<LoopKey, std::vector<UOp>> loops_;
    UOpMap<UOp> rebuilt_;
};

}  // namespace

int next_free_slot(const Scopes& scopes) {
    int slot = 0;
    for (UOp u : scopes.order())
        if (u.is(Op::param) && u.as<ParamArg>().space != Space::global)
            slot = std::max(slot, u.as<ParamArg>().slot + 1);
    return slot;
}

Result<UOp> lower_reduces(UOp sink, Context& context) { return Lowering(context.scopes(sink), context).run(); }

}  // namespace strata::codegen
