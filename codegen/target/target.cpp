#include "strata/codegen/target/target.h"

#include <algorithm>

#include "strata/asm/isa/launch_limits.h"

namespace strata::codegen {
namespace {

using isa::Family;
using namespace wave_ops;

/// The columns of archs.def that only the compiler reads.
struct Offer {
    int vector_bytes;
    unsigned wave_ops;
};
constexpr Offer kOffers[] = {
#define ARCH(arch, family, mach, wave, wave64, vgprs, granule32, granule64, sgprs, lds_kib, scratch_kib, max_block, \
             vector, ops)                                                                                           \
    {vector, ops},
#include "strata/asm/isa/archs.def"
#undef ARCH
};

constexpr MatrixShape kMatrixShapes[] = {
#define MATRIX(family, mnemonic, m, n, k, operand, accumulator) \
    {Family::family, #mnemonic, m, n, k, dtypes::operand, dtypes::accumulator},
#include "strata/codegen/target/matrix_shapes.def"
#undef MATRIX
};

std::span<const MatrixShape> shapes_of(Family family) {
    auto mine = std::ranges::equal_range(kMatrixShapes, family, {}, &MatrixShape::family);
    return {mine.begin(), mine.end()};
}
static_assert(std::ranges::is_sorted(kMatrixShapes, {}, &MatrixShape::family));

// hipModuleLaunchKernel takes so many workgroups; a dispatch packet counts threads in 32 bits (HSA 1.2, 2.9.6).
constexpr int64_t kPacketMaxThreads = 0xffffffff;

}  // namespace

Result<Route> parse_route(std::string_view name) {
    if (name == "hip") return Route::hip;
    if (name == "asm") return Route::asm_;
    return make_error(ErrorKind::Usage, "unknown target '{}'; known: hip, asm", name);
}

Target target_of(isa::Arch arch, Route route) {
    const isa::ArchInfo& row = isa::info(arch);
    const Offer& offer = kOffers[static_cast<size_t>(arch)];
    return {.arch = arch,
            .route = route,
            .wave_size = row.wave_size,
            .lds_bytes = row.lds_bytes,
            .max_block = row.max_block,
            .vector_bytes = offer.vector_bytes,
            .wave_ops = offer.wave_ops,
            .unrolls_loops = route == Route::asm_,
            .matrix = shapes_of(row.family),
            .max_grid = {isa::kMaxGrid[0], isa::kMaxGrid[1], isa::kMaxGrid[2]},
            .max_grid_threads = kPacketMaxThreads};
}

}  // namespace strata::codegen
