#pragma once
#include <utility>

#include "strata/asm/emu/vector/half.h"
#include "strata/asm/emu/vector/lanes.h"
#include "strata/asm/emu/vector/run.h"

// Table rows of the families: a row is a mnemonic and the function that computes one lane.
#define STRATA_LANE [[maybe_unused]] static STRATA_EMU_INLINE

namespace strata::emu::STRATA_EMU_VARIANT {

template <class F>
struct IndicesOf;
template <class Sequence>
struct ToIndices;
template <int... I>
struct ToIndices<std::integer_sequence<int, I...>> {
    using Type = Indices<I...>;
};
template <class R, class... A>
struct IndicesOf<R (*)(A...)> : ToIndices<std::make_integer_sequence<int, sizeof...(A)>> {};
template <class R, class... A>
struct IndicesOf<R (*)(const Context&, A...)> : ToIndices<std::make_integer_sequence<int, sizeof...(A)>> {};

template <auto fn>
using KernelOf = LaneKernel<decltype(fn), fn, typename IndicesOf<decltype(fn)>::Type>;

constexpr bool computes_floats(const Signature& signature) {
    for (Kind kind : signature.src)
        if (is_float(kind) || kind == Kind::pk_f16 || kind == Kind::mix) return true;
    return is_float(signature.dst);
}
constexpr bool can_run_direct(const Signature& signature) {
    for (int i = 0; i < signature.sources; ++i)
        if (signature.src[i] == Kind::mix || signature.src[i] == Kind::u128) return false;
    return signature.dst != Kind::u128;
}

/// The same as `general`, with the signature known to the compiler and no modifiers but signs.
template <const Signature& signature>
const Op* direct(Wave* wave, const Op* op) {
    if constexpr (computes_floats(signature)) {
        if ((wave->mode & mode::kFloat) != mode::kPlain) [[unlikely]]
            STRATA_EMU_TAIL(general<signature>(wave, op));
    }
    [[maybe_unused]] uint32_t mask[2] = {0, 0};
    for (int half = 0; half < wave->lanes / kLanes; ++half) {
        DirectBuffers<signature.sources> buffers;
        const uint32_t exec = wave->s[isa::code::exec_lo + half];
        uint32_t live = exec;
        Lanes x;
        x.exec = exec;
        x.first_lane = static_cast<uint32_t>(kLanes * half);
        x.context = {wave->mode, false, 0, 0};
        [&]<int... i>(std::integer_sequence<int, i...>) STRATA_LAMBDA_INLINE {
            (direct_source(wave, op, i, signature.src[i], half, x, buffers.src[i < 3 ? i : 0], &live), ...);
        }(std::make_integer_sequence<int, signature.sources>());
        for (int w = 0; w < dwords(signature.dst); ++w) x.dst[w] = buffers.dst[w];
        signature.function(x);
        if constexpr (signature.writes_mask) mask[half] = x.mask_out & live;
        if constexpr (signature.dst != Kind::none) {
            uint32_t* row = place(wave, op->vector().dst) + kLanes * half;
            for (int w = 0; w < dwords(signature.dst); ++w) {
                const U32 value = load(buffers.dst[w]);
                if constexpr (is_16bit(signature.dst))
                    store_active(row, (load(row) & kept_high(op)) | (value & 0xffff), live);
                else
                    store_active(row + w * wave->lanes, value, live);
            }
        }
    }
    if constexpr (signature.writes_mask)
        for (int half = 0; half < wave->lanes / kLanes; ++half) place(wave, op->vector().dst2)[half] = mask[half];
    STRATA_EMU_NEXT;
}

template <const Signature& signature>
constexpr Handler direct_handler() {
    if constexpr (can_run_direct(signature))
        return &direct<signature>;
    else
        return nullptr;
}

template <auto fn>
constexpr ValuEntry lane_entry(std::string_view mnemonic) {
    return {mnemonic, &general<KernelOf<fn>::signature>, &KernelOf<fn>::signature,
            direct_handler<KernelOf<fn>::signature>()};
}

constexpr ValuEntry with_fast(ValuEntry entry, Handler wave32, Handler wave64) {
    entry.fast[0] = wave32, entry.fast[1] = wave64;
    return entry;
}

/// For operations that look at denormals whatever MODE says.
template <auto fn>
struct KeepsDenormals {
    static constexpr Signature make() {
        Signature s = KernelOf<fn>::signature;
        s.keeps_denormals = true;
        return s;
    }
    static constexpr Signature signature = make();
};
template <auto fn>
constexpr ValuEntry classifying_entry(std::string_view mnemonic) {
    return {mnemonic, &general<KeepsDenormals<fn>::signature>, &KeepsDenormals<fn>::signature,
            direct_handler<KeepsDenormals<fn>::signature>()};
}
/// For operations whose infinite results are never an overflow.
template <auto fn>
struct NeverOverflows {
    static constexpr Signature make() {
        Signature s = KernelOf<fn>::signature;
        s.never_overflows = true;
        return s;
    }
    static constexpr Signature signature = make();
};
template <auto fn>
constexpr ValuEntry bounded_entry(std::string_view mnemonic) {
    return {mnemonic, &general<NeverOverflows<fn>::signature>, &NeverOverflows<fn>::signature,
            direct_handler<NeverOverflows<fn>::signature>()};
}

/// For operations that know no MODE but FP16_OVFL.
template <auto fn>
struct IgnoresMode {
    static constexpr Signature make() {
        Signature s = KernelOf<fn>::signature;
        s.ignores_mode = s.never_overflows = true;
        return s;
    }
    static constexpr Signature signature = make();
};

/// For results that the rounding mode does not touch.
template <auto fn>
struct Approximate {
    static constexpr Signature make() {
        Signature s = KernelOf<fn>::signature;
        s.approximate = true;
        return s;
    }
    static constexpr Signature signature = make();
};
template <auto fn>
constexpr ValuEntry approximate_entry(std::string_view mnemonic) {
    return {mnemonic, &general<Approximate<fn>::signature>, &Approximate<fn>::signature,
            direct_handler<Approximate<fn>::signature>()};
}

}  // namespace strata::emu::STRATA_EMU_VARIANT

/// Rows of a table: the lane function carries the mnemonic's name.
#define ROW(mnemonic) lane_entry<&mnemonic>(#mnemonic)
#define ROW_AS(mnemonic, fn) lane_entry<&fn>(#mnemonic)
#define ROW_TRANS(mnemonic) approximate_entry<&mnemonic>(#mnemonic)
