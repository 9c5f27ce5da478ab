#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/buffer.h"

namespace strata::runtime {

/// What the output of a kernel holds, whichever schedule computes it. The output is poisoned, so that what a launch did not
/// write is known.
class Expected {
  public:
    explicit Expected(Buffer& output);
    /// Takes what the output holds now as right, and poisons it.
    void take();
    /// Compares what a launch left, and poisons it again. Empty, or what is wrong: sums of floats may differ by what another
    /// order makes of them. `partly`: what was not written is no mistake.
    std::string difference(bool partly);

  private:
    struct Worst {
        double off = 0;
        bool kinds = true;  ///< infinities and NaN are where they should be
        size_t written = 0, missing = 0;
    };

    void compare(std::span<const uint8_t> got, size_t from, Worst& worst) const;
    double value(std::span<const uint8_t> bytes, size_t element) const;
    std::span<uint8_t> contents();

    Buffer& output_;
    size_t width_;
    double most_ = 0;
    std::vector<uint8_t> right_, copy_;  ///< copy_: of memory that the host does not see
};

}  // namespace strata::runtime
