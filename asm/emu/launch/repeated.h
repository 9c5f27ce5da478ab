#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace strata::emu {

/// Blocks of device memory whose pages are of files: of a pattern over and over, in a single copy until something is written there,
/// or of what other processes see.
class RepeatedPages {
  public:
    /// Fills a block. A pattern of whole pages takes memory once, any other as often as it stands there.
    void fill(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);
    /// The file that a block's pages are of from now on, with what they hold; -1: the host has none. It may be asked for again.
    int share(uint64_t address, size_t bytes);
    /// What is about to be freed gets pages of its own again.
    void release(uint64_t address);

  private:
    size_t map(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);

    struct Pages {
        size_t bytes = 0;
        int file = -1;  ///< that is open, as others may want it
    };
    std::map<uint64_t, Pages> mapped_;  ///< by address
};

}  // namespace strata::emu
