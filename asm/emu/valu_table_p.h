#pragma once
#include <utility>

#include "strata/asm/emu/valu_half_p.h"
#include "strata/asm/emu/valu_lanes_p.h"
#include "strata/asm/emu/valu_run_p.h"

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

template <auto fn>
constexpr ValuEntry lane_entry(std::string_view mnemonic) {
    return {mnemonic, &general<KernelOf<fn>::shape>, &KernelOf<fn>::shape};
}

/// For results that the rounding mode does not touch.
template <auto fn>
struct Approximate {
    static constexpr Shape make() {
        Shape s = KernelOf<fn>::shape;
        s.approximate = true;
        return s;
    }
    static constexpr Shape shape = make();
};
template <auto fn>
constexpr ValuEntry approximate_entry(std::string_view mnemonic) {
    return {mnemonic, &general<Approximate<fn>::shape>, &Approximate<fn>::shape};
}

}  // namespace strata::emu::STRATA_EMU_VARIANT

/// Rows of a table: the lane function carries the mnemonic's name.
#define ROW(mnemonic) lane_entry<&mnemonic>(#mnemonic)
#define ROW_AS(mnemonic, fn) lane_entry<&fn>(#mnemonic)
#define ROW_TRANS(mnemonic) approximate_entry<&mnemonic>(#mnemonic)
