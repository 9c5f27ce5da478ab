#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "strata/asm/emu/services/printf.h"

namespace strata::emu {

/// The text that the workgroups of a launch print, each its own, up to a number of bytes.
class Output {
  public:
    explicit Output(uint64_t limit) : limit_(limit) {}
    void add(uint64_t group, const Printed& printed);
    /// Bytes that are kept of what follows.
    uint64_t left() const { return limit_ - bytes_; }
    /// All of it, in the order of the workgroups' numbers, with a note if some was cut.
    std::string text() const;

  private:
    uint64_t limit_ = 0, bytes_ = 0, cut_ = 0;
    std::map<uint64_t, std::string> by_group_;
};

}  // namespace strata::emu
