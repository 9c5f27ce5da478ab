#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace strata::isa {

/// Reads little-endian values in order. A read past the end gives zero and sets failed(), so that a caller checks once
/// after a group of reads instead of after each.
class ByteReader {
  public:
    explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    bool failed() const { return failed_; }
    bool done() const { return failed_ || at_ == bytes_.size(); }
    size_t position() const { return at_; }
    size_t remaining() const { return bytes_.size() - at_; }

    template <class T>
    T fixed() {
        T value{};
        std::span<const uint8_t> from = take(sizeof(T));
        if (!from.empty()) std::memcpy(&value, from.data(), sizeof(T));
        return value;
    }
    uint64_t unsigned_of(size_t size) {
        uint64_t value = 0;
        std::span<const uint8_t> from = take(size);
        if (size <= 8 && !from.empty()) std::memcpy(&value, from.data(), size);
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0; !failed_; shift += 7) {
            const uint8_t byte = fixed<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (!(byte & 0x80)) break;
        }
        return value;
    }
    int64_t sleb() {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = fixed<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            shift += 7;
        } while (byte & 0x80 && !failed_);
        if (shift < 64 && byte & 0x40) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
    }
    std::string_view string() {
        const char* start = reinterpret_cast<const char*>(bytes_.data()) + at_;
        const void* end = remaining() ? std::memchr(start, 0, remaining()) : nullptr;
        if (failed_ || !end) return fail(), std::string_view{};
        std::string_view text(start, static_cast<size_t>(static_cast<const char*>(end) - start));
        at_ += text.size() + 1;
        return text;
    }
    std::span<const uint8_t> take(uint64_t size) {
        if (failed_ || size > remaining()) return fail(), std::span<const uint8_t>{};
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }

  private:
    void fail() {
        failed_ = true;
        at_ = bytes_.size();
    }
    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    bool failed_ = false;
};

}  // namespace strata::isa
