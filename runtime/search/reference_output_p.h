#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/buffer.h"

namespace strata::runtime {

/// The contents of a kernel's output, whichever schedule computes it. The output is poisoned, so that what a launch did
/// not write is known.
class ReferenceOutput {
  public:
    /// How much of an output launches write: of a part the rest should take no memory.
    enum class Extent : uint8_t { whole, part };

    ReferenceOutput(Buffer& output, Extent written);
    /// Where what is right is computed; poisoned. Of a part that is the output itself.
    Buffer& right();
    /// Takes the values of right() as right from now on, and poisons the output. Of a part: where it was poison nothing
    /// is known.
    void take();
    /// Compares what a launch left, and poisons it again where something is known. Empty, or what is wrong: sums of
    /// floats may differ by what another order makes of them; nothing: none of what was written is known. `partly`:
    /// what was not written is no mistake.
    std::optional<std::string> difference(bool partly);

  private:
    struct Worst {
        double off = 0;
        bool kinds = true;  ///< infinities and NaN are where they should be
        size_t written = 0, missing = 0;
    };

    /// Bytes of the output of which something is known: whole chunks. `at`: of right_bytes_, where what is right
    /// starts.
    struct Known {
        size_t from, to, at;
    };
    void find_known(std::span<const uint8_t> written);
    std::span<const uint8_t> right_of(const Known& known) const {
        return right_bytes_.subspan(known.at, known.to - known.from);
    }
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
    std::unique_ptr<Buffer> right_;  ///< none of a part
    std::span<const uint8_t> right_bytes_;
    std::vector<Known> known_;
    std::optional<double> most_;  ///< the largest value of what is right, once it was asked for
    std::vector<uint8_t> right_copy_, copy_;
};

}  // namespace strata::runtime
