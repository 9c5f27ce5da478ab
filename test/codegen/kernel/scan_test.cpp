#include "build_helpers.h"

namespace strata::codegen {
namespace {

using namespace test;

TEST(BuildScan, RunsAlongARangeThatItsEndCloses) {
    GraphScope scope;
    UOp x = filled({4, 6});
    for (Op op : {Op::add, Op::mul, Op::max, Op::min})
        for (int axis : {0, 1}) {
            const Kernel k = expect_built(scan(alu(Op::min, {x, number(2)}), op, axis) + x);
            ASSERT_EQ(nodes(k, Op::scan).size(), 1u);
            const UOp along = nodes(k, Op::scan)[0].src(1);
            EXPECT_EQ(range_arg(along).axis, Axis::reduce);
            EXPECT_EQ(range_arg(along).size, x.shape()[static_cast<size_t>(axis)]);
            EXPECT_EQ(k.name[0], 'r');
        }
}

TEST(BuildScan, SharesItsRangeWithReductionsOfTheRow) {
    GraphScope scope;
    UOp x = filled({4, 6}), top = expand(reduce(x, Op::max, {1}), {4, 6});
    const Kernel k = expect_built(scan(scan(x - top, Op::add, 1), Op::max, 1) - top);
    EXPECT_EQ(ranges(k.sink).size(), 2u);
}

TEST(BuildScan, KeepsItsRangeApartFromItsNeighbours) {
    GraphScope scope;
    const Kernel k = expect_built(scan(filled({2, 3, 4, 5}), Op::add, 2));
    EXPECT_EQ(ranges(k.sink).size(), 3u);
}

TEST(BuildScan, OfOneElementIsThatElement) {
    GraphScope scope;
    const Kernel k = expect_built(scan(filled({4, 1}), Op::add, 1));
    EXPECT_TRUE(nodes(k, Op::scan).empty());
}

}  // namespace
}  // namespace strata::codegen
