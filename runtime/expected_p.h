#pragma once
#include <cstdint>
#include <memory>
#include <optional>
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
    /// Memory as large as the output, where what is right is computed; poisoned.
    Buffer& right();
    /// What right() holds is right from now on.
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

    /// True: something was written.
    bool compare(std::span<const uint8_t> got, std::span<const uint8_t> right, bool partly, Worst& worst) const;
    void compare_elements(std::span<const uint8_t> got, std::span<const uint8_t> right, Worst& worst) const;
    double value(std::span<const uint8_t> bytes, size_t element) const;
    double most();
    /// The bytes of a buffer, where the host sees them, or else copied.
    static std::span<uint8_t> contents(Buffer& buffer, std::vector<uint8_t>& copy);

    Buffer& output_;
    size_t width_;
    std::unique_ptr<Buffer> right_;
    std::span<const uint8_t> right_bytes_;
    std::optional<double> most_;  ///< the largest value of what is right, once it was asked for
    std::vector<uint8_t> right_copy_, copy_;
};

}  // namespace strata::runtime
