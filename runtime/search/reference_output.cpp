// The reference output of a kernel that is searched.
#include "strata/runtime/search/reference_output_p.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace strata::runtime {
namespace {

constexpr uint8_t kPoison = 0xa5;
constexpr size_t kPage = 4096;                  // of the host
constexpr size_t kChunk = kPage, kPiece = 128;  // bytes that are looked at together; of a chunk with different ones

std::span<const uint8_t> poison() {
    static const std::vector<uint8_t> bytes(kPage, kPoison);
    return bytes;
}

bool is_same(std::span<const uint8_t> a, std::span<const uint8_t> b) {
    return std::memcmp(a.data(), b.data(), a.size()) == 0;
}
bool is_poison(std::span<const uint8_t> bytes) { return is_same(bytes, poison()); }

/// Pages of memory that shows those of a file: whether each was written, and is this process's own since. All are where
/// the system does not say (proc(5), pagemap).
std::vector<bool> own_pages(std::span<const uint8_t> memory) {
    constexpr uint64_t kIsThere = uint64_t{3} << 62, kOfFile = uint64_t{1} << 61;
    const auto first = reinterpret_cast<uintptr_t>(memory.data()) / kPage,
               end = (reinterpret_cast<uintptr_t>(memory.data()) + memory.size() + kPage - 1) / kPage;
    std::vector<uint64_t> entries(end - first);
    const size_t bytes = entries.size() * sizeof entries[0];
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const bool said = file >= 0 && pread(file, entries.data(), bytes, static_cast<off_t>(first * sizeof entries[0])) ==
                                       static_cast<ssize_t>(bytes);
    if (file >= 0) close(file);
    std::vector<bool> own(entries.size(), true);
    for (size_t i = 0; said && i < own.size(); ++i) own[i] = entries[i] & kIsThere && !(entries[i] & kOfFile);
    return own;
}

/// Largest difference that a reordered sum may make, relative to the largest value of the result.
double tolerance(DType type) {
    if (!type.is_float()) return 0;
    return 16 * std::sqrt(1024.0) * std::ldexp(1.0, -type.mantissa_bits() - 1);
}

void put_poison(Buffer& buffer, size_t offset, size_t bytes) {
    Device& device = buffer.device();
    device.api().memset(device.ordinal(), buffer.address() + offset, kPoison, bytes).value();
}

/// A launch of a part writes few pages: the others show poison that takes no memory.
void poison_all(Buffer& buffer, ReferenceOutput::Extent written) {
    if (written == ReferenceOutput::Extent::part && !buffer.allocated() && buffer.device().api().malloc_repeated)
        buffer.repeat(poison());
    else
        put_poison(buffer, 0, buffer.bytes());
}

}  // namespace

ReferenceOutput::ReferenceOutput(Buffer& output, Extent written)
    : output_(output), written_(written), width_(static_cast<size_t>(output.dtype().bytes())) {
    poison_all(output_, written);
}

std::span<uint8_t> ReferenceOutput::contents(Buffer& buffer, std::vector<uint8_t>& copy) {
    if (auto* const seen = static_cast<uint8_t*>(buffer.host_view())) return {seen, buffer.bytes()};
    copy.resize(buffer.bytes());
    buffer.copy_out(copy.data(), copy.size());
    return copy;
}

double ReferenceOutput::value(std::span<const uint8_t> bytes, size_t element) const {
    if (output_.dtype() == dtypes::float32) {
        float x = 0;
        std::memcpy(&x, &bytes[element * sizeof x], sizeof x);
        return x;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[element * width_], width_);
    return decode_scalar(output_.dtype(), bits);
}

Buffer& ReferenceOutput::right() {
    if (written_ == Extent::part) return output_;
    if (!right_) right_ = std::make_unique<Buffer>(output_.device(), output_.dtype(), output_.size());
    poison_all(*right_, written_);
    return *right_;
}

void ReferenceOutput::take() {
    most_.reset();
    known_.clear();
    if (written_ == Extent::whole) {
        right_bytes_ = contents(*right_, right_copy_);
        known_.push_back({0, right_bytes_.size(), 0});
        return;
    }
    const std::span<const uint8_t> written = contents(output_, copy_);
    find_known(written);
    size_t bytes = 0;
    for (const Known& known : known_) bytes += known.to - known.from;
    right_copy_.clear();
    right_copy_.reserve(bytes);
    for (Known& known : known_) {
        known.at = right_copy_.size();
        right_copy_.insert(right_copy_.end(), &written[known.from], &written[known.from] + (known.to - known.from));
        poison_output(known.from, known.to);
    }
    right_bytes_ = right_copy_;
}

void ReferenceOutput::find_known(std::span<const uint8_t> written) {
    const std::vector<bool> own = own_pages(written);
    const size_t in_page = reinterpret_cast<uintptr_t>(written.data()) % kPage;
    for (size_t from = 0; from < written.size(); from += kChunk) {
        const size_t bytes = std::min(kChunk, written.size() - from);
        const bool is_own = own[(in_page + from) / kPage] || own[(in_page + from + bytes - 1) / kPage];
        if (!is_own || is_poison(written.subspan(from, bytes))) continue;
        if (!known_.empty() && known_.back().to == from)
            known_.back().to += bytes;
        else
            known_.push_back({from, from + bytes, 0});
    }
}

double ReferenceOutput::most() {
    if (most_) return *most_;
    most_ = 0;
    for (size_t i = 0; i < right_bytes_.size() / width_; ++i)
        if (is_known(right_bytes_.subspan(i * width_, width_)))
            if (const double x = std::fabs(value(right_bytes_, i)); std::isfinite(x)) most_ = std::max(*most_, x);
    return *most_;
}

/// True if any of it is.
bool ReferenceOutput::is_known(std::span<const uint8_t> right) const {
    return written_ == Extent::whole || !is_poison(right);
}

void ReferenceOutput::compare_elements(std::span<const uint8_t> got, std::span<const uint8_t> right,
                                       Worst& worst) const {
    for (size_t i = 0; i < got.size() / width_; ++i) {
        if (!is_known(right.subspan(i * width_, width_))) continue;
        const bool same = is_same(got.subspan(i * width_, width_), right.subspan(i * width_));
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

bool ReferenceOutput::compare(std::span<const uint8_t> got, std::span<const uint8_t> right, bool partly,
                              Worst& worst) const {
    if (is_poison(got) && (partly || !is_same(got, right))) {
        worst.missing += got.size() / width_;
        return false;
    }
    if (got.size() <= kPiece && !is_known(right)) return true;
    if (is_same(got, right))
        worst.written += got.size() / width_;
    else if (got.size() <= kPiece)
        compare_elements(got, right, worst);
    else
        for (size_t from = 0; from < got.size(); from += kPiece) {
            const size_t bytes = std::min(kPiece, got.size() - from);
            compare(got.subspan(from, bytes), right.subspan(from, bytes), partly, worst);
        }
    return true;
}

void ReferenceOutput::poison_output(size_t from, size_t to) {
    if (from < to) put_poison(output_, from, to - from);
}

std::optional<std::string> ReferenceOutput::difference(bool partly) {
    const std::span<uint8_t> now = contents(output_, copy_);
    Worst worst;
    for (const Known& known : known_) {
        size_t written_from = known.from;
        for (size_t from = known.from; from < known.to; from += kChunk) {
            const size_t bytes = std::min(kChunk, known.to - from);
            if (compare(now.subspan(from, bytes), right_of(known).subspan(from - known.from, bytes), partly, worst))
                continue;
            poison_output(written_from, from);
            written_from = from + bytes;
        }
        poison_output(written_from, known.to);
    }
    if (written_ == Extent::part && !worst.written) return {};
    if (partly && !worst.written && is_same(now, right_bytes_)) return "";  // what is right looks like poison
    if (worst.missing && (!partly || !worst.written))
        return fmt::format("wrong result: {} of {} elements are not written", worst.missing, output_.size());
    if (worst.off == 0 && worst.kinds) return "";
    if (worst.kinds && worst.off <= most() * tolerance(output_.dtype())) return "";
    return fmt::format("wrong result: off by {:g} where values reach {:g}", worst.off, most());
}

}  // namespace strata::runtime
