#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "strata/core/uop/node_set_p.h"
#include "strata/core/uop/scratch.h"

namespace strata {

/// The nodes of a thread's ScratchNodes, in blocks of memory, and those of all threads that it came upon.
class ScratchStore {
  public:
    /// This thread's; null where no ScratchNodes lives.
    static ScratchStore* current();
    ~ScratchStore() { clear(); }

    NodeSet& nodes() { return nodes_; }
    void* allocate(size_t bytes);
    /// One that stands in such memory.
    void add(const Node* node);
    void clear();

  private:
    void next_block(size_t bytes);

    static constexpr size_t kSlots = 1 << 13;  // for a small kernel

    NodeSet nodes_{kSlots};
    std::vector<const Node*> own_;                              ///< those that hold memory besides
    std::vector<std::unique_ptr<std::byte[]>> blocks_, large_;  ///< of the same size; of nodes with very many sources
    std::byte* free_ = nullptr;
    size_t used_ = 0, left_ = 0;  ///< of blocks_; bytes from free_ on
};

}  // namespace strata
