#pragma once
#include <cstring>
#include <string>
#include <string_view>

#include "strata/core/dtype/dtype.h"

namespace strata::executable {

/// Writes values one after the other, in the host's byte order: files are read by the build that wrote them.
class Writer {
  public:
    void number(uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(std::string_view value) { number(value.size()), bytes += value; }
    void type(DType value) { number(static_cast<uint64_t>(value.scalar) << 8 | value.lanes); }
    template <class List, class Write>
    void list(const List& values, Write write) {
        number(values.size());
        for (const auto& value : values) write(value);
    }
    std::string bytes;
};

/// Reads what a Writer wrote. Of anything else the values are 0 or empty, no read goes beyond the bytes, and done() is
/// false at the end.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    uint64_t number() {
        uint64_t value = 0;
        if (rest_.size() < sizeof value) return bad();
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    uint64_t below(uint64_t limit) {
        const uint64_t value = number();
        return value < limit ? value : bad();
    }
    uint32_t word() { return static_cast<uint32_t>(below(uint64_t{1} << 32)); }
    bool flag() { return below(2) != 0; }
    std::string_view text() {
        const uint64_t size = number();
        if (size > rest_.size()) return bad(), std::string_view();
        const std::string_view value = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return value;
    }
    DType type() {
        const uint64_t value = below(static_cast<uint64_t>(Scalar::index) << 8);
        return {static_cast<Scalar>(value >> 8), static_cast<int>(value & 0xff)};
    }
    /// As many as were written, each by `read()`.
    template <class Read>
    void list(Read read) {
        for (uint64_t left = number(); left > 0 && good_; --left) read();
    }
    void check(bool holds) {
        if (!holds) bad();
    }
    bool good() const { return good_; }
    bool done() const { return good_ && rest_.empty(); }

  private:
    uint64_t bad() {
        good_ = false;
        rest_ = {};
        return 0;
    }
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace strata::executable
