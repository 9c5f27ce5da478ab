#include "strata/codegen/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::codegen {
namespace {

constexpr int64_t kLine = 64;                     // elements of 2 bytes in one of local memory (kSwizzledRow)
constexpr int64_t kWavesOfGroups[] = {12, 8, 4};  // that multiply together: codegen/optimize/matrix_tiles.cpp
constexpr double kLocalBytes = 128;               // of local memory, a CU in a clock
constexpr double kOwnRegisters = 48;              // addresses, indices, operands of the instruction at hand

/// The longest part, and a little of those next to it.
double combined(std::initializer_list<double> parts) {
    const double most = std::max(parts);
    if (most <= 0) return 0;
    double sum = 0;
    for (const double part : parts) {
        const double x = part / most;
        sum += x * x * x * x;
    }
    return most * std::sqrt(std::sqrt(sum));
}

double ceiled(int64_t n, int64_t by) { return static_cast<double>((n + by - 1) / by); }

double waves_of(const ProductTile& tile) { return static_cast<double>(tile.waves[0] * tile.waves[1]); }
double area_of_wave(const ProductTile& tile) { return static_cast<double>(tile.wave[0] * tile.wave[1]); }
/// Rows and columns of a group, added.
double sides_of(const ProductTile& tile) {
    return static_cast<double>(tile.wave[0] * tile.waves[0] + tile.wave[1] * tile.waves[1]);
}

}  // namespace

CostModel::CostModel(Chip chip) : card_(&card_of(chip)), rates_(&rates_of(chip)), target_(target_of(chip)) {
    for (const MatrixShape& shape : target_.matrix) {
        if (shape.by_warpgroups) continue;
        double& most = by_bytes_[static_cast<size_t>(shape.operand.bytes())];
        most = std::max(most, static_cast<double>(shape.m * shape.n * shape.k) / clocks_of(shape, target_));
    }
}

bool CostModel::multiplies(DType operand) const {
    return std::ranges::find(target_.matrix, operand, &MatrixShape::operand) != target_.matrix.end();
}

int64_t CostModel::resident_groups(int64_t threads) const {
    const int64_t waves = std::max<int64_t>((threads + target_.wave_size - 1) / target_.wave_size, 1);
    return rates_->units * std::max<int64_t>(rates_->waves * Rates::kSimds / waves, 1);
}

double CostModel::held_by_registers(double waves, double registers) const {
    const double of_simd =
        std::min<double>(rates_->waves, std::floor(rates_->registers * 32.0 / target_.wave_size / registers));
    return std::floor(of_simd * Rates::kSimds / waves);
}

double CostModel::held_by_local_memory(double bytes) const {
    return std::floor(rates_->cus * static_cast<double>(target_.lds_bytes) / bytes);
}

double CostModel::product(const ProductShape& shape, const ProductTile& tile, int64_t parts) const {
    const double waves = waves_of(tile), sides = sides_of(tile), rate = products_of_simd(shape);
    const auto bytes = static_cast<double>(shape.bytes);
    const double depth = static_cast<double>(shape.depth) / static_cast<double>(parts);
    const double steps = std::min(static_cast<double>(tile.steps), depth);
    const double groups = ceiled(shape.rows, tile.wave[0] * tile.waves[0]) *
                          ceiled(shape.columns, tile.wave[1] * tile.waves[1]) *
                          static_cast<double>(shape.batch * parts);
    const double tile_bytes = sides * static_cast<double>(tile.steps) * bytes;
    const double registers = kOwnRegisters + (area_of_wave(tile) + tile_bytes / 4 / waves) / target_.wave_size;
    const double held = std::max(1.0, std::min(held_by_registers(waves, registers), held_by_local_memory(tile_bytes)));
    const double share = std::ceil(groups / rates_->units), at_once = std::min(held, share);
    const double simds = std::min<double>(Rates::kSimds, at_once * waves),
                 cus = std::min<double>(rates_->cus, at_once * waves);
    const double of_wave = area_of_wave(tile) / rate;  // clocks of a step
    const double of_sides = static_cast<double>(tile.wave[0] + tile.wave[1]) * waves;
    const double once = static_cast<double>(shape.batch * (shape.rows + shape.columns) * shape.depth) * bytes;
    const double wanted = std::max(groups * sides * depth * bytes, once);
    const double waited = rates_->memory_clocks + of_wave * steps * std::max(1.0, waves / Rates::kSimds);
    return combined({share * waves * of_wave * depth / simds,
                     share * (of_sides + sides) * depth * bytes / kLocalBytes / cus,
                     share * sides * depth * bytes / rates_->l0_bytes / cus,
                     std::ceil(share / at_once) * (depth / steps * waited + rates_->memory_clocks),
                     memory_clocks(*rates_, wanted, once, wanted)}) /
           card_->mhz;
}

double CostModel::by_warpgroups(const MatrixShape& shape, const ProductTile& tile, int64_t groups,
                                int64_t depth) const {
    constexpr double kTilesHeld = 4;  // of each operand (codegen/linear/prefetch)
    constexpr double kStarts = 3;  // loads from memory one after the other: of instructions, addresses, the first tile
    const double operand = shape.operand.bytes(), waves = waves_of(tile);
    const double tile_bytes = sides_of(tile) * static_cast<double>(tile.steps) * operand;
    const double registers = kOwnRegisters + area_of_wave(tile) / target_.wave_size;
    const double by_registers = held_by_registers(waves, registers);
    if (by_registers < 1) return std::numeric_limits<double>::infinity();
    const double held = std::max(1.0, std::min(by_registers, held_by_local_memory(kTilesHeld * tile_bytes)));
    const double share = ceiled(groups, rates_->units);
    const double products = waves / Rates::kSimds * clocks_of(shape, target_) / shape.k;  // clocks of a step
    const double read = sides_of(tile) * operand / (rates_->l2_bytes / rates_->units);
    const double stored = waves * area_of_wave(tile) * operand / (rates_->dram_bytes / rates_->units);
    const double steps = share * static_cast<double>(depth) * std::max(products, read);
    return (steps + std::ceil(share / held) * (kStarts * rates_->memory_clocks + stored)) / card_->mhz;
}

double CostModel::by_warpgroups(const ProductShape& shape, int64_t parts) const {
    double least = std::numeric_limits<double>::infinity();
    for (const MatrixShape& matrix : target_.matrix) {
        // Columns of a whole number of lines: memory may go on along either side.
        if (!matrix.by_warpgroups || matrix.operand.bytes() != shape.bytes || matrix.n % kLine) continue;
        for (const int64_t waves : kWavesOfGroups) {
            const int64_t height = waves * matrix.m, deep = 4 * matrix.k;
            const auto groups = static_cast<int64_t>(ceiled(shape.rows, height) * ceiled(shape.columns, matrix.n));
            const int64_t all = groups * shape.batch * parts;
            if (std::min(shape.rows, shape.columns) < height || shape.depth / parts < deep) continue;
            const ProductTile tile{{matrix.m, matrix.n}, {waves, 1}, deep};
            least = std::min(least, by_warpgroups(matrix, tile, all, shape.depth / parts));
        }
    }
    return least;
}

double CostModel::product(const ProductShape& shape, int64_t parts) const {
    double least = 0;
    const bool by_matrix = shape.by_matrix && has_matrices(shape.bytes);
    const std::array steps = by_matrix ? std::array<int64_t, 3>{32, 64, 128} : std::array<int64_t, 3>{2, 4, 8};
    for (int64_t rows = 16; rows <= 64; rows *= 2)
        for (int64_t columns = 16; columns <= 64; columns *= 2)
            for (int64_t deep : steps)
                for (int64_t waves : {1, 2}) {
                    const ProductTile tile{.wave = {rows, columns}, .waves = {waves, waves}, .steps = deep};
                    const double us = product(shape, tile, parts);
                    if (least == 0 || us < least) least = us;
                }
    return least;
}

}  // namespace strata::codegen
