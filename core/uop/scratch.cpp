#include "strata/core/uop/scratch_p.h"

#include <array>
#include <atomic>
#include <type_traits>
#include <utility>
#include <variant>

namespace strata {
namespace {

constexpr size_t kBlock = size_t{1} << 17, kBlocksKept = 16;
thread_local std::unique_ptr<ScratchStore> store;
thread_local ScratchStore* current_store = nullptr;  ///< the same: of trivial end, so that reading it asks for no guard
thread_local int depth = 0;

/// By the place of an argument's type: whether its end gives memory back.
constexpr auto kHoldsMemory = []<size_t... i>(std::index_sequence<i...>) {
    return std::array{!std::is_trivially_destructible_v<std::variant_alternative_t<i, Arg>>...};
}(std::make_index_sequence<std::variant_size_v<Arg>>());

/// Those that no thread has now: threads that compile come and go, and take their room from here.
class Spare {
  public:
    std::unique_ptr<ScratchStore> take() {
        for (std::atomic<ScratchStore*>& place : places_)
            if (auto* const found = place.exchange(nullptr)) return std::unique_ptr<ScratchStore>(found);
        return std::make_unique<ScratchStore>();
    }
    void give(std::unique_ptr<ScratchStore> given) {
        for (std::atomic<ScratchStore*>& place : places_)
            if (ScratchStore* none = nullptr; place.compare_exchange_strong(none, given.get())) {
                (void)given.release();
                return;
            }
    }

  private:
    std::array<std::atomic<ScratchStore*>, 32> places_{};
};
Spare& spare() {
    static auto* const all = new Spare;  // never destroyed: threads may outlive what is static
    return *all;
}

}  // namespace

ScratchNodes::ScratchNodes() {
    if (depth == 0) store = spare().take(), current_store = store.get();
    ++depth;
}
ScratchNodes::~ScratchNodes() {
    if (--depth > 0) return;
    store->clear();
    current_store = nullptr;
    spare().give(std::move(store));
}

ScratchStore* ScratchStore::current() { return current_store; }

void* ScratchStore::allocate(size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (bytes > left_) next_block(bytes);
    left_ -= bytes;
    return std::exchange(free_, free_ + bytes);
}

void ScratchStore::next_block(size_t bytes) {
    if (bytes > kBlock) {
        free_ = large_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
        left_ = bytes;
        return;
    }
    if (used_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlock));
    free_ = blocks_[used_++].get();
    left_ = kBlock;
}

void ScratchStore::add(const Node* node) {
    if (kHoldsMemory[node->arg.index()] || node->shape.capacity()) own_.push_back(node);
    nodes_.insert(node);
}

/// Some memory stays for the next time.
void ScratchStore::clear() {
    for (const Node* n : own_) n->~Node();
    own_.clear();
    nodes_.clear();
    large_.clear();
    blocks_.resize(std::min(blocks_.size(), kBlocksKept));
    used_ = left_ = 0;
    free_ = nullptr;
}

}  // namespace strata
