// reduce_over_threads: partial results of the threads of a block are combined in local memory.
//
//   lds[thread] = partial; barrier
//   while more than four are left: the first quarter of the threads adds the other three quarters' values; barrier
//   every thread combines the last four itself, which hands the result to all without one more barrier
// lds has one element a thread of the block, in the order of thread numbers, so that neighbours touch neighbours.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFanIn = 4;

/// The number of a thread within its block, without the ranges that are taken as zero.
UOp thread_number(const ThreadOrder& threads, std::span<const UOp> zero) {
    UOp number;
    int64_t stride = 1;
    for (UOp r : threads) {
        if (std::find(zero.begin(), zero.end(), r) == zero.end()) {
            UOp term = stride == 1 ? r : r * stride;
            number = number ? number + term : term;
        }
        stride *= range_arg(r).size;
    }
    return number ? number : index_const(0);
}

int64_t stride_of(const ThreadOrder& threads, UOp range) {
    int64_t stride = 1;
    for (UOp r : threads) {
        if (r == range) return stride;
        stride *= range_arg(r).size;
    }
    STRATA_CHECK(false, "{} is no thread of the block", to_string(range));
}

class Tree {
  public:
    Tree(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot)
        : reduction_(reduction), own_(thread_number(reduction.threads, {})) {
        int64_t threads = 1;
        for (UOp r : reduction.threads) threads *= range_arg(r).size;
        std::vector<UOp> values(partials.begin(), partials.end()), first;
        if (!reduction.loops.empty()) wait_for_readers(values, next_slot);
        for (UOp value : values) {
            memory_.push_back(uop::placeholder(threads, value.dtype(), Space::local, next_slot++));
            first.push_back(uop::store(uop::at(settled(memory_.back()), own_), value));
        }
        meet(first);
    }

    std::vector<UOp> run() {
        UOp gate;  // the threads that still take part
        std::vector<UOp> results;
        for (size_t g = 0; g < reduction_.groups.size(); ++g) {
            UOp range = reduction_.groups[g];
            int64_t left = range_arg(range).size;
            bool last = g + 1 == reduction_.groups.size();
            while (left > (last ? kFanIn : 1)) {
                int64_t step = (left + kFanIn - 1) / kFanIn;
                stage(range, left, step, uop::both(gate, range < step));
                left = step;
            }
            gate = uop::both(gate, range < 1);
            if (last) results = finish(range, left);
        }
        return results;
    }

  private:
    /// In a loop local memory is written again when all threads have read the previous round's result: a barrier stands
    /// between. It follows the store of the values to registers, which is in the loop.
    void wait_for_readers(std::vector<UOp>& values, int& next_slot) {
        std::vector<UOp> registers, stores;
        for (UOp value : values) {
            registers.push_back(uop::placeholder(1, value.dtype(), Space::reg, next_slot++));
            stores.push_back(uop::store(uop::at(uop::after(registers.back(), reduction_.loops), 0), value));
        }
        meet(stores);
        for (size_t i = 0; i < values.size(); ++i) values[i] = uop::load(uop::at(settled(registers[i]), 0));
    }

    void meet(std::span<const UOp> effects) { barrier_ = uop::barrier(effects); }
    UOp settled(UOp memory) const { return barrier_ ? uop::after(memory, {barrier_}) : memory; }

    void stage(UOp range, int64_t left, int64_t step, UOp gate) {
        std::vector<UOp> stores;
        for (UOp memory : memory_) {
            UOp at = settled(memory), sum = uop::load(uop::at(at, own_, gate));
            for (int64_t k = step; k < left; k += step) {
                UOp there = own_ + k * stride_of(reduction_.threads, range);
                UOp exists = k + step <= left ? gate : uop::both(gate, range < left - k);
                UOp other = uop::load(uop::at(at, there, exists));
                UOp next = alu(reduction_.op, {sum, other});
                sum = exists == gate ? next : alu(Op::where, {exists, next, sum});
            }
            stores.push_back(uop::store(uop::at(at, own_, gate), sum));
        }
        meet(stores);
    }

    std::vector<UOp> finish(UOp range, int64_t left) const {
        UOp first = thread_number(reduction_.threads, reduction_.groups);
        std::vector<UOp> results;
        for (UOp memory : memory_) {
            UOp at = settled(memory), sum = uop::load(uop::at(at, first));
            for (int64_t k = 1; k < left; ++k)
                sum =
                    alu(reduction_.op, {sum, uop::load(uop::at(at, first + k * stride_of(reduction_.threads, range)))});
            results.push_back(sum);
        }
        return results;
    }

    const GroupReduction& reduction_;
    UOp own_, barrier_;
    std::vector<UOp> memory_;
};

}  // namespace

std::vector<UOp> reduce_over_threads(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot) {
    return Tree(reduction, partials, next_slot).run();
}

Result<UOp> gate_group_stores(UOp sink, Context&) {
    Scopes scopes(sink);
    RangeSet groups = scopes.with_axis({Axis::group});
    if (!groups) return sink;
    return rebuild(scopes.order(), [&](UOp u, std::vector<UOp>& sources) {
        bool writes = (u.is(Op::store) || u.is(Op::atomic_add)) &&
                      skip_after(u.src(0).src(0)).as<ParamArg>().space == Space::global;
        if (writes) {
            UOp place = sources[0], gate = place.src().size() > 2 ? place.src(2) : UOp();
            for (UOp r : scopes.list(groups & ~scopes.free(u))) gate = uop::both(gate, r < 1);
            sources[0] = uop::at(place.src(0), place.src(1), gate);
        }
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
