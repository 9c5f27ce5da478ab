#include "strata/codegen/kernel/dynamic_shapes.h"

#include <algorithm>
#include <functional>

#include "build_helpers.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

using namespace test;

using Body = std::function<UOp(int64_t)>;

std::vector<bool> differing(const Sizes& a, const Sizes& b) {
    std::vector<bool> out(a.values.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = a.values[i] != b.values[i];
    return out;
}

/// The kernel with what a launch gives.
UOp launched(const AnySize& any, int first_slot) {
    return rebuild(any.sink, [&](UOp u, std::span<const UOp> sources) {
        if (!u.is(Op::define_var)) return u.with_src(sources);
        const auto at = static_cast<size_t>(u.as<VariableArg>().slot - first_slot);
        return constant_int(u.dtype(), static_cast<int64_t>(any.numbers.at(at)));
    });
}

/// The kernel of a body of size n, with parameters for what differs between sizes 40 and 41, has the values of the
/// body.
AnySize expect_served(const Body& body, int64_t n) {
    const auto sizes = [&](int64_t size) { return sizes_of(built(body(size)).kernel.sink).value(); };
    const UOp own = body(n);
    Filled filled = built(own);
    const int first_slot = static_cast<int>(filled.slots.size());
    const std::vector<bool> changing = differing(sizes(40), sizes(41));
    EXPECT_EQ(sizes(n).form, sizes(40).form);
    const AnySize any = with_any_size(filled.kernel.sink, changing, first_slot);
    EXPECT_EQ(difference(result({launched(any, first_slot), "k"}, filled.slots), evaluate(own, contents())), "")
        << n << tree(any.sink);
    return any;
}

const std::vector<Body>& bodies() {
    static const std::vector<Body> all{
        [](int64_t n) { return filled({n}) + number(1); },
        [](int64_t n) { return filled({n}) * filled({n}) * number(3); },
        [](int64_t n) { return sum(filled({n, 3}), {0}); },
        [](int64_t n) { return sum(filled({3, n}), {1}); },
    };
    return all;
}

TEST(AnySize, OneKernelServesTheSizesUpToAPowerOfTwo) {
    GraphScope scope;
    for (const Body& body : bodies()) {
        const UOp first = expect_served(body, 40).sink;
        for (int64_t n : {33, 41, 47, 63, 64}) EXPECT_EQ(expect_served(body, n).sink, first) << n;
    }
}

TEST(AnySize, LargerOnesHaveTheirOwn) {
    GraphScope scope;
    for (const Body& body : bodies()) {
        const UOp small = expect_served(body, 40).sink;
        EXPECT_NE(expect_served(body, 65).sink, small);
        EXPECT_EQ(expect_served(body, 65).sink, expect_served(body, 127).sink);
    }
}

TEST(AnySize, ShortRangesShareOne) {
    GraphScope scope;
    for (const Body& body : bodies()) EXPECT_EQ(expect_served(body, 5).sink, expect_served(body, 31).sink);
}

TEST(AnySize, NumbersOfTheLaunchAreTheSizesEachOnce) {
    GraphScope scope;
    const AnySize any = expect_served(bodies()[0], 47);
    EXPECT_EQ(any.numbers, (std::vector<uint64_t>{47}));
}

TEST(AnySize, NothingThatChangesIsTheSameKernel) {
    GraphScope scope;
    const UOp sink = built(bodies()[2](40)).kernel.sink;
    const AnySize any = with_any_size(sink, std::vector<bool>(sizes_of(sink)->values.size()), 2);
    EXPECT_TRUE(any.numbers.empty());
    EXPECT_EQ(any.sink, simplify(sink));
}

TEST(Sizes, FormsAreOfEverythingElse) {
    GraphScope scope;
    const auto form = [](UOp body) { return sizes_of(built(body).kernel.sink)->form; };
    const uint64_t one = form(filled({40}) * number(2.5));
    EXPECT_EQ(form(filled({50}) * number(3)), one);
    EXPECT_NE(form(filled({40}) + number(2.5)), one);
    EXPECT_NE(form(filled({40}) * filled({40})), one);
    const UOp i = filled({40}, dtypes::int32);
    EXPECT_NE(form(alu(Op::idiv, {i, constant_int(dtypes::int32, 7)})),
              form(alu(Op::idiv, {i, constant_int(dtypes::int32, 9)})));
    EXPECT_EQ(form(alu(Op::add, {i, constant_int(dtypes::int32, 7)})),
              form(alu(Op::add, {i, constant_int(dtypes::int32, 9)})));
}

}  // namespace
}  // namespace strata::codegen
