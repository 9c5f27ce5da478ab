#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "strata/asm/emu/program/program.h"

namespace strata::emu {

/// A T for each chunk of one program, made when it is first asked for; it never moves. Thread-safe, and read without a
/// lock.
template <class T>
class PerChunk {
  public:
    template <class Make>
    T& get(const Chunk& chunk, Make make) {
        std::atomic<T*>& place = table_[chunk.number];
        if (T* const found = place.load(std::memory_order_acquire)) return *found;
        std::lock_guard lock(mutex_);
        if (T* const found = place.load(std::memory_order_acquire)) return *found;
        T& made = made_.emplace_back(make());
        // Who finds it at its place finds it by find_if(), too.
        if (chunk.number >= used_) used_.store(chunk.number + 1, std::memory_order_release);
        place.store(&made, std::memory_order_release);
        return made;
    }
    /// nullptr: nobody asked for it yet.
    const T* find(const Chunk& chunk) const { return table_[chunk.number].load(std::memory_order_acquire); }

    template <class Wanted>
    const T* find_if(Wanted wanted) const {
        for (size_t i = 0; i < used_.load(std::memory_order_acquire); ++i)
            if (const T* const at = table_[i].load(std::memory_order_acquire); at && wanted(*at)) return at;
        return nullptr;
    }
    template <class Visit>
    void for_each(Visit visit) {
        std::lock_guard lock(mutex_);
        for (T& made : made_) visit(made);
    }

  private:
    std::array<std::atomic<T*>, Program::kMaxChunks> table_{};
    std::atomic<size_t> used_{0};  ///< entries of table_ that may be set
    std::deque<T> made_;
    std::mutex mutex_;
};

}  // namespace strata::emu
