#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace strata::emu {

/// Blocks of device memory that hold a pattern over and over, in pages of a single copy until something is written there.
class RepeatedPages {
  public:
    /// Fills a block. A pattern of whole pages takes memory once, any other as often as it stands there.
    void fill(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);
    /// What is about to be freed gets pages of its own again.
    void release(uint64_t address);

  private:
    size_t map(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);

    std::map<uint64_t, size_t> mapped_;  ///< bytes by address
};

}  // namespace strata::emu
