#include "strata/codegen/target/target.h"

#include <algorithm>

#include "strata/asm/isa/launch_limits.h"
#include "strata/core/support/error.h"

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
             extra, vector, ops)                                                                                    \
    {vector, ops},
#include "strata/asm/isa/archs.def"
#undef ARCH
};

/// A row of nvidia.def.
struct NvidiaRow {
    int wave_size, shared_kib, max_block, vector_bytes;
    unsigned wave_ops;
    Ahead ahead;
};
using enum Ahead;
constexpr NvidiaRow kNvidia[] = {
#define NVIDIA(chip, ...) {__VA_ARGS__},
#include "strata/codegen/target/nvidia.def"
#undef NVIDIA
};

constexpr MatrixShape kMatrixShapes[] = {
#define MATRIX(family, mnemonic, m, n, k, operand, accumulator, builtin, ...) \
    {Family::family, #mnemonic, m, n, k, dtypes::operand, dtypes::accumulator, #builtin},
#define MMA(chip, name, m, n, k, operand, accumulator, ptx, ...) \
    {std::nullopt, #name, m, n, k, dtypes::operand, dtypes::accumulator, #ptx},
#define WGMMA(chip, name, m, n, k, operand, accumulator, ptx, ...) \
    {std::nullopt, #name, m, n, k, dtypes::operand, dtypes::accumulator, #ptx, true},
#include "strata/codegen/target/matrix_shapes.def"
#undef WGMMA
#undef MMA
#undef MATRIX
};
/// The first chip that has each of NVIDIA's, which stand last; those of groups after the others.
constexpr std::string_view kFirstChips[] = {
#define MATRIX(...)
#define MMA(chip, ...) #chip,
#define WGMMA(...)
#include "strata/codegen/target/matrix_shapes.def"
#undef WGMMA
#undef MMA
#undef MATRIX
};
static_assert(std::ranges::is_sorted(kFirstChips, std::greater()), "the newest chip's first");
/// The one chip of groups' (PTX: sm_90a).
constexpr std::string_view kChipsOfGroups[] = {
#define MATRIX(...)
#define MMA(...)
#define WGMMA(chip, ...) #chip,
#include "strata/codegen/target/matrix_shapes.def"
#undef WGMMA
#undef MMA
#undef MATRIX
};

struct LaneRow {
    isa::FamilySet families;
    int first, last;  ///< masks
    LanePath path;
    uint16_t control;
};
using namespace isa::families;
constexpr LaneRow kLaneRows[] = {
#define LANE_XOR(families, first, last, path, control) {families, first, last, LanePath::path, control},
#include "strata/codegen/target/lane_xor.def"
#undef LANE_XOR
};

int lanes_of(std::optional<Family> family) { return family && isa::is_cdna(*family) ? 64 : 32; }

constexpr size_t kNvidias = std::size(kFirstChips) + std::size(kChipsOfGroups);
constexpr std::span<const MatrixShape> kAmd(kMatrixShapes, std::size(kMatrixShapes) - kNvidias),
    kMma(kAmd.data() + kAmd.size(), kNvidias);

std::span<const MatrixShape> shapes_of(Family family) {
    auto mine = std::ranges::equal_range(kAmd, std::optional(family), {}, &MatrixShape::family);
    return {mine.begin(), mine.end()};
}
static_assert(std::ranges::is_sorted(kAmd, {}, &MatrixShape::family));

std::span<const MatrixShape> shapes_of_nvidia(Chip chip) {
    const auto newer = std::ranges::count_if(kFirstChips, [&](std::string_view first) { return first > chip.name(); });
    const bool has_groups = chip.name() == kChipsOfGroups[0];
    return kMma.first(has_groups ? kNvidias : std::size(kFirstChips)).subspan(static_cast<size_t>(newer));
}

// hipModuleLaunchKernel counts workgroups in 32 bits, and so does a dispatch packet threads (HSA 1.2, 2.9.6).
constexpr int64_t kPacketMaxThreads = 0xffffffff;
// Blocks of a grid (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr std::array<int64_t, 3> kNvidiaMaxGrid = {0x7fffffff, 0xffff, 0xffff};

Target target_of_nvidia(Chip chip, Route route) {
    const NvidiaRow& row = kNvidia[chip.place() - isa::archs().size()];
    return {.arch = chip,
            .route = route,
            .wave_size = row.wave_size,
            .lds_bytes = row.shared_kib * int64_t{1024},
            .max_block = row.max_block,
            .vector_bytes = row.vector_bytes,
            .wave_ops = row.wave_ops,
            .unrolls_loops = false,
            .ahead = row.ahead,
            .matrix = shapes_of_nvidia(chip),
            .max_grid = kNvidiaMaxGrid,
            .max_grid_threads = kNvidiaMaxGrid[0] * row.max_block};
}

}  // namespace

Result<Route> parse_route(std::string_view name) {
    if (name == "hip") return Route::hip;
    if (name == "asm") return Route::asm_;
    return make_error(ErrorKind::Usage, "unknown target '{}'; known: hip, asm", name);
}

std::span<const MatrixShape> matrix_shapes() { return kMatrixShapes; }

const MatrixShape* find_shape(std::span<const MatrixShape> shapes, std::string_view name) {
    const auto found = std::ranges::find(shapes, name.substr(0, name.find('<')), &MatrixShape::mnemonic);
    return found == shapes.end() ? nullptr : &*found;
}

int MatrixShape::operand_elements() const {
    const int copies = family == Family::rdna3 ? 2 : 1;
    return m * k * copies / lanes_of(family);
}
int MatrixShape::accumulator_elements() const { return m * n / lanes_of(family); }

bool MatrixShape::computes(DType product, DType sum) const {
    const int exact = operand.is_integer() ? 2 * operand.bits() : 32;  // bits that products are exact in, or rounded to
    if (product.bits() < exact) return false;
    if (sum.is_integer()) return accumulator == dtypes::int32 && sum.bits() <= 32;
    return sum.bits() < 32 ? accumulator == dtypes::float32 : accumulator == sum;
}

LaneXor lane_xor(const Target& target, int mask) {
    if (!target.arch.is_amd()) return {LanePath::other_row, 0};  // a shuffle is one instruction, whichever lane it is
    const Family family = isa::info(target.arch).family;
    for (const LaneRow& row : kLaneRows)
        if (row.families.has(family) && row.first <= mask && mask <= row.last)
            return {row.path, static_cast<uint16_t>(row.path == LanePath::dpp ? row.control + mask - row.first : 0)};
    STRATA_CHECK(false, "{} has no lanes {} apart", target.arch.name(), mask);
}

Target target_of(Chip arch, Route route) {
    if (!arch.is_amd()) return target_of_nvidia(arch, route);
    const isa::ArchInfo& row = isa::info(arch);
    const Offer& offer = kOffers[arch.place()];
    return {.arch = arch,
            .route = route,
            .wave_size = row.wave_size,
            .lds_bytes = row.lds_bytes,
            .max_block = row.max_block,
            .vector_bytes = offer.vector_bytes,
            .wave_ops = offer.wave_ops,
            .unrolls_loops = route == Route::asm_,
            .ahead = Ahead::scheduled,
            .matrix = shapes_of(row.family),
            .max_grid = {isa::kMaxGrid[0], isa::kMaxGrid[1], isa::kMaxGrid[2]},
            .max_grid_threads = kPacketMaxThreads};
}

}  // namespace strata::codegen
