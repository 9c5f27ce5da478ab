#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/uop.h"

namespace strata::ops {

/// The words of one item: ordered by the first, then by the second. No two items are equal.
using Words = std::vector<UOp>;

/// True if one item comes before another; or is the same.
UOp before(const Words& a, const Words& b);
UOp not_after(const Words& a, const Words& b);
Words either_of(UOp condition, const Words& a, const Words& b);

/// Memory of items: an array a word. A copy that is after effects is the same memory, read or written after them.
struct Items {
    std::vector<UOp> arrays;

    Words at(UOp place, UOp predicate = {}, const Words& otherwise = {}) const;
    UOp put(UOp place, const Words& words, UOp predicate = {}) const;
    Items after(std::initializer_list<UOp> earlier) const;
};

/// Builds one kernel of blocks of threads along one dimension. Loops nest in the order in which they are made.
class Block {
  public:
    Block(int64_t blocks, int64_t threads);

    const int64_t threads;
    const UOp block, thread;  ///< numbers, as indices

    /// steps: how many of them it takes, the same in all threads.
    UOp loop(int64_t size, UOp steps = {});
    UOp local(int64_t size, DType type);
    UOp register_of(DType type);
    Items local(int64_t size, std::span<const DType> words);
    Items registers(std::span<const DType> words);
    /// The kernel: the effect, once for each thread of each block.
    UOp sink(UOp effect, std::string name) const;

  private:
    int next_range_ = 2, next_slot_ = 0;
};

/// Items of local memory in runs of a power of two, each run in order. The block has passed a barrier.
struct Network {
    int64_t size;                  ///< items: a power of two from 8 on
    int64_t run;                   ///< items of a run: a power of two from 8 on
    UOp levels = {}, rounds = {};  ///< log2 of the run, and how many fours of items a thread has; none: of these sizes
};
UOp order_runs(Block& block, const Items& items, const Network& network);
/// The same for one run that ascends and then descends.
UOp merge_bitonic(Block& block, const Items& items, int64_t size);

}  // namespace strata::ops
