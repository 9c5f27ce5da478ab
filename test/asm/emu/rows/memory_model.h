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

#include "rounded.h"

// What memory instructions do to one lane's registers and bytes, written from the operation descriptions of the RDNA3,
// RDNA4 and CDNA3 documents. The mnemonic says all; families differ in spelling.
namespace strata::emu::testing {

struct Access {
    enum Kind : uint8_t { load, store, atomic } kind = load;
    int bytes = 4;  ///< of one element; of the whole value for 4 and more
    bool is_signed = false, returns = false;
    enum Part : uint8_t { whole, low, high } part = whole;  ///< d16: which half of the register
    char type = 'b';                                        ///< of atomics: b u i f, h and n (packed half and bfloat)
    std::string op;                                         ///< of atomics: "add", "min", "cmpswap", ...
    bool compare_first = false;                             ///< ds_cmpst: the comparison is the first data operand
    bool two = false, stride64 = false, thread_addresses = false, to_local = false;
    int rows() const { return std::max(1, bytes / 4); }
};

/// The access that the part of a mnemonic behind its unit's prefix names; nothing for one that is more than that.
inline std::optional<Access> parse_access(std::string_view text, bool local) {
    Access a;
    bool known = false, typed = false;
    std::string name;
    auto type = [&](std::string_view token) {
        static constexpr std::pair<std::string_view, std::string_view> kOld[] = {
            {"dword", "b32"},    {"dwordx2", "b64"},   {"dwordx3", "b96"}, {"dwordx4", "b128"},
            {"dwordx8", "b256"}, {"dwordx16", "b512"}, {"ubyte", "u8"},    {"sbyte", "i8"},
            {"byte", "b8"},      {"ushort", "u16"},    {"sshort", "i16"},  {"short", "b16"}};
        for (auto [old, now] : kOld)
            if (token == old) token = now;
        if (token == "x2") return a.bytes = 8, typed = true;
        if (token == "bf16") return a.type = 'n', a.bytes = 4, typed = true;
        const bool letter = token.size() > 1 && std::string_view("buif").find(token[0]) != token.npos;
        if (!letter || token.find_first_not_of("0123456789", 1) != token.npos) return false;
        a.type = token[0];
        a.is_signed = token[0] == 'i';
        a.bytes = std::atoi(std::string(token.substr(1)).c_str()) / 8;
        return typed = true;
    };
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('_', at), text.size());
        const std::string_view token = text.substr(at, end - at);
        at = end + 1;
        const bool first = !known;
        known = true;
        if (first && (token == "load" || token == "read"))
            a.kind = Access::load;
        else if (first && local && (token == "read2" || token == "read2st64"))
            a.two = true, a.stride64 = token != "read2";
        else if (first && (token == "store" || token == "write"))
            a.kind = Access::store;
        else if (first && local && (token == "write2" || token == "write2st64"))
            a.kind = Access::store, a.two = true, a.stride64 = token != "write2";
        else if (first && token == "atomic" && !local)
            a.kind = Access::atomic;
        else if (token == "2addr")
            a.two = true;
        else if (token == "stride64")
            a.stride64 = true;
        else if (token == "rtn")
            a.returns = true;
        else if (token == "addtid")
            a.thread_addresses = true;
        else if (token == "lds")
            a.to_local = true;
        else if (token == "d16")
            a.part = a.part == Access::high ? Access::high : Access::low;
        else if (token == "hi")
            a.part = Access::high;
        else if (!type(token)) {
            if (first && local) a.kind = Access::atomic;
            name += (name.empty() ? "" : "_") + std::string(token);
        }
    }
    if (a.kind != Access::atomic) {
        if (!name.empty() || !typed) return {};
        return a;
    }
    if (a.type == 'f' && a.bytes == 2) a.type = 'h', a.bytes = 4;
    if (name == "smin" || name == "smax") a.type = 'i', name.erase(0, 1);
    if (name == "umin" || name == "umax") a.type = 'u', name.erase(0, 1);
    if (name == "min_num" || name == "max_num") name.resize(3);
    if (name == "sub_clamp") name = "csub";
    if (name == "cmpst") name = "cmpswap", a.compare_first = true;
    if (name == "cmpstore") name = "cmpswap";
    if (name == "storexchg" || name == "wrxchg") name = "swap";
    if (name == "wrxchg2" || name == "wrxchg2st64") a.two = true, a.stride64 = name != "wrxchg2", name = "swap";
    static constexpr std::string_view kOps[] = {"add",  "sub",      "rsub",   "inc",   "dec",  "min",
                                                "max",  "and",      "or",     "xor",   "swap", "cmpswap",
                                                "csub", "cond_sub", "pk_add", "mskor", "wrap"};
    if (std::find(std::begin(kOps), std::end(kOps), name) == std::end(kOps)) return {};
    a.op = name;
    return a;
}

struct AtomicInput {
    uint64_t old, data, second;
    bool flush = false;  ///< single-precision denormals of sources and result become zeros
};

/// Minimum and maximum prefer a number to a quiet NaN: RDNA4's document says so, the older ones compare by `<` and `>`
/// alone, and LLVM makes atomicrmw fmin and fmax, its minnum and maxnum, into these instructions on all. Of two NaN
/// data is taken (RDNA4; elsewhere either may be).
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

}  // namespace strata::emu::testing
