#pragma once
#include <deque>
#include <vector>

#include "strata/codegen/interpret/memory_p.h"

namespace strata::codegen {

/// The asynchronous copies of a block's threads that no wait has ended, as groups.
class AsyncCopiesUnderWay {
  public:
    struct Copy {
        UOp node;
        InterpretedMemory::Run to;
        std::vector<ConstArg> values;
    };
    void begin_block(size_t threads) { groups_.assign(threads, std::deque<Group>(1)); }
    void add(size_t thread, Copy copy) { groups_[thread].back().push_back(std::move(copy)); }
    void commit(size_t thread) { groups_[thread].emplace_back(); }
    /// Ends all groups of a thread but the last ones: what they copied, in order. Copies of no group go on.
    std::vector<Copy> wait(size_t thread, size_t groups);

  private:
    using Group = std::vector<Copy>;
    std::vector<std::deque<Group>> groups_;  ///< by thread; the last one is not committed
};

}  // namespace strata::codegen
