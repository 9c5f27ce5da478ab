// interpret: the reference of kernels as lists. One node runs for all threads of a block that are in its loops; then
// the next one.
#include "strata/codegen/interpret/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "strata/codegen/interpret/async_copies_p.h"
#include "strata/codegen/interpret/atomics_p.h"
#include "strata/codegen/interpret/memory_p.h"
#include "strata/codegen/interpret/product_p.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/uop/reference.h"
#include "strata/core/uop/uop_map.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

struct Loop {
    size_t begin;               ///< place of the range
    std::vector<bool> outside;  ///< threads that were active before the loop
};

/// An end, reduction or contraction with the places of its loops, the outermost first.
struct Closer {
    size_t at;
    std::vector<size_t> loops;
};

class Run {
  public:
    Run(std::span<const UOp> ops, const InterpretedLaunch& launch, std::span<const InterpretedArgument> arguments)
        : ops_(ops),
          launch_(launch),
          threads_(size_t{launch.block[0]} * launch.block[1] * launch.block[2]),
          memory_(arguments, threads_),
          first_(ops.size()),
          end_(ops.size()) {
        size_t values = 0;
        for (const InterpretedLaunch::Coordinate& one : launch.coordinates) coordinates_[one.range] = one;
        for (size_t i = 0; i < ops.size(); ++i) {
            place_[ops[i]] = i;
            first_[i] = values;
            values += ops[i].dtype().scalar == Scalar::none ? 0 : threads_ * ops[i].dtype().lanes;
            if (ops[i].is(Op::fetched)) fetched_[ops[i].src(0)] = i;
            if (!closes_ranges(ops[i])) continue;
            Closer& closer = closers_.emplace_back(Closer{i, {}});
            for (UOp range : ops[i].src().subspan(1))
                if (!coordinates_.contains(range)) closer.loops.push_back(place_.at(range));
            std::ranges::sort(closer.loops);
            for (const size_t loop : closer.loops) end_[loop] = closers_.size() - 1;
        }
        values_.resize(values);
    }

    std::optional<Finding> run() {
        const auto [x, y, z] = launch_.grid;
        for (block_[2] = 0; block_[2] < z; ++block_[2])
            for (block_[1] = 0; block_[1] < y; ++block_[1])
                for (block_[0] = 0; block_[0] < x; ++block_[0]) {
                    run_block();
                    if (finding_) return finding_;
                }
        return {};
    }

  private:
    void run_block() {
        memory_.begin_block();
        copies_.begin_block(threads_);
        active_.assign(threads_, true);
        ended_.assign(threads_, false);
        loops_.clear();
        epoch_ = 0;
        for (size_t at = 0; at < ops_.size() && !finding_;) at = step(at);
    }

    /// Runs one node; the place of the next one.
    size_t step(size_t at) {
        const UOp u = ops_[at];
        switch (u.op()) {
            case Op::param:
            case Op::index: break;
            case Op::range:
                if (!coordinates_.contains(u)) return begin_loop(at);
                for_each_thread([&](size_t t) { value_at(at, t)[0] = {coordinate(coordinates_.at(u), t), 0}; });
                break;
            case Op::end:
            case Op::reduce:
            case Op::contract: return close(at);
            case Op::scan: for_each_thread([&](size_t t) { scan(at, t); }); break;
            case Op::first_wave: end_threads(at, static_cast<size_t>(u.as<IndexArg>().index)); break;
            case Op::last_block: count_block(u); break;
            case Op::break_if: return leave_loop(at);
            case Op::store: for_each_thread([&](size_t t) { store(u, t); }); break;
            case Op::atomic_add: for_each_thread([&](size_t t) { add(u, t); }); break;
            case Op::atomic: for_each_thread([&](size_t t) { atomic(u, t); }); break;
            case Op::async_copy: for_each_thread([&](size_t t) { begin_copy(u, t); }); break;
            case Op::async_commit: for_each_thread([&](size_t t) { copies_.commit(t); }); break;
            case Op::async_wait: for_each_thread([&](size_t t) { end_copies(u, t); }); break;
            case Op::fetched:
            case Op::fence:
            case Op::wave_barrier:
            case Op::schedule:
            case Op::priority: break;
            case Op::trap: for_each_thread([&](size_t t) { trap(u, t); }); break;
            case Op::barrier: meet(u); break;
            case Op::shuffle_xor:
            case Op::shuffle: exchange(at); break;
            case Op::ballot: vote(at); break;
            case Op::wmma: multiply(at); break;
            default: for_each_thread([&](size_t t) { compute(at, t); });
        }
        if (launch_.observe) observe(at);
        return at + 1;
    }

    template <class F>
    void for_each_thread(F f) {
        for (size_t i = 0; i < threads_ && !finding_; ++i)
            if (const size_t t = launch_.from_last_thread ? threads_ - 1 - i : i; active_[t]) f(t);
    }

    std::span<ConstArg> value_at(size_t at, size_t t) {
        const size_t lanes = ops_[at].dtype().lanes;
        return {values_.data() + first_[at] + t * lanes, lanes};
    }
    std::span<ConstArg> value(UOp u, size_t t) { return value_at(place_.at(skip_after(u)), t); }

    // Loops.
    int64_t steps_of(UOp range, size_t t) {
        return range.src().empty() ? range_arg(range).size : value(range.src(0), t)[0].i;
    }
    size_t begin_loop(size_t at) {
        loops_.push_back({at, active_});
        for_each_thread([&](size_t t) { value_at(at, t)[0] = {0, 0}; });
        const Closer& closer = closers_[end_[at]];
        if (ops_[closer.at].is(Op::reduce) && closer.loops[0] == at) {
            const ConstArg start = identity(ops_[closer.at].as<ReduceArg>().op, wide(ops_[closer.at])).as<ConstArg>();
            for_each_thread([&](size_t t) { std::ranges::fill(value_at(closer.at, t), start); });
        }
        return go_on(at);
    }
    /// The body of a closer's loops is done for one step.
    size_t close(size_t at) {
        const UOp u = ops_[at];
        const auto closer = std::ranges::find(closers_, at, &Closer::at);
        if (u.is(Op::reduce)) for_each_thread([&](size_t t) { accumulate(at, t); });
        if (u.is(Op::contract)) for_each_thread([&](size_t t) { contract(at, *closer, t); });
        return closer->loops.empty() ? at + 1 : end_loop();
    }
    size_t end_loop() {
        const size_t begin = loops_.back().begin;
        for_each_thread([&](size_t t) { ++value_at(begin, t)[0].i; });
        return go_on(begin);
    }
    /// Threads with steps left run the body; with none left, all that came go on after the loop.
    size_t go_on(size_t begin) {
        for_each_thread([&](size_t t) {
            if (value_at(begin, t)[0].i >= steps_of(ops_[begin], t)) active_[t] = false;
        });
        return any_active() ? begin + 1 : after_loop();
    }
    bool any_active() const {
        return std::ranges::any_of(active_, [](bool b) { return b; });
    }
    /// Threads for which the condition holds run no more of the loop.
    size_t leave_loop(size_t at) {
        for_each_thread([&](size_t t) {
            if (value(ops_[at].src(0), t)[0].i) active_[t] = false;
        });
        return any_active() ? at + 1 : after_loop();
    }
    /// The next loop of the closer takes its next step.
    size_t after_loop() {
        const size_t begin = loops_.back().begin;
        active_ = std::move(loops_.back().outside);
        loops_.pop_back();
        const Closer& closer = closers_[end_[begin]];
        if (closer.loops[0] != begin) return end_loop();
        if (ops_[closer.at].is(Op::reduce))
            for_each_thread([&](size_t t) {
                for (ConstArg& sum : value_at(closer.at, t)) sum.f = round_to(ops_[closer.at].dtype().element(), sum.f);
            });
        return closer.at + 1;
    }

    // Reductions. Floats are added up in float64 and rounded once.
    static DType wide(UOp u) { return u.dtype().is_float() ? DType(dtypes::float64) : u.dtype().element(); }
    void accumulate(size_t at, size_t t) { combine(ops_[at], value(ops_[at].src(0), t), value_at(at, t)); }
    static void combine(UOp u, std::span<const ConstArg> next, std::span<ConstArg> sum) {
        for (size_t i = 0; i < sum.size(); ++i)
            sum[i] = reference(u.as<ReduceArg>().op, wide(u), wide(u), std::array{sum[i], next[i]}).value();
    }
    /// The ranges of a scan stay open: it begins again where all of them do.
    void scan(size_t at, size_t t) {
        const UOp u = ops_[at];
        std::vector<ConstArg>& sums = scanned_[at];
        sums.resize(threads_);
        const bool begins = std::ranges::all_of(u.src().subspan(1), [&](UOp r) { return value(r, t)[0].i == 0; });
        if (begins)
            sums[t] = value(u.src(0), t)[0];
        else
            combine(u, value(u.src(0), t), std::span(&sums[t], 1));
        value_at(at, t)[0] = {sums[t].i, round_to(u.dtype().element(), sums[t].f)};
    }
    void contract(size_t at, const Closer& closer, size_t t) {
        size_t lane = 0;
        for (const size_t loop : closer.loops)
            lane = lane * static_cast<size_t>(range_arg(ops_[loop]).size) + static_cast<size_t>(value_at(loop, t)[0].i);
        value_at(at, t)[lane] = value(ops_[at].src(0), t)[0];
    }
    int64_t coordinate(const InterpretedLaunch::Coordinate& of, size_t t) const {
        const auto number = static_cast<int64_t>(of.thread ? t : block_number());
        return number / of.stride % range_arg(of.range).size;
    }
    uint32_t block_number() const { return (block_[2] * launch_.grid[1] + block_[1]) * launch_.grid[0] + block_[0]; }
    void end_threads(size_t at, size_t first) {
        for_each_thread([&](size_t t) {
            if (value(ops_[at].src(0), t)[0].i >= static_cast<int64_t>(first)) ended_[t] = true, active_[t] = false;
        });
    }
    /// Blocks run one after the other: the last one finds all others done.
    void count_block(UOp u) {
        if (block_number() + 1 < static_cast<uint32_t>(u.as<IndexArg>().index)) {
            ended_.assign(threads_, true);
            active_.assign(threads_, false);
        }
        memory_.all_before_are_done();
    }

    // Memory.
    Accessor accessor(size_t t) const {
        return {block_number(), static_cast<uint32_t>(t / static_cast<size_t>(launch_.wave_size)), epoch_};
    }
    bool is_open(UOp index, size_t t) { return index.src().size() < 3 || value(index.src(2), t)[0].i != 0; }
    InterpretedMemory::Run run_of(UOp index, size_t t, int lanes) {
        return {memory_of(index), t, value(index.src(1), t)[0].i, lanes};
    }
    void load(UOp u, size_t t, std::span<ConstArg> out) {
        if (is_open(u.src(0), t))
            return check(u, t, memory_.load(run_of(u.src(0), t, u.dtype().lanes), accessor(t), out));
        const std::span<ConstArg> otherwise = value(u.src(1), t);
        std::ranges::copy(otherwise, out.begin());
    }
    void store(UOp u, size_t t) {
        if (!is_open(u.src(0), t)) return;
        check(u, t, memory_.store(run_of(u.src(0), t, u.src(1).dtype().lanes), accessor(t), value(u.src(1), t)));
    }
    void add(UOp u, size_t t) {
        if (!is_open(u.src(0), t)) return;
        ConstArg old;
        const DType type = u.src(1).dtype();
        check(u, t, memory_.update(run_of(u.src(0), t, 1), accessor(t), old, [&](const ConstArg& before) {
            return after_atomic(AtomicOp::add, type, before, value(u.src(1), t)[0], {});
        }));
    }

    /// The value found goes where it is asked for; each of two halves is an atomic by itself.
    void atomic(UOp u, size_t t) {
        const auto asked = fetched_.find(u);
        for (size_t i = 0; i < u.src(1).dtype().lanes; ++i) {
            ConstArg old;
            InterpretedMemory::Run run = run_of(u.src(0), t, 1);
            run.first += static_cast<int64_t>(i);
            if (is_open(u.src(0), t))
                check(u, t, memory_.update(run, accessor(t), old, [&](const ConstArg& before) {
                    return after_atomic(u.as<AtomicArg>().operation, u.src(0).dtype(), before, value(u.src(1), t)[i],
                                        u.src().size() > 2 ? value(u.src(2), t)[0] : ConstArg{});
                }));
            if (asked != fetched_.end()) value_at(asked->second, t)[i] = old;
        }
    }
    /// The values are those of when the copy began: what it reads may change before it ends, which is a race.
    void begin_copy(UOp u, size_t t) {
        if (!is_open(u.src(0), t)) return;
        const int count = u.as<IndexArg>().index;
        std::vector<ConstArg> values(static_cast<size_t>(count));
        check(u, t, memory_.load(run_of(u.src(1), t, count), accessor(t), values));
        const InterpretedMemory::Run to = run_of(u.src(0), t, count);
        check(u, t, memory_.begin_copy(to, accessor(t)));
        copies_.add(t, {u, to, std::move(values)});
    }
    void end_copies(UOp u, size_t t) {
        for (const auto& copy : copies_.wait(t, static_cast<size_t>(u.as<IndexArg>().index)))
            memory_.end_copy(copy.to, accessor(t), copy.values);
    }
    void trap(UOp u, size_t t) {
        if (value(u.src(0), t)[0].i) check(u, t, Fault{ErrorKind::Check, "comes to a trap"});
    }

    // Operations of all threads of a block or wave together.
    void meet(UOp u) {
        ++epoch_;
        size_t missing = 0;
        while (missing < threads_ && (active_[missing] || ended_[missing])) ++missing;
        if (missing == threads_) return;
        check(u, missing, Fault{ErrorKind::Check, "does not reach a barrier at which other threads of its block wait"});
    }
    void exchange(size_t at) {
        const UOp u = ops_[at];
        const auto wave = static_cast<size_t>(launch_.wave_size);
        for_each_thread([&](size_t t) {
            const size_t from = u.is(Op::shuffle)
                                    ? t / wave * wave + static_cast<size_t>(value(u.src(1), t)[0].i) % wave
                                    : t ^ static_cast<size_t>(u.as<IndexArg>().index);
            if (from >= threads_ || !active_[from])
                return check(
                    u, t, Fault{ErrorKind::Check, fmt::format("reads lane {} of its wave, which does not run", from)});
            std::ranges::copy(value(u.src(0), from), value_at(at, t).begin());
        });
    }
    void vote(size_t at) {
        const auto wave = static_cast<size_t>(launch_.wave_size);
        std::vector<int64_t> votes((threads_ + wave - 1) / wave);
        for_each_thread([&](size_t t) {
            const bool holds = value(ops_[at].src(0), t)[0].i != 0;
            votes[t / wave] |= static_cast<int64_t>(static_cast<uint64_t>(holds) << t % wave);
        });
        for_each_thread([&](size_t t) { value_at(at, t)[0] = {votes[t / wave], 0}; });
    }

    /// Sums are rounded once, to the accumulator's type.
    void multiply(size_t at) {
        const UOp u = ops_[at];
        const auto wave = static_cast<size_t>(launch_.wave_size);
        const std::optional<InterpretedProduct> product = product_of(u, launch_.wave_size);
        if (const auto group = warpgroup_product(u); !product || (group && group->holds_a()))
            return check(u, 0, Fault{ErrorKind::Unsupported, "is a product that waves of this size do not compute"});
        for (size_t first = 0; first < threads_ && !finding_; first += wave) {
            const auto missing =
                std::find(active_.begin() + static_cast<ptrdiff_t>(first),
                          active_.begin() + static_cast<ptrdiff_t>(std::min(first + wave, threads_)), false);
            const auto idle = static_cast<size_t>(missing - active_.begin());
            const auto runs =
                std::find(active_.begin() + static_cast<ptrdiff_t>(first),
                          active_.begin() + static_cast<ptrdiff_t>(std::min(first + wave, threads_)), true);
            if (static_cast<size_t>(runs - active_.begin()) == std::min(first + wave, threads_)) continue;
            if (idle < first + wave)
                return check(u, std::min(idle, threads_ - 1),
                             Fault{ErrorKind::Check, "is not in a product that its wave computes"});
            const auto source = [&](int i, size_t lane) { return value(u.src(static_cast<size_t>(i)), first + lane); };
            const auto result = [&](size_t lane) { return value_at(at, first + lane); };
            if (!warpgroup_product(u))
                product->run(source, result);
            else
                product->run(tile_of(u, 0, first), tile_of(u, 1, first), source, result);
        }
    }

    /// An operand of a warpgroup, from local memory: as places_of_tile lists it.
    std::vector<ConstArg> tile_of(UOp u, size_t which, size_t first) {
        const UOp start = skip_after(u.src(which)).src(0);
        std::vector<ConstArg> out;
        for (const int64_t place : places_of_tile(u, which, first / static_cast<size_t>(launch_.wave_size))) {
            const InterpretedMemory::Run run{memory_of(start), first, value(start.src(1), first)[0].i + place, 1};
            check(u, first, memory_.load(run, accessor(first), {&out.emplace_back(), 1}));
        }
        return out;
    }

    // Values.
    void compute(size_t at, size_t t) {
        const UOp u = ops_[at];
        const std::span<ConstArg> out = value_at(at, t);
        switch (u.op()) {
            case Op::constant: std::ranges::fill(out, u.as<ConstArg>()); break;
            case Op::define_var: out[0] = memory_.number(u.as<VariableArg>().slot); break;
            case Op::special: out[0] = {special(u.as<SpecialArg>(), t), 0}; break;
            case Op::lane: out[0] = value(u.src(0), t)[static_cast<size_t>(u.as<IndexArg>().index)]; break;
            case Op::vec:
                for (size_t i = 0; i < out.size(); ++i) out[i] = value(u.src(i), t)[0];
                break;
            case Op::load: load(u, t, out); break;
            case Op::element: out[0] = value(u.src(0), t)[static_cast<size_t>(value(u.src(1), t)[0].i)]; break;
            default: compute_elements(u, t, out);
        }
    }
    void compute_elements(UOp u, size_t t, std::span<ConstArg> out) {
        if (!info(u.op()).computes())
            return check(u, t, Fault{ErrorKind::Unsupported, "is an operation that the interpreter does not know"});
        sources_.resize(u.src().size());
        for (size_t i = 0; i < out.size(); ++i) {
            for (size_t s = 0; s < sources_.size(); ++s) {
                const std::span<ConstArg> from = value(u.src(s), t);
                sources_[s] = from[from.size() == 1 ? 0 : i];
            }
            const auto result = reference(u.op(), u.dtype().element(), u.src().back().dtype().element(), sources_);
            if (!result && u.is(Op::bounded))
                return check(u, t,
                             Fault{ErrorKind::MemoryFault,
                                   fmt::format("has index {}, which is outside of axis {}, whose size is {}",
                                               sources_[0].i, sources_[2].i, sources_[1].i)});
            out[i] = result.value_or(ConstArg{});  // undefined: a shift by the type's width
        }
    }
    std::array<uint32_t, 3> thread(size_t t) const {
        const auto [x, y, z] = launch_.block;
        return {static_cast<uint32_t>(t % x), static_cast<uint32_t>(t / x % y), static_cast<uint32_t>(t / x / y)};
    }
    int64_t special(const SpecialArg& arg, size_t t) const {
        return (arg.thread ? thread(t) : block_)[static_cast<size_t>(arg.dim)];
    }

    void check(UOp u, size_t t, const std::optional<Fault>& wrong) {
        if (!wrong || finding_) return;
        const auto [x, y, z] = thread(t);
        finding_ = Finding{wrong->kind,
                           fmt::format("thread ({}, {}, {}) of block ({}, {}, {}) {}", x, y, z, block_[0], block_[1],
                                       block_[2], wrong->what),
                           u, block_, thread(t)};
    }
    void observe(size_t at) {
        if (block_ != launch_.observed_block || ops_[at].dtype().scalar == Scalar::none) return;
        for_each_thread([&](size_t t) {
            if (thread(t) == launch_.observed_thread) launch_.observe(ops_[at], value_at(at, t));
        });
    }

    std::span<const UOp> ops_;
    const InterpretedLaunch& launch_;
    size_t threads_;
    InterpretedMemory memory_;
    AsyncCopiesUnderWay copies_;
    UOpMap<size_t> place_;
    UOpMap<size_t> fetched_;           ///< of an atomic, where it is asked for what it found
    std::vector<size_t> first_, end_;  ///< by place: the first of its values; of a range its closer
    std::vector<ConstArg> values_, sources_;
    UOpMap<InterpretedLaunch::Coordinate> coordinates_;
    std::vector<Closer> closers_;
    std::map<size_t, std::vector<ConstArg>> scanned_;  ///< by place: what each thread's has come to, not rounded
    std::vector<bool> active_, ended_;
    std::vector<Loop> loops_;
    std::array<uint32_t, 3> block_{};
    uint32_t epoch_ = 0;
    std::optional<Finding> finding_;
};

}  // namespace

std::optional<Finding> interpret(std::span<const UOp> ops, const InterpretedLaunch& launch,
                                 std::span<const InterpretedArgument> arguments) {
    return Run(ops, launch, arguments).run();
}

}  // namespace strata::codegen
