#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/target/chip.h"
#include "strata/core/dtype/dtype.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// How a linear program becomes machine code: as HIP text through clang, or straight to instructions.
enum class Route : uint8_t { hip, asm_ };

/// "hip" or "asm"; the error lists them.
Result<Route> parse_route(std::string_view name);

/// How lanes of a wave reach each other without memory.
namespace wave_ops {
enum : unsigned {
    dpp = 1,        ///< an operand of another lane in the row of 16: DPP16
    dpp8 = 2,       ///< of any of 8 neighbours
    row_bcast = 4,  ///< DPP16 row_bcast:15 and :31: the last lane of one row, or of two, to the next
    permlane = 8,   ///< v_permlane16, v_permlanex16: any lane of the row, or of the row beside it
    bpermute = 16,  ///< ds_bpermute: any lane (of 32 on RDNA)
    ballot = 32,    ///< comparisons leave a mask of lanes in scalar registers
};
}

/// A matrix instruction: D[m][n] = A[m][k] * B[k][n] + C. One row of matrix_shapes.def.
struct MatrixShape {
    std::optional<isa::Family> family;  ///< none: of NVIDIA's chips
    std::string_view mnemonic;
    int m, n, k;
    DType operand, accumulator;
    std::string_view builtin;  ///< of clang, after __builtin_amdgcn_; of PTX, after mma.sync.aligned.
    /// Four waves compute it together, with operands of local memory (warpgroup_products.h): PTX's, after
    /// wgmma.mma_async.sync.aligned.
    bool by_warpgroups = false;

    /// Elements that a lane holds of A, and of B where waves compute it alone; of C. The table says which.
    int operand_elements() const;
    int accumulator_elements() const;
    /// True if it computes sums of this type of products of its operands that are rounded to `product`.
    bool computes(DType product, DType sum) const;
};
/// All rows, of all families.
std::span<const MatrixShape> matrix_shapes();
/// The row of a matrix instruction's name, which may go on with what warpgroup_products.h says; null where there is
/// none.
const MatrixShape* find_shape(std::span<const MatrixShape> shapes, std::string_view name);

/// How the value of the lane whose number differs in the bits of a mask is reached.
enum class LanePath : uint8_t {
    dpp,        ///< an operand with a pattern of DPP16
    other_row,  ///< v_permlanex16
    swizzle,    ///< ds_swizzle
    permute,    ///< ds_bpermute
};
struct LaneXor {
    LanePath path;
    uint16_t control;  ///< of DPP16
};

/// When a loop reads the values that it copies to local memory. It reads them at their store, or a step before: into
/// registers, where a schedule says so or in any case, or by asynchronous copies.
enum class Ahead : uint8_t { scheduled, registers, copies };

/// The properties of a machine. The stages of the compiler have no limits of their own: they read them here.
struct Target {
    Chip arch;
    Route route;
    int wave_size;                        ///< lanes
    int64_t lds_bytes;                    ///< of a workgroup
    int64_t max_block;                    ///< threads of a workgroup
    int vector_bytes;                     ///< of a lane's widest memory access
    unsigned wave_ops;                    ///< of namespace wave_ops
    bool unrolls_loops;                   ///< no compiler follows that would: short loops are written out
    Ahead ahead;                          ///< how loops read a step before what they copy to local memory
    std::span<const MatrixShape> matrix;  ///< empty: no matrix instructions
    std::array<int64_t, 3> max_grid;      ///< workgroups along each dimension
    int64_t max_grid_threads;             ///< threads along one dimension
};

/// The first row of lane_xor.def that has the mask: 1 to wave_size - 1.
LaneXor lane_xor(const Target& target, int mask);

/// From the row of archs.def or nvidia.def.
Target target_of(Chip arch, Route route = Route::hip);

}  // namespace strata::codegen
