#include "strata/runtime/expected_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace strata::runtime {
namespace {

constexpr uint8_t kPoison = 0xa5;
constexpr size_t kChunk = 4096;  // bytes that are looked at together

const std::vector<uint8_t>& poison() {
    static const std::vector<uint8_t> bytes(kChunk, kPoison);
    return bytes;
}

bool is_poison(std::span<const uint8_t> bytes) { return std::memcmp(bytes.data(), poison().data(), bytes.size()) == 0; }

/// Largest difference that a reordered sum may make, relative to the largest value of the result.
double tolerance(DType type) {
    if (!type.is_float()) return 0;
    return 16 * std::sqrt(1024.0) * std::ldexp(1.0, -type.mantissa_bits() - 1);
}

void memset_output(Buffer& output, size_t offset, size_t bytes) {
    Device& device = output.device();
    device.api().memset(device.ordinal(), output.address() + offset, kPoison, bytes).value();
}

}  // namespace

Expected::Expected(Buffer& output) : output_(output), width_(static_cast<size_t>(output.dtype().bytes())) {
    memset_output(output_, 0, output_.bytes());
}

std::span<uint8_t> Expected::contents() {
    if (auto* const seen = static_cast<uint8_t*>(output_.host_view())) return {seen, output_.bytes()};
    copy_.resize(output_.bytes());
    output_.copy_out(copy_.data(), copy_.size());
    return copy_;
}

double Expected::value(std::span<const uint8_t> bytes, size_t element) const {
    if (output_.dtype() == dtypes::float32) {
        float x = 0;
        std::memcpy(&x, &bytes[element * sizeof x], sizeof x);
        return x;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[element * width_], width_);
    return decode_scalar(output_.dtype(), bits);
}

void Expected::take() {
    const std::span<uint8_t> now = contents();
    right_.assign(now.begin(), now.end());
    most_ = 0;
    for (size_t i = 0; i < right_.size() / width_; ++i)
        if (const double x = std::fabs(value(right_, i)); std::isfinite(x)) most_ = std::max(most_, x);
    memset_output(output_, 0, output_.bytes());
}

void Expected::compare(std::span<const uint8_t> got, size_t from, Worst& worst) const {
    const std::span<const uint8_t> right = std::span(right_).subspan(from, got.size());
    for (size_t i = 0; i < got.size() / width_; ++i) {
        const bool same = std::memcmp(&got[i * width_], &right[i * width_], width_) == 0;
        if (!same && is_poison(got.subspan(i * width_, width_))) {
            ++worst.missing;
            continue;
        }
        ++worst.written;
        if (same) continue;
        const double x = value(got, i), wanted = value(right, i);
        if (std::isfinite(wanted) && std::isfinite(x))
            worst.off = std::max(worst.off, std::fabs(x - wanted));
        else
            worst.kinds &= x == wanted || (std::isnan(x) && std::isnan(wanted));
    }
}

std::string Expected::difference(bool partly) {
    const std::span<uint8_t> now = contents();
    Worst worst;
    for (size_t from = 0; from < now.size(); from += kChunk) {
        const std::span<const uint8_t> got = now.subspan(from, std::min(kChunk, now.size() - from));
        if (std::memcmp(got.data(), &right_[from], got.size()) == 0) {
            worst.written += got.size() / width_;
        } else if (is_poison(got)) {
            worst.missing += got.size() / width_;
            continue;
        } else {
            compare(got, from, worst);
        }
        memset_output(output_, from, got.size());
    }
    if (worst.missing && (!partly || !worst.written))
        return fmt::format("wrong result: {} of {} elements are not written", worst.missing, output_.size());
    if (worst.kinds && worst.off <= most_ * tolerance(output_.dtype())) return {};
    return fmt::format("wrong result: off by {:g} where values reach {:g}", worst.off, most_);
}

}  // namespace strata::runtime
