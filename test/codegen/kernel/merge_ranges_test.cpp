#include "build_helpers.h"

namespace strata::codegen {
namespace {

using namespace test;

UOp range(int id, int64_t size, Axis axis = Axis::loop) {
    return make(Op::range, dtypes::index, {}, RangeArg{id, size, axis});
}
UOp param(int slot, int64_t size) { return make(Op::param, dtypes::float32, {}, ParamArg{Space::global, slot, size}); }
UOp load(UOp p, UOp at) { return make(Op::load, dtypes::float32, {make(Op::index, dtypes::float32, {p, at})}); }
UOp sink(UOp out, UOp at, UOp value, std::vector<UOp> ranges) {
    UOp store = make(Op::store, dtypes::none, {make(Op::index, out.dtype(), {out, at}), value});
    ranges.insert(ranges.begin(), store);
    return make(Op::sink, dtypes::none, {make(Op::end, dtypes::none, ranges)}, SinkArg{});
}

std::vector<int64_t> sizes(UOp sink) {
    std::vector<int64_t> out;
    for (UOp r : nodes({sink, ""}, Op::range)) out.push_back(r.as<RangeArg>().size);
    std::sort(out.begin(), out.end());
    return out;
}

/// Merges, checks that the result is the same, and gives the sizes of the ranges left.
std::vector<int64_t> merged(UOp before) {
    UOp after = merge_ranges(before);
    Slots slots;
    int64_t numel[] = {0, 0, 0};
    for (UOp p : nodes({before, ""}, Op::param)) numel[p.as<ParamArg>().slot] = p.as<ParamArg>().size;
    for (int64_t n : numel)
        if (n) slots.push_back(contents().at(filled({n}).as<BufferArg>().id));
    EXPECT_EQ(difference(result({after, ""}, slots), result({before, ""}, slots)), "") << tree(after);
    return sizes(after);
}

TEST(MergeRanges, JoinsNeighboursThatAreUsedAsOne) {
    GraphScope scope;
    UOp a = range(0, 4), b = range(1, 8), at = a * 8 + b;
    EXPECT_EQ(merged(sink(param(0, 32), at, load(param(1, 32), at), {a, b})), (std::vector<int64_t>{32}));
}

TEST(MergeRanges, JoinsThreeInARow) {
    GraphScope scope;
    UOp a = range(0, 4), b = range(1, 3), c = range(2, 2), at = (a * 3 + b) * 2 + c;
    EXPECT_EQ(merged(sink(param(0, 24), at, load(param(1, 24), at), {a, b, c})), (std::vector<int64_t>{24}));
}

TEST(MergeRanges, KeepsAxesThatOneAccessTransposes) {
    GraphScope scope;
    UOp a = range(0, 4), b = range(1, 8);
    EXPECT_EQ(merged(sink(param(0, 32), a * 8 + b, load(param(1, 32), b * 4 + a), {a, b})),
              (std::vector<int64_t>{4, 8}));
}

TEST(MergeRanges, KeepsAxesThatOneAccessRepeats) {
    GraphScope scope;
    UOp a = range(0, 4), b = range(1, 8);
    EXPECT_EQ(merged(sink(param(0, 32), a * 8 + b, load(param(1, 8), b), {a, b})), (std::vector<int64_t>{4, 8}));
    EXPECT_EQ(merged(sink(param(0, 32), a * 8 + b, load(param(1, 4), a), {a, b})), (std::vector<int64_t>{4, 8}));
}

TEST(MergeRanges, JoinsTheAxesOfAReductionButNeverThoseWithTheOutputs) {
    GraphScope scope;
    UOp o = range(0, 3), a = range(1, 4, Axis::reduce), b = range(2, 8, Axis::reduce);
    UOp value = load(param(1, 96), (o * 4 + a) * 8 + b);
    UOp total = make(Op::reduce, dtypes::float32, {value, a, b}, ReduceArg{Op::add, {}});
    EXPECT_EQ(merged(sink(param(0, 3), o, total, {o})), (std::vector<int64_t>{3, 32}));
}

TEST(MergeRanges, KeepsARangeThatAnotherReductionClosesAlone) {
    GraphScope scope;
    UOp o = range(0, 3), a = range(1, 4, Axis::reduce), b = range(2, 8, Axis::reduce);
    UOp both = make(Op::reduce, dtypes::float32, {load(param(1, 32), a * 8 + b), a, b}, ReduceArg{Op::add, {}});
    UOp one = make(Op::reduce, dtypes::float32, {load(param(1, 32), a), a}, ReduceArg{Op::max, {}});
    EXPECT_EQ(merged(sink(param(0, 3), o, both + one, {o})), (std::vector<int64_t>{3, 4, 8}));
}

TEST(MergeRanges, BodiesOfOneLayoutBecomeOneLoop) {
    GraphScope scope;
    auto loops = [](UOp body) { return sizes(expect_built(body).sink); };
    EXPECT_EQ(loops(filled({2, 3, 4}) + filled({2, 3, 4})), (std::vector<int64_t>{24}));
    EXPECT_EQ(loops(sum(filled({2, 3, 4, 5}), {2, 3})), (std::vector<int64_t>{6, 20}));
    EXPECT_EQ(loops(filled({2, 3, 4}) + expand(filled({1, 1, 4}), {2, 3, 4})), (std::vector<int64_t>{4, 6}));
    EXPECT_EQ(loops(permute(filled({2, 3, 4}), {2, 0, 1})), (std::vector<int64_t>{4, 6}));
}

}  // namespace
}  // namespace strata::codegen
