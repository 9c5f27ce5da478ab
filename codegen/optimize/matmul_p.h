#pragma once
#include "strata/codegen/optimize/schedule_builder_p.h"

// Schedules of products without a search.
namespace strata::codegen {

int64_t product(std::span<const UOp> ranges);  ///< of their sizes
/// Whether a factor is read in windows: what is added up does not go straight through memory.
bool reads_windows(const ScheduleBuilder& plan);

/// Output axes that some load does not depend on while others do: their tiles are reused from registers.
std::vector<int> reused_axes(const ScheduleBuilder& plan);
/// Rounds the sides of a product, and what it adds up along, up to what tiles divide: little beside what tiles save.
void pad_product(ScheduleBuilder& plan);
/// The largest tiles, which come a step ahead where that costs less.
void add_tiles(ScheduleBuilder& plan, std::initializer_list<int64_t> amounts);

/// Matrix products: each thread has results of several rows and columns, a block's operands come by way of local memory. False,
/// here and below: it is none.
bool tile_product(ScheduleBuilder& plan);
/// Products of a matrix and a few rows: each element of the matrix is read once, for all of them.
bool take_few_rows(ScheduleBuilder& plan);

}  // namespace strata::codegen
