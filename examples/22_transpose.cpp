// A transpose through local memory: strata::lang in C++, with the names that Python's lang has.
//
// Look at the padding of the tile in local memory: without it all lanes of a wave would meet in one bank.
#include <array>
#include <cstdio>

#include "strata/codegen/tile/copy.h"
#include "strata/codegen/tile/trace.h"
#include "strata/codegen/tile/view.h"
#include "strata/core/layout/algebra.h"
#include "strata/ops/custom.h"
#include "strata/ops/tensor.h"

using namespace strata;
namespace lo = strata::layout;

namespace {

constexpr int64_t kTile = 32, kThreads = 128;

UOp block(int dim, int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{false, dim, size}); }

lang::View tile_of(const lang::View& view, UOp i, UOp j) {
    return view.part([&](const lo::Layout& L) {
        return lo::local_tile(L, lo::Tile({lo::Tile(kTile), lo::Tile(kTile)}), {lo::Int(i), lo::Int(j)});
    });
}

ops::UserKernel transpose(int64_t rows, int64_t columns) {
    GraphScope scope;
    const UOp thread = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, kThreads});
    const UOp i = block(1, rows / kTile), j = block(0, columns / kTile);
    lang::Trace trace({thread});
    const UOp out = uop::buffer(0, dtypes::float32, rows * columns),
              x = uop::buffer(1, dtypes::float32, rows * columns);
    const lang::View from(x, lo::Layout({rows, columns}, {columns, 1})),
        to(out, lo::Layout({columns, rows}, {rows, 1}));
    const lang::View held = lang::View::shared(lo::Layout({kTile, kTile}, {kTile + 1, 1}), dtypes::float32);
    lang::copy_tile(tile_of(from, i, j), held, lo::Int(thread), kThreads);
    trace.barrier();
    const auto turned = held.with_base([](const lo::Layout& L) { return lo::select(L, std::array{1, 0}); });
    lang::copy_tile(turned, tile_of(to, j, i), lo::Int(thread), kThreads);
    return ops::uop_kernel(trace.finish("transpose"));
}

}  // namespace

int main() {
    constexpr int64_t kRows = 256, kColumns = 128;
    const Tensor x = Tensor::arange(kRows * kColumns, dtypes::float32).reshape({kRows, kColumns}).realize();
    const Tensor made = ops::custom_kernel(Tensor::empty({kColumns, kRows}), {x}, transpose(kRows, kColumns))[0];
    const double wrong = (made - x.permute({1, 0})).abs().max().item().as_double();
    std::printf("transpose of %lld x %lld: largest difference %g\n", static_cast<long long>(kRows),
                static_cast<long long>(kColumns), wrong);
    return wrong == 0 ? 0 : 1;
}
