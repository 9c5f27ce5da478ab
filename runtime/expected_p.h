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
    /// How much of an output launches write: of a part the rest should take no memory.
    enum class Extent : uint8_t { whole, part };

    Expected(Buffer& output, Extent written);
    /// Memory as large as the output, where what is right is computed; poisoned.
    Buffer& right();
    /// What right() holds is right from now on. Of a part: where it is poison nothing is known.
    void take();
    /// Compares what a launch left, and poisons it again where something is known. Empty, or what is wrong: sums of floats may
    /// differ by what another order makes of them; nothing: none of what was written is known. `partly`: what was not written is
    /// no mistake.
    std::optional<std::string> difference(bool partly);

  private:
    struct Worst {
        double off = 0;
        bool kinds = true;  ///< infinities and NaN are where they should be
        size_t written = 0, missing = 0;
    };

    void find_known();
    bool is_known(std::span<const uint8_t> right) const;
    void poison_output(size_t from, size_t to);
    /// True: something was written.
    bool compare(std::span<const uint8_t> got, std::span<const uint8_t> right, bool partly, Worst& worst) const;
    void compare_elements(std::span<const uint8_t> got, std::span<const uint8_t> right, Worst& worst) const;
    double value(std::span<const uint8_t> bytes, size_t element) const;
    double most();
    /// The bytes of a buffer, where the host sees them, or else copied.
    static std::span<uint8_t> contents(Buffer& buffer, std::vector<uint8_t>& copy);

    Buffer& output_;
    Extent written_;
    size_t width_;
    std::unique_ptr<Buffer> right_;
    std::span<const uint8_t> right_bytes_;
    std::vector<std::pair<size_t, size_t>> known_;  ///< pieces of right_bytes_, from and to: whole chunks
    std::optional<double> most_;                    ///< the largest value of what is right, once it was asked for
    std::vector<uint8_t> right_copy_, copy_;
};

}  // namespace strata::runtime
