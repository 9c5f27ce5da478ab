#pragma once
#include <type_traits>

#include "strata/asm/emu/machine/simd.h"
#include "strata/asm/emu/vector/operation.h"

// From a function on scalars to an operation on 32 lanes: the operand kinds follow from its signature.
namespace strata::emu::STRATA_EMU_VARIANT {

struct Half {
    uint16_t bits;
};
struct PackedHalf {
    uint32_t bits;
};
struct Packed {
    uint32_t bits;
};
struct PackedBf16 {
    uint32_t bits;
};
struct Mix {
    float value;
};
struct Bit {
    bool set;
};
struct U128 {
    uint32_t dword[4];
};
template <class T>
struct WithMask {
    T value;
    bool mask;
};

template <class T>
constexpr Kind kind_of = Kind::none;
template <>
inline constexpr Kind kind_of<Half> = Kind::f16;
template <>
inline constexpr Kind kind_of<float> = Kind::f32;
template <>
inline constexpr Kind kind_of<double> = Kind::f64;
template <>
inline constexpr Kind kind_of<uint16_t> = Kind::u16;
template <>
inline constexpr Kind kind_of<uint32_t> = Kind::u32;
template <>
inline constexpr Kind kind_of<uint64_t> = Kind::u64;
template <>
inline constexpr Kind kind_of<int16_t> = Kind::i16;
template <>
inline constexpr Kind kind_of<int32_t> = Kind::i32;
template <>
inline constexpr Kind kind_of<int64_t> = Kind::i64;
template <>
inline constexpr Kind kind_of<PackedHalf> = Kind::pk_f16;
template <>
inline constexpr Kind kind_of<Packed> = Kind::pk_u16;
template <>
inline constexpr Kind kind_of<PackedBf16> = Kind::bf16x2;
template <>
inline constexpr Kind kind_of<Mix> = Kind::mix;
template <>
inline constexpr Kind kind_of<U128> = Kind::u128;
template <>
inline constexpr Kind kind_of<Bit> = Kind::mask;

template <class T>
struct Result_ {
    using Value = T;
    static constexpr bool mask = false;
};
template <class T>
struct Result_<WithMask<T>> {
    using Value = T;
    static constexpr bool mask = true;
};
template <>
struct Result_<bool> {
    using Value = void;
    static constexpr bool mask = true;
};

template <class T>
STRATA_EMU_INLINE T lane_value(const Lanes& x, const uint32_t* const* rows, int lane) {
    if constexpr (kind_of<T> == Kind::mask) {
        return T{(x.mask_in >> lane & 1) != 0};
    } else if constexpr (kind_of<T> == Kind::u128) {
        return T{{rows[0][lane], rows[1][lane], rows[2][lane], rows[3][lane]}};
    } else if constexpr (is_64bit(kind_of<T>)) {
        return __builtin_bit_cast(T, rows[0][lane] | uint64_t{rows[1][lane]} << 32);
    } else if constexpr (is_16bit(kind_of<T>)) {
        return __builtin_bit_cast(T, static_cast<uint16_t>(rows[0][lane]));
    } else {
        return __builtin_bit_cast(T, rows[0][lane]);
    }
}

template <class T>
STRATA_EMU_INLINE void put_value(uint32_t* const* rows, int lane, const T& value) {
    if constexpr (kind_of<T> == Kind::u128) {
        for (int i = 0; i < 4; ++i) rows[i][lane] = value.dword[i];
    } else if constexpr (is_64bit(kind_of<T>)) {
        const auto x = __builtin_bit_cast(uint64_t, value);
        rows[0][lane] = static_cast<uint32_t>(x);
        rows[1][lane] = static_cast<uint32_t>(x >> 32);
    } else if constexpr (is_16bit(kind_of<T>)) {
        rows[0][lane] = __builtin_bit_cast(uint16_t, value);
    } else {
        rows[0][lane] = __builtin_bit_cast(uint32_t, value);
    }
}

/// Runs f(lane) -> R for 32 lanes and puts value and mask bit away.
template <class R, class F>
STRATA_EMU_INLINE void run_lanes(Lanes& x, F&& f) {
    uint32_t* const dst[4] = {x.dst[0], x.dst[1], x.dst[2], x.dst[3]};
    if constexpr (!Result_<R>::mask) {
        STRATA_EMU_LANE_LOOP
        for (int lane = 0; lane < kLanes; ++lane) put_value(dst, lane, f(lane));
    } else {
        alignas(64) uint32_t bit[kLanes];
        STRATA_EMU_LANE_LOOP
        for (int lane = 0; lane < kLanes; ++lane) {
            if constexpr (std::is_same_v<R, bool>) {
                bit[lane] = f(lane) ? ~0u : 0;
            } else {
                const R r = f(lane);
                put_value(dst, lane, r.value);
                bit[lane] = r.mask ? ~0u : 0;
            }
        }
        x.mask_out = collect(as_signed(load(bit)));
    }
}

template <int... I>
struct Indices {};

template <class R, class... A>
struct SignatureOf {
    static constexpr Signature signature(LaneFunction function) {
        Signature s;
        s.function = function;
        s.sources = sizeof...(A);
        int i = 0;
        ((s.src[i++] = kind_of<A>), ...);
        s.dst = kind_of<typename Result_<R>::Value>;
        s.writes_mask = Result_<R>::mask;
        return s;
    }
};

template <class F, F fn, class Sequence>
struct LaneKernel;

template <class R, class... A, R (*fn)(A...), int... I>
struct LaneKernel<R (*)(A...), fn, Indices<I...>> {
    static void run(Lanes& x) {
        const Lanes in = x;
        run_lanes<R>(x, [&](int lane) STRATA_LAMBDA_INLINE { return fn(lane_value<A>(in, in.src[I], lane)...); });
    }
    static constexpr Signature signature = SignatureOf<R, A...>::signature(&run);
};
template <class R, class... A, R (*fn)(const Context&, A...), int... I>
struct LaneKernel<R (*)(const Context&, A...), fn, Indices<I...>> {
    static void run(Lanes& x) {
        const Lanes in = x;
        run_lanes<R>(
            x, [&](int lane) STRATA_LAMBDA_INLINE { return fn(in.context, lane_value<A>(in, in.src[I], lane)...); });
    }
    static constexpr Signature signature = SignatureOf<R, A...>::signature(&run);
};

}  // namespace strata::emu::STRATA_EMU_VARIANT
