#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

inline constexpr int kWavesOfWarpgroup = 4;

/// How a tile of A or B lies in local memory for a warpgroup: rows of 128 bytes along memory, in chunks of 16 bytes. A
/// chunk's number is xored with the row's, modulo 8, so that neither reading nor writing eight of them meets in a bank.
/// A tile that is longer along memory has one block of all rows after the other. Element (row, x), with L
///   elements of 128 bytes and T of 16, is at x / L * rows * L + row * L + (x % L / T ^ row % 8) * T + x % T
/// Source: PTX ISA, "Asynchronous warpgroup level matrix shared memory layout": 128-byte swizzling.
struct SwizzledTile {
    bool along_k;  ///< memory goes on along k: rows are those of the result; else rows are steps of k
    int64_t rows;
    friend bool operator==(const SwizzledTile&, const SwizzledTile&) = default;
};
inline constexpr int64_t kSwizzledRow = 128, kSwizzledChunk = 16, kSwizzledRows = 8;
inline constexpr int64_t kSwizzledBytes = kSwizzledRow * kSwizzledRows;  ///< a tile's start is a multiple of it

/// The place of the element (row, x) of such a tile, in elements.
int64_t place_in(const SwizzledTile& tile, DType element, int64_t row, int64_t x);

/// A product of four waves is a wmma. Its A and B are 16 bytes of local memory from where their tiles start
/// (MatrixShape::by_warpgroups). Or its A is in lanes, for each step as the accumulator's columns lie in lanes: a tile
/// of no rows.
struct WarpgroupProduct {
    int64_t steps;  ///< of the instruction's K, one after the other
    SwizzledTile a, b;
    bool holds_a() const { return a.rows == 0; }
};
inline constexpr SwizzledTile kHeldByLanes{true, 0};

/// "wgmma_f32_16x256x16_bf16<4, 1, 128, 0, 64>": the wmma's name, and the call in HIP text.
std::string name_of(std::string_view mnemonic, const WarpgroupProduct& product);
/// The warpgroup product of such a wmma.
std::optional<WarpgroupProduct> warpgroup_product(UOp u);

}  // namespace strata::codegen
