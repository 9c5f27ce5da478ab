#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access.h"
#include "rounded.h"

// A model of memory instructions on one lane's registers and bytes, written from the operation descriptions of the
// RDNA3, RDNA4 and CDNA3 documents. The mnemonic says all; families differ in spelling.
namespace strata::emu::harness {

struct AtomicInput {
    uint64_t old, data, second;
    bool flush = false;  ///< single-precision denormals of sources and result become zeros
};

/// Minimum and maximum prefer a number to a quiet NaN. RDNA4's document says so; the older ones compare by `<` and `>`
/// alone. LLVM makes atomicrmw fmin and fmax, its minnum and maxnum, into these instructions on all. Of two NaN data is
/// taken (RDNA4; elsewhere either may be).
template <class T>
bool takes_data(const Access& a, T old, T data) {
    if (std::isnan(old) || std::isnan(data)) return std::isnan(old);
    return a.op == "min" ? data < old : data > old;
}

inline uint64_t combine_float(const Access& a, const AtomicInput& in) {
    if (a.bytes == 8) {
        const auto x = std::bit_cast<double>(in.old), y = std::bit_cast<double>(in.data),
                   z = std::bit_cast<double>(in.second);
        if (a.op == "add") return std::bit_cast<uint64_t>(x + y);
        if (a.op == "cmpswap") return x == z ? in.data : in.old;
        return takes_data(a, x, y) ? in.data : in.old;
    }
    auto source = [&](uint64_t bits) {
        const double value = exact_value(static_cast<uint32_t>(bits), kSingle);
        return in.flush && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
    };
    const double x = source(in.old), y = source(in.data);
    if (a.op == "add") {
        double sum = fused_to_odd(x, 1, y);
        if (sum == 0 && std::signbit(x) != std::signbit(y)) sum = 0.0;
        return rounded(sum, kSingle, Rounding::nearest, !in.flush);
    }
    if (a.op == "cmpswap") return x == source(in.second) ? in.data : in.old;
    return takes_data(a, x, y) ? in.data : in.old;
}

/// The new value in memory.
inline uint64_t combine(const Access& a, const AtomicInput& in) {
    const uint64_t mask = a.bytes == 8 ? ~0ull : (1ull << (8 * a.bytes)) - 1;
    const uint64_t old = in.old, data = in.data;
    auto number = [&](uint64_t bits) {
        return a.bytes == 8 ? static_cast<int64_t>(bits) : int64_t{static_cast<int32_t>(bits)};
    };
    if (a.op == "pk_add") {
        const FloatFormat f = a.type == 'n' ? kBrain : kHalf;
        auto half = [&](int shift) -> uint64_t {
            const auto x = static_cast<uint32_t>(old >> shift & 0xffff),
                       y = static_cast<uint32_t>(data >> shift & 0xffff);
            const double sum = exact_value(x, f) + exact_value(y, f);  // sixteen bits that are near: exact
            return uint64_t{rounded(sum, f, Rounding::nearest)} << shift;
        };
        return half(0) | half(16);
    }
    if (a.type == 'f' && a.op != "swap") return combine_float(a, in);
    if (a.op == "add") return (old + data) & mask;
    if (a.op == "sub") return (old - data) & mask;
    if (a.op == "rsub") return (data - old) & mask;
    if (a.op == "inc") return old >= data ? 0 : old + 1;
    if (a.op == "dec") return old == 0 || old > data ? data : old - 1;
    if (a.op == "min" && a.type == 'i') return number(data) < number(old) ? data : old;
    if (a.op == "max" && a.type == 'i') return number(data) < number(old) ? old : data;
    if (a.op == "min") return std::min(old, data);
    if (a.op == "max") return std::max(old, data);
    if (a.op == "and") return old & data;
    if (a.op == "or") return old | data;
    if (a.op == "xor") return old ^ data;
    if (a.op == "swap") return data;
    if (a.op == "cmpswap") return old == in.second ? data : old;
    if (a.op == "csub") return old < data ? 0 : old - data;
    if (a.op == "cond_sub") return old >= data ? old - data : old;
    if (a.op == "mskor") return (old & ~data) | in.second;
    return (old >= data ? old - data : old + in.second) & mask;  // wrap
}

/// Bytes of one memory; what lies outside reads 0 and takes no stores.
class Bytes {
  public:
    explicit Bytes(std::vector<uint8_t>& all) : Bytes(all, all.size()) {}
    Bytes(std::vector<uint8_t>& all, size_t size) : all_(all), size_(size) {}
    uint64_t get(uint64_t at, int bytes) const {
        uint64_t value = 0;
        if (at + static_cast<uint64_t>(bytes) <= size_) memcpy(&value, all_.data() + at, static_cast<size_t>(bytes));
        return value;
    }
    void put(uint64_t at, int bytes, uint64_t value) {
        if (at + static_cast<uint64_t>(bytes) <= size_) memcpy(all_.data() + at, &value, static_cast<size_t>(bytes));
    }

  private:
    std::vector<uint8_t>& all_;
    size_t size_;
};

/// One lane's registers: a row's dword.
using Lane = std::function<uint32_t&(int)>;

inline uint64_t read_value(const Lane& lane, int row, int bytes) {
    uint64_t value = lane(row);
    if (bytes == 8) value |= uint64_t{lane(row + 1)} << 32;
    return value;
}

/// Performs `a` at `at`. Rows: of the destination, of the data, of the second data (or comparison).
inline void perform(const Access& a, Bytes memory, uint64_t at, const Lane& lane, int dst, int data, int second,
                    bool flush = false) {
    if (a.kind == Access::load) {
        if (a.bytes >= 4) {
            for (int row = 0; row < a.rows(); ++row)
                lane(dst + row) = static_cast<uint32_t>(memory.get(at + 4 * static_cast<uint64_t>(row), 4));
            return;
        }
        uint64_t value = memory.get(at, a.bytes);
        if (a.is_signed && value >> (8 * a.bytes - 1)) value |= ~0ull << (8 * a.bytes);
        uint32_t& to = lane(dst);
        if (a.part == Access::low)
            to = (to & 0xffff0000) | (value & 0xffff);
        else if (a.part == Access::high)
            to = (to & 0xffff) | static_cast<uint32_t>(value) << 16;
        else
            to = static_cast<uint32_t>(value);
        return;
    }
    if (a.kind == Access::store) {
        if (a.bytes < 4) return memory.put(at, a.bytes, lane(data) >> (a.part == Access::high ? 16 : 0));
        for (int row = 0; row < a.rows(); ++row) memory.put(at + 4 * static_cast<uint64_t>(row), 4, lane(data + row));
        return;
    }
    AtomicInput in{memory.get(at, a.bytes), read_value(lane, data, a.bytes), read_value(lane, second, a.bytes), flush};
    if (a.compare_first) std::swap(in.data, in.second);
    memory.put(at, a.bytes, combine(a, in));
    if (!a.returns) return;
    lane(dst) = static_cast<uint32_t>(in.old);
    if (a.bytes == 8) lane(dst + 1) = static_cast<uint32_t>(in.old >> 32);
}

}  // namespace strata::emu::harness
