#pragma once
#include "strata/codegen/optimize/schedule_builder_p.h"

// Schedules of products without a search.
namespace strata::codegen {

int64_t product(std::span<const UOp> ranges);  ///< of their sizes
/// True if a factor is read in windows: what is added up does not go straight through memory.
bool is_convolution_like(const ScheduleBuilder& plan);

/// The longest of the axes that an action may take: steps of a reduction along several axes are along this one.
int longest_axis(const ScheduleBuilder& plan, ActionKind kind);
/// For each access, whether it is a load that does not depend on an axis.
std::vector<bool> loads_without(const ScheduleBuilder& plan, UOp axis);
// Products one of whose operands is read in windows that overlap, as convolutions are: windows.cpp.
bool multiplies_windows(const ScheduleBuilder& plan);
/// Makes one range of the places that a convolution computes, of which instructions then have tiles.
void join_places(ScheduleBuilder& plan);
/// Tiles of such a product by matrix instructions: those of least cost. `whole`: the output ranges before that action.
void tile_windows(ScheduleBuilder& plan, std::span<const UOp> whole, UOp reduction);

/// Output axes that some load does not depend on while others do: their tiles are reused from registers.
std::vector<int> reused_axes(const ScheduleBuilder& plan);
/// The multiples that sides of a product are rounded up to: large ones to `tile`, those of `least` and less not at all.
struct Rounding {
    static constexpr int64_t kMatrixSide = 16, kLarge = 256, kTile = 64;
    int64_t least = kMatrixSide, tile = kTile;
};
/// Rounds the sides of a product, and what it adds up along, up to what tiles divide: little beside what tiles save.
void pad_product(ScheduleBuilder& plan, Rounding rounding = {});
/// The largest tiles along a reduction's axis, which come a step ahead where that costs less.
void add_tiles(ScheduleBuilder& plan, int steps, std::initializer_list<int64_t> amounts);

/// The same of operands of matrix instructions, as each target reads them ahead.
void stage_matrices(ScheduleBuilder& plan, UOp reduction);
/// The place, among the axes that may be staged, of what is left of a reduction's range; the last where nothing is.
int place_of(const ScheduleBuilder& plan, UOp reduction);

/// Matrix products by matrix instructions. Large sides are rounded up to what a block has, and sides of less than an
/// instruction's to that, where it costs less. False, here and below: it is none.
bool tile_matrices(ScheduleBuilder& plan);
/// Matrix products: each thread has results of several rows and columns, a block's operands come by way of local
/// memory.
bool tile_product(ScheduleBuilder& plan);
/// Lets neighbouring blocks of a product differ in the range whose operand stays in caches.
void order_blocks(ScheduleBuilder& plan);
/// Products of a matrix and a few rows: each element of the matrix is read once, for all of them.
bool take_few_rows(ScheduleBuilder& plan);

}  // namespace strata::codegen
