#include "strata/core/uop/scratch_p.h"

namespace strata {
namespace {

constexpr size_t kBlock = size_t{1} << 17;
thread_local ScratchStore store;
thread_local int depth = 0;

}  // namespace

ScratchNodes::ScratchNodes() { ++depth; }
ScratchNodes::~ScratchNodes() {
    if (--depth == 0) store.clear();
}

ScratchStore* ScratchStore::current() { return depth > 0 ? &store : nullptr; }

void* ScratchStore::allocate(size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (bytes > left_) {
        const size_t block = std::max(bytes, kBlock);
        free_ = blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(block)).get();
        left_ = block;
    }
    left_ -= bytes;
    return std::exchange(free_, free_ + bytes);
}

void ScratchStore::add(const Node* node) {
    own_.push_back(node);
    nodes_.insert(node);
}

/// The memory of the first block stays for the next time.
void ScratchStore::clear() {
    for (const Node* n : own_) n->~Node();
    own_.clear();
    nodes_ = NodeSet();
    if (blocks_.empty()) return;
    blocks_.resize(1);
    free_ = blocks_[0].get();
    left_ = kBlock;
}

}  // namespace strata
