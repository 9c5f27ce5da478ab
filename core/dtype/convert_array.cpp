#include <array>
#include <bit>
#include <cstring>

#include "strata/core/dtype/dtype.h"
#include "strata/core/dtype/float_format_p.h"
#include "strata/core/support/error.h"

namespace strata {
namespace {

// Two element types meet in one of two middle types, int64 (uint64 by bits) or double; every type knows how to load
// into the middle and how to store from it.
constexpr size_t kBlock = 256;

template <class Bits>
Bits read(const void* from, size_t i) {
    Bits value;
    std::memcpy(&value, static_cast<const char*>(from) + i * sizeof(Bits), sizeof(Bits));
    return value;
}
template <class Bits>
void write(void* to, size_t i, Bits value) {
    std::memcpy(static_cast<char*>(to) + i * sizeof(Bits), &value, sizeof(Bits));
}

template <int bits, bool is_signed>
struct StorageOf;
template <>
struct StorageOf<8, false> {
    using type = uint8_t;
};
template <>
struct StorageOf<8, true> {
    using type = int8_t;
};
template <>
struct StorageOf<16, false> {
    using type = uint16_t;
};
template <>
struct StorageOf<16, true> {
    using type = int16_t;
};
template <>
struct StorageOf<32, false> {
    using type = uint32_t;
};
template <>
struct StorageOf<32, true> {
    using type = int32_t;
};
template <>
struct StorageOf<64, false> {
    using type = uint64_t;
};
template <>
struct StorageOf<64, true> {
    using type = int64_t;
};

template <Scalar scalar, Kind kind, int bits>
struct Element {
    using Stored = typename StorageOf<bits, kind == Kind::Int>::type;
    static constexpr FloatFormat format = float_format(scalar);

    static void load_ints(int64_t* middle, const void* from, size_t n) {
        for (size_t i = 0; i < n; i++) {
            auto held = static_cast<int64_t>(read<Stored>(from, i));
            middle[i] = kind == Kind::Bool ? held != 0 : held;
        }
    }
    static void store_ints(void* to, const int64_t* middle, size_t n) {
        for (size_t i = 0; i < n; i++)
            write(to, i, static_cast<Stored>(kind == Kind::Bool ? middle[i] != 0 : middle[i]));
    }
    static void load_doubles(double* middle, const void* from, size_t n) {
        if constexpr (kind != Kind::Float) return;
        for (size_t i = 0; i < n; i++)
            middle[i] =
                bits == 32 ? read<float>(from, i) : decode_float(format, static_cast<uint64_t>(read<Stored>(from, i)));
    }
    static void store_doubles(void* to, const double* middle, size_t n) {
        for (size_t i = 0; i < n; i++) {
            if constexpr (kind != Kind::Float)
                write(to, i, static_cast<Stored>(float_to_int(scalar, middle[i])));
            else if constexpr (bits == 32)
                write(to, i, static_cast<float>(middle[i]));
            else
                write(to, i, static_cast<Stored>(encode_float(format, middle[i])));
        }
    }
};

struct Row {
    void (*load_ints)(int64_t*, const void*, size_t);
    void (*store_ints)(void*, const int64_t*, size_t);
    void (*load_doubles)(double*, const void*, size_t);
    void (*store_doubles)(void*, const double*, size_t);
};
constexpr Row rows[] = {
#define DTYPE(name, kind, bits, ...)                                                                          \
    {Element<Scalar::name, Kind::kind, bits>::load_ints, Element<Scalar::name, Kind::kind, bits>::store_ints, \
     Element<Scalar::name, Kind::kind, bits>::load_doubles, Element<Scalar::name, Kind::kind, bits>::store_doubles},
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
};

void convert_block(DType to, void* target, DType from, const void* source, size_t n) {
    const Row& reader = rows[static_cast<size_t>(from.scalar)];
    const Row& writer = rows[static_cast<size_t>(to.scalar)];
    if (from.is_float()) {
        std::array<double, kBlock> middle;
        reader.load_doubles(middle.data(), source, n);
        writer.store_doubles(target, middle.data(), n);
        return;
    }
    std::array<int64_t, kBlock> middle;
    reader.load_ints(middle.data(), source, n);
    if (!to.is_float()) return writer.store_ints(target, middle.data(), n);
    std::array<double, kBlock> rounded;
    for (size_t i = 0; i < n; i++) rounded[i] = int_to_float(to, middle[i], from.is_unsigned());
    writer.store_doubles(target, rounded.data(), n);
}

}  // namespace

void convert_array(DType to, void* target, DType from, const void* source, size_t count) {
    STRATA_CHECK(to.scalar < Scalar::index && from.scalar < Scalar::index, "convert {} to {}", from.name(), to.name());
    if (count == 0) return;
    const auto width = static_cast<size_t>(to.element().bytes()), step = static_cast<size_t>(from.element().bytes());
    if (to.scalar == from.scalar) {
        std::memcpy(target, source, count * width);
        return;
    }
    for (size_t done = 0; done < count; done += kBlock)
        convert_block(to, static_cast<char*>(target) + done * width, from,
                      static_cast<const char*>(source) + done * step, std::min(kBlock, count - done));
}

}  // namespace strata
