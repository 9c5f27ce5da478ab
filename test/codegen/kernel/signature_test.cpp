#include <array>

#include "strata/codegen/kernel/signature.h"

#include <set>

#include "build_helpers.h"
#include "strata/codegen/kernel/scalar_parameters.h"

namespace strata::codegen {
namespace {

using namespace test;

BoundKernel bound_of(UOp body) {
    return build_kernel({make(Op::buffer, body.dtype(), {}, BufferArg{2'000'000, body.numel(), 0}), body});
}

Signature of(std::vector<UOp> roots) {
    return signature_of(roots, [](UOp) { return UOp(); });
}

TEST(Signature, LeavesOutWhichMemoryIsReadAndWhichNumbersAreComputedWith) {
    GraphScope scope;
    const auto graph = [](double a, double b) {
        UOp x = filled({4, 6});
        return sum(x * expand(reshape(number(a), {1, 1}), {4, 6}), {1}) + number(b);
    };
    const UOp first = graph(2.5, 3), second = graph(-1, 7);
    EXPECT_NE(first, second);
    EXPECT_EQ(of({first}).form, of({second}).form);
    EXPECT_EQ(of({first}).numbers, (std::vector<UOp>{number(2.5), number(3)}));
    EXPECT_EQ(of({second}).numbers, (std::vector<UOp>{number(-1), number(7)}));
    EXPECT_EQ(of({second}).buffers.size(), 1u);
    EXPECT_NE(of({graph(3, 3)}).form, of({first}).form) << "one number in two places is another structure";
}

/// Graphs no two of which are one structure.
std::vector<std::vector<UOp>> different() {
    const UOp x = filled({12}), y = filled({12}), i = filled({12}, dtypes::int32);
    const UOp seven = constant_int(dtypes::int32, 7), nine = constant_int(dtypes::int32, 9);
    const UOp three = expand(reshape(number(3), {1}), {12}), four = expand(reshape(number(4), {1}), {12});
    return {{x},
            {x + y},
            {x + x},
            {x - y},
            {x, y},
            {x, x},
            {y + x, x},
            {x + y, x},
            {i},
            {filled({13})},
            {reshape(x, {3, 4})},
            {reshape(x, {4, 3})},
            {permute(reshape(x, {3, 4}), {1, 0})},
            {sum(x, {0})},
            {reduce(x, Op::max, {0})},
            {shrink(x, {{0, 3}})},
            {shrink(x, {{1, 4}})},
            {pad(x, {{0, 1}})},
            {pad(x, {{1, 0}})},
            {flip(x, {0})},
            {x + number(1)},
            {x + number(1), x + number(2)},
            {alu(Op::idiv, {i, seven})},
            {alu(Op::idiv, {i, nine})},
            {alu(Op::shl, {i, seven})},
            {alu(Op::shl, {i, nine})},
            {three},
            {four},
            {contiguous(three)},
            {contiguous(four)},
            {pad(three, {{1, 1}})},
            {pad(four, {{1, 1}})},
            {sum(three, {0})},
            {sum(four, {0})},
            {iota(12)},
            {iota(13)},
            {take(x, i, 0)},
            {cast(x, dtypes::int32)},
            {cast(i, dtypes::float32)},
            {bitcast(i, dtypes::float32)},
            {x + three + number(3)},
            {x + three + number(4)},
            {make(Op::buffer, dtypes::float32, {}, BufferArg{77, 12, 1})}};
}

TEST(Signature, HoldsAllElse) {
    GraphScope scope;
    std::set<std::string> forms;
    size_t n = 0;
    for (const std::vector<UOp>& roots : different()) {
        EXPECT_TRUE(forms.insert(of(roots).form).second) << n << ": " << tree(roots[0]);
        ++n;
    }
}

TEST(Signature, OfABodyHoldsEveryNumber) {
    GraphScope scope;
    const UOp x = filled({12});
    const auto of_body = [](UOp body) { return signature_of_bodies(std::array{body}); };
    EXPECT_NE(of_body(x + number(1)).form, of_body(x + number(2)).form);
    EXPECT_EQ(of_body(x + number(1)).form, of_body(filled({12}) + number(1)).form);
    EXPECT_TRUE(of_body(x + number(1)).numbers.empty());
    EXPECT_NE(signature_of_bodies(std::array{x + number(1), x * x}).form,
              signature_of_bodies(std::array{x * x, x + number(1)}).form);
}

TEST(Signature, TakesWhatIsInMemoryAsAViewOfIt) {
    GraphScope scope;
    const UOp x = filled({12}), y = filled({12}), inner = x * number(2), root = inner + y;
    const UOp held = filled({12});
    const std::vector<UOp> roots{root};
    const auto found = signature_of(roots, [&](UOp u) { return u == inner ? held : UOp(); });
    EXPECT_EQ(found.form, of({filled({12}) + filled({12})}).form);
    EXPECT_EQ(found.buffers, (std::vector<UOp>{held, y}));
}

TEST(Signature, HasUsersKernelsThatAreToRunByPlaceAndNotByWhichTheyAre) {
    GraphScope scope;
    const auto call = [](UOp x, uint64_t id) { return make(Op::custom, dtypes::none, {x}, CustomArg{id}); };
    const auto pick = [](UOp called) { return make(Op::pick, dtypes::float32, {called}, IndexArg{0}); };
    const UOp x = filled({12}), y = filled({12}), first = call(x, 1);
    const auto both = [&](UOp other) { return of({pick(first) + pick(other)}); };
    EXPECT_EQ(both(call(y, 2)).form, both(call(y, 3)).form);
    EXPECT_NE(both(call(y, 2)).form, both(call(y, 1)).form) << "one kernel, called twice";
    EXPECT_NE(both(call(y, 2)).form, both(call(x, 2)).form);
    EXPECT_EQ(both(call(y, 2)).calls, (std::vector<UOp>{first, call(y, 2)}));
    const std::vector<UOp> roots{pick(first) + number(1)};
    EXPECT_TRUE(signature_of(roots, [&](UOp u) { return u == pick(first) ? y : UOp(); }).calls.empty());
}

TEST(Signature, OfALongChainIsFoundWithoutAStackOfItsOwn) {
    GraphScope scope;
    UOp u = filled({2});
    for (int i = 0; i < 200'000; ++i) u = u + number(i % 5);
    EXPECT_EQ(of({u}).numbers.size(), 5u);
}

TEST(NumberTensors, BecomeParametersBehindTheBuffersThatAKernelReads) {
    GraphScope scope;
    const UOp x = filled({8}), y = filled({8});
    const auto wide = [](UOp number) { return expand(reshape(number, {1}), {8}); };
    BoundKernel bound =
        bound_of(x * wide(number_tensor(5, dtypes::float32)) + y * wide(number_tensor(2, dtypes::float32)));
    const std::vector<UOp> all = bound.buffers;
    ASSERT_EQ(all.size(), 5u);
    const std::vector<int> places = take_number_tensors(bound.kernel.sink, bound.buffers);
    EXPECT_EQ(std::set<int>(places.begin(), places.end()), (std::set<int>{2, 5}));
    EXPECT_EQ(bound.buffers.size(), 3u);
    EXPECT_TRUE(verify_kernel(bound.kernel.sink));
    std::set<int> params, variables;
    for (UOp u : toposort(bound.kernel.sink)) {
        if (u.is(Op::param)) params.insert(u.as<ParamArg>().slot);
        if (u.is(Op::define_var)) variables.insert(u.as<VariableArg>().slot);
    }
    EXPECT_EQ(params, (std::set<int>{0, 1, 2}));
    EXPECT_EQ(variables, (std::set<int>{3, 4}));
}

}  // namespace
}  // namespace strata::codegen
