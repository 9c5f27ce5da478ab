#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace strata::emu {

/// Blocks of device memory whose pages are of files. A block of a repeated pattern is a single copy until something is
/// written there; others are memory shared with other processes.
class RepeatedPages {
  public:
    RepeatedPages() = default;
    ~RepeatedPages() { forget_pattern(); }
    RepeatedPages(const RepeatedPages&) = delete;
    /// Fills a block. A pattern of whole pages takes memory once, any other as often as it stands there.
    void fill(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);
    /// The file that a block's pages are of from now on, with what they hold; -1: the host has none. It may be asked
    /// for again.
    int share(uint64_t address, size_t bytes);
    /// Gives a range that is about to be freed pages of its own again.
    void release(uint64_t address);

  private:
    size_t map(uint64_t address, size_t bytes, std::span<const uint8_t> pattern);
    /// The file of a pattern, which is kept for the next block of it where it is small; -1: the host has none.
    int file_of_pattern(std::span<const uint8_t> pattern);
    void forget_pattern();

    struct Pages {
        size_t bytes = 0;
        int file = -1;  ///< that is open, as others may want it
    };
    std::map<uint64_t, Pages> mapped_;  ///< by address
    struct PatternFile {
        int file = -1;
        uint8_t* bytes = nullptr;      ///< what the file holds
        size_t size = 0, pattern = 0;  ///< bytes of the file, and of the pattern that it repeats
    };
    PatternFile last_;  ///< the last pattern's
};

}  // namespace strata::emu
