// attention_by_matrices: attention (codegen/schedule/attention.h) whose products are those of matrix instructions.
//
// Before  sum over j of exp(f(s(i, j)) - top(i)) * v(j, e) and their total, top the maximum of f(s(i, j)), s(i, j) the
//         sum over d of q(i, d) * k(j, d)
// After   in a loop over tiles of keys, which local memory holds:
//             s = q * k by matrix instructions;  n = max(m, f(s));  w = exp(f(s) - n);
//             total = total * exp(m - n) + sum of w
//             sums = sums * exp(m - n) + w * v by matrix instructions;  m = n
// A lane's part of s as a result is its part of w as an operand (codegen/target/matrix_shapes.def, NVIDIA's). The
// weights therefore stay in registers, rounded to the type of v. The loop ends where a mask leaves no keys.
#include <algorithm>
#include <optional>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention/tiles_p.h"
#include "strata/codegen/optimize/attention_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

struct Row {
    AttentionTile tile;
    std::optional<UOp> (*build)(UOp sink, const AttentionParts&, const AttentionTile&, const Target&);
};
/// By preference. On an H100, causal attention of 16x16x1024x64 and 8x16x4096x128 was measured with four waves and 64
/// keys by warpgroups. It takes .82 and .87 of the time of eight waves, since several blocks are on a unit.
constexpr Row kTiles[] = {
    {{1, 4, 64, 128}, attention_by_warpgroups},     {{1, 8, 128, 64}, attention_by_warpgroups},
    {{1, 8, 64, 128}, attention_by_warpgroups},     {{1, 4, 64, 128}, attention_by_warpgroup_rows},
    {{1, 8, 64, 128}, attention_by_warpgroup_rows}, {{2, 4, 64, 128}, attention_by_rows},
    {{1, 4, 64, 128}, attention_by_rows},           {{1, 2, 32, 128}, attention_by_rows},
    {{1, 1, 16, 128}, attention_by_rows},           {{2, 4, 64, 128}, attention_by_columns},
    {{2, 4, 32, 128}, attention_by_columns},        {{1, 4, 64, 128}, attention_by_columns},
    {{1, 2, 64, 128}, attention_by_columns},        {{1, 4, 32, 128}, attention_by_columns},
    {{1, 2, 32, 128}, attention_by_columns},        {{1, 1, 32, 128}, attention_by_columns}};

}  // namespace

std::optional<Kernel> attention_by_matrices(const Kernel& kernel, UOp keys, int64_t amount, const Target& target) {
    const std::optional<AttentionParts> parts = attention_parts(kernel.sink, keys, target);
    if (!parts) return {};
    for (const Row& row : kTiles) {
        const std::optional<UOp> sink = row.build(kernel.sink, *parts, row.tile, target);
        if (!sink || amount-- > 0) continue;
        const auto is_left = [&](UOp u) {
            return u == parts->top || u == parts->sum || u == parts->total ||
                   std::ranges::find(parts->products, u, &ScoreProduct::sum) != parts->products.end();
        };
        if (std::ranges::any_of(toposort(*sink), is_left)) return {};
        return Kernel{simplify(*sink), kernel.name};
    }
    return {};
}

}  // namespace strata::codegen
