// lower_reduces: reductions become loops over register accumulators.
//
// Before  reduce(add, value, r0)
// After   acc0 = register; store(acc0, 0); end(store(acc0, load(after(acc0, r0)) + value), r0); load(after(acc0, end))
// A vector has as many registers as elements, and what a matrix instruction adds to zero it adds to them.
// Reductions over the same ranges share one loop (unshare_ranges has seen to it that others use other ranges). What a
// `group` range spreads over threads is brought together by reduce_over_threads.
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

int next_free_slot(const Scopes& scopes) {
    int slot = 0;
    for (UOp u : scopes.order())
        if (u.is(Op::param) && u.as<ParamArg>().space != Space::global)
            slot = std::max(slot, u.as<ParamArg>().slot + 1);
    return slot;
}

class Lowering {
  public:
    Lowering(UOp sink, const Context& context)
        : scopes_(sink), keys_(scopes_), context_(context), next_slot_(next_free_slot(scopes_)) {}

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
        std::vector<UOp> terms;  ///< more than one where the reduction is unrolled
    };

    Member member(UOp reduce) const {
        Member m{reduce.as<ReduceArg>().op, accumulator_type(reduce.dtype()), {}};
        UOp value = rebuilt_.at(reduce.src(0));
        bool unrolled = value.is(Op::vec) && reduce.dtype().lanes == 1;
        for (UOp term : unrolled ? value.src() : std::span<const UOp>(&value, 1)) m.terms.push_back(cast(term, m.type));
        return m;
    }

    void lower(std::span<const UOp> reduces) {
        RangeSet closed = scopes_.closed_by(reduces[0]);
        std::vector<UOp> serial = scopes_.list(closed & scopes_.with_axis({Axis::loop, Axis::reduce}));
        std::vector<UOp> groups = scopes_.list(closed & scopes_.with_axis({Axis::group}));
        std::vector<UOp> around = scopes_.list(keys_.loops_around(reduces[0]));
        std::vector<Member> members;
        for (UOp r : reduces) members.push_back(member(r));
        std::vector<UOp> results = serial.empty() ? folded(members) : looped(members, serial, around);
        if (!groups.empty()) spread(members, groups, around, results);
        for (size_t i = 0; i < reduces.size(); ++i) rebuilt_[reduces[i]] = cast(results[i], reduces[i].dtype());
    }

    static UOp fold(const Member& m, UOp start) {
        for (size_t i = start ? 0 : 1; i < m.terms.size(); ++i)
            start = combined(m.op, start ? start : m.terms[0], m.terms[i]);
        return start ? start : m.terms[0];
    }

    static std::vector<UOp> folded(std::span<const Member> members) {
        std::vector<UOp> results;
        for (const Member& m : members) results.push_back(fold(m, UOp()));
        return results;
    }

    std::vector<UOp> looped(std::span<const Member> members, std::span<const UOp> serial, std::span<const UOp> around) {
        std::vector<Registers> accumulators;
        std::vector<UOp> updates, results;
        for (const Member& m : members) {
            const int lanes = m.type.lanes;
            const Registers acc{uop::placeholder(lanes, m.type.element(), Space::reg, next_slot_++), lanes};
            const std::vector<UOp> start(static_cast<size_t>(lanes), identity(m.op, m.type.element()));
            std::vector<UOp> in_loop{acc.store(uop::vec(start), around)};
            in_loop.insert(in_loop.end(), serial.begin(), serial.end());
            updates.push_back(acc.store(fold(m, acc.load(in_loop)), in_loop));
            accumulators.push_back(acc);
        }
        const UOp end = uop::end(uop::group(updates), serial);
        for (const Registers& acc : accumulators) results.push_back(acc.load(std::array{end}));
        return results;
    }

    /// Members with one operation meet together.
    void spread(std::span<const Member> members, const std::vector<UOp>& groups, const std::vector<UOp>& around,
                std::vector<UOp>& results) {
        std::map<Op, std::vector<size_t>> by_op;
        for (size_t i = 0; i < members.size(); ++i) by_op[members[i].op].push_back(i);
        for (const auto& [op, which] : by_op) {
            std::vector<UOp> partials;
            for (size_t i : which) partials.push_back(results[i]);
            partials =
                reduce_over_threads({op, groups, around, context_.threads, context_.target}, partials, next_slot_);
            for (size_t i = 0; i < which.size(); ++i) results[which[i]] = partials[i];
        }
    }

    Scopes scopes_;
    LoopKeys keys_;
    const Context& context_;
    int next_slot_;
    std::map<LoopKey, std::vector<UOp>> loops_;
    UOpMap<UOp> rebuilt_;
};

}  // namespace

Result<UOp> lower_reduces(UOp sink, Context& context) { return Lowering(sink, context).run(); }

}  // namespace strata::codegen
