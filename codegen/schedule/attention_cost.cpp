// is_slower_fused: whether attention takes longer than its products by themselves, with the scores in memory between.
//
// One kernel has a row's columns in registers: the wider they are, the fewer rows share what it reads of keys and
// values. Apart, three kernels have tiles of rows and columns, and write and read the scores. The figures are those of
// `strata profile` on the modelled 7900 XTX, float32, for shapes as test/python/nn/test_attention.py has them.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"

namespace strata::codegen {
namespace {

using Threads = AttentionThreads;
constexpr double kOfVectors = 0.41;  // of the vector units' rate, of narrow rows, kBeside of which share what they read
constexpr double kColumns = 26;      // the same of wide ones, over their columns
constexpr double kMasked = 0.43;     // of it where a mask that is known leaves half of the keys
constexpr double kScoreBytes = 8;    // from memory, of a score that is written and read twice: caches have the rest
constexpr int64_t kTile = 32;        // rows from which on products have tiles
constexpr double kOfMemory = 1.0 / 24;      // of the card's, that scores may take
constexpr int64_t kWidest = 512;            // columns that the threads of a row have in registers
constexpr int64_t kSideOfMatrices = 16;     // of matrix instructions
constexpr int64_t kWidestOfMatrices = 128;  // columns that their tiles have in registers
constexpr int64_t kBeside = 8;  // rows that share a block, at most; the fewer rows, the more threads of each

/// How often each element of a factor is read.
int64_t times_read(UOp factor) {
    UOp source = factor;
    while (source.is(Op::expand) || source.is(Op::reshape)) source = source.src(0);
    return factor.numel() / std::max<int64_t>(source.numel(), 1);
}

/// How many of them stand side by side and read keys and values once.
double sharing(const Attention& attention) {
    const int64_t threads = std::max<int64_t>(Threads::kOfCard / std::max<int64_t>(attention.top.numel(), 1), 1);
    return static_cast<double>(std::clamp<int64_t>(Threads::kBlock / threads, 1, kBeside));
}

/// True if it is known without memory which scores a mask takes out.
bool has_known_mask(const Attention& attention) {
    return std::ranges::any_of(attention.inside, [](UOp u) {
        return u.is(Op::where) && std::ranges::none_of(toposort(u.src(0)), [](UOp s) { return s.is(Op::buffer); });
    });
}

}  // namespace

int64_t rows_of(const Attention& attention) {
    const UOp factors = attention.product.src(0);
    const int64_t keys = attention.top.src(0).shape().back();
    return times_read(factors.src(0)) * times_read(factors.src(1)) / std::max<int64_t>(keys, 1);
}

bool has_matrix_products(const Attention& attention) {
    const int64_t depth = attention.depth();
    if (depth % kSideOfMatrices != 0 || depth > kWidestOfMatrices || attention.columns() != depth) return false;
    const UOp scores = attention.product.src(0), sums = attention.sum.src(0);
    return narrow_in(scores.src(0)) && narrow_in(scores.src(1)) &&
           std::ranges::any_of(sums.src(), [](UOp factor) { return bool(narrow_in(factor)); });
}

bool has_few_rows(const Attention& attention) { return rows_of(attention) < kTile; }

bool is_slower_fused(const Attention& attention, const Policy& policy) {
    if (std::max(attention.columns(), attention.depth()) > kWidest) return true;
    if (policy.fusion != Fusion::cost) return policy.fusion == Fusion::less;
    if (has_matrix_products(attention)) return false;
    const CostModel& costs = policy.costs;
    const auto scores = static_cast<double>(attention.product.numel());
    if (has_few_rows(attention) || dtypes::float32.bytes() * scores > kOfMemory * costs.card_bytes()) return false;
    const auto wide = static_cast<double>(std::max(attention.columns(), attention.depth()));
    const auto products = static_cast<double>(attention.product.src(0).numel() + attention.sum.src(0).numel());
    const double share = std::min(kOfVectors * sharing(attention) / static_cast<double>(kBeside), kColumns / wide);
    const double together = costs.vector(products / share) * (has_known_mask(attention) ? kMasked : 1);
    const int64_t keys = attention.top.src(0).shape().back(), rows = rows_of(attention);
    const int64_t batch = std::max<int64_t>(attention.product.numel() / rows / std::max<int64_t>(keys, 1), 1);
    const double apart = costs.product({.rows = rows, .columns = keys, .depth = attention.depth(), .batch = batch}) +
                         costs.product({.rows = rows, .columns = attention.columns(), .depth = keys, .batch = batch}) +
                         costs.memory(kScoreBytes * scores);
    return together > 2 * costs.launch() + apart;
}

}  // namespace strata::codegen
