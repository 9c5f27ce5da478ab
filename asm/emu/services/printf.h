#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strata::emu {

/// Arguments of a printf as kernels send them: 64 bits each, strings in place, their end filled up to 8 bytes.
class PrintfArguments {
  public:
    explicit PrintfArguments(std::span<const uint64_t> words) : words_(words) {}
    bool empty() const { return words_.empty(); }
    uint64_t number();
    /// Up to the first zero byte, or to the end of what was sent.
    std::string_view string();

  private:
    std::span<const uint64_t> words_;
};

/// The output of a printf: its first bytes, and how many there are in all.
struct Printed {
    std::string text;
    uint64_t bytes = 0;
};

/// C's printf of the format and its arguments; the first `limit` bytes are kept. A conversion that C does not know, or
/// that finds no argument, stands as it was written; %n writes nothing.
Printed format_printf(std::string_view format, PrintfArguments arguments, uint64_t limit);

}  // namespace strata::emu
