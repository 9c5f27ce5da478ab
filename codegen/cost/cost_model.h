#pragma once
#include <array>
#include <cstdint>

#include "strata/codegen/target/rates.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// Products of matrices, `batch` of them: rows x columns results, each a sum of `depth` products.
struct ProductShape {
    int64_t rows = 1, columns = 1, depth = 1, batch = 1;
    int bytes = 4;           ///< of an element of the operands
    bool by_matrix = false;  ///< by matrix instructions, where the target has some of these operands
};

/// How workgroups divide a product. It has rows and columns of results of a wave, and waves of a group along both. It
/// also has the steps of the sum whose operands are in local memory together.
struct ProductTile {
    std::array<int64_t, 2> wave{32, 32}, waves{2, 2};
    int64_t steps = 32;
};

/// The cost model: times of kernels on the usual card of a chip, in microseconds without their launches. It is a
/// roofline of operations and bytes, with waves of workgroups (wave quantisation), and latency where too little is
/// resident to hide it. For decisions that are made before a kernel has a schedule; static_cost (codegen/optimize)
/// compares schedules of one kernel.
class CostModel {
  public:
    explicit CostModel(Chip chip);

    /// A launch after another kernel.
    double launch() const { return card_->next_launch_us; }
    /// Bytes that go through DRAM once.
    double memory(double bytes) const { return bytes / card_->dram_gbs * 1e-3; }
    /// An intermediate of `bytes` bytes: one kernel writes it, the next one reads it, whose launch comes on top.
    double stored(double bytes) const { return launch() + memory(2 * bytes); }
    /// Vector operations where the card is full.
    double vector(double operations) const { return operations / vector_rate(); }
    /// A product by such tiles, the sum divided into `parts` (split-K) whose partial results are not added yet.
    double product(const ProductShape& shape, const ProductTile& tile, int64_t parts = 1) const;
    /// By the tiles that take least.
    double product(const ProductShape& shape, int64_t parts = 1) const;
    /// A product of sums of `depth` by such groups of waves, which multiply together what local memory holds
    /// (MatrixShape::by_warpgroups). Infinite where their accumulators fit no registers.
    double by_warpgroups(const MatrixShape& shape, const ProductTile& tile, int64_t groups, int64_t depth) const;
    /// By those tiles of them that take least, the sum divided into `parts`. Infinite where the target has none, and
    /// where a side is shorter than a tile.
    double by_warpgroups(const ProductShape& shape, int64_t parts) const;
    /// Workgroups of `threads` threads that the card holds at once: with fewer, some of it idles.
    int64_t resident_groups(int64_t threads) const;
    /// True if matrix instructions multiply operands of `bytes` bytes.
    bool has_matrices(int bytes) const { return by_bytes_[static_cast<size_t>(bytes)] > 0; }
    /// True if matrix instructions multiply operands of this type.
    bool multiplies(DType operand) const;
    double card_bytes() const { return card_->dram_gib * 1024 * 1024 * 1024; }

  private:
    /// Operations of the vector units in a microsecond.
    double vector_rate() const { return card_->simd_clocks_per_s() * 1e-6 * target_.wave_size / rates_->issue; }
    /// Products of one SIMD in a clock.
    double products_of_simd(const ProductShape& shape) const {
        const double products = shape.by_matrix ? by_bytes_[static_cast<size_t>(shape.bytes)] : 0;
        return products > 0 ? products : target_.wave_size / rates_->issue;
    }
    /// Workgroups of `waves` waves that the registers of a unit hold at once, of `registers` registers a lane each.
    double held_by_registers(double waves, double registers) const;
    /// Workgroups that its local memory holds, of `bytes` each.
    double held_by_local_memory(double bytes) const;

    const isa::Card* card_;
    const Rates* rates_;
    Target target_;
    std::array<double, 9> by_bytes_{};  ///< rates of matrix instructions, by the bytes of an operand
};

}  // namespace strata::codegen
