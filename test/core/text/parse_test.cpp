#include "strata/core/text/parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "strata/core/uop/kernel.h"

namespace strata {
namespace {

UOp sample_kernel() {
    const UOp out = uop::buffer(0, dtypes::float32, 64), a = uop::buffer(1, dtypes::float32, 64);
    const UOp t = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 64}), r = uop::range(4, 0, Axis::loop);
    const UOp lds = uop::placeholder(64, dtypes::float32, Space::local, 3);
    const UOp filled = uop::barrier(std::array{uop::store(uop::at(lds, t), uop::load(uop::at(a, t, t < 60)))});
    const UOp value = uop::load(uop::at(uop::after(lds, {filled, r}), t)) + constant(dtypes::float32, 0.1);
    const UOp count = uop::atomic(uop::at(uop::buffer(2, dtypes::int32, 1), 0),
                                  AtomicArg{AtomicOp::add, MemoryScope::device, 2}, uop::variable(3, dtypes::int32));
    const UOp wide = uop::vec(std::array{value, uop::shuffle_xor(value, 8)});
    return uop::sink(uop::group(std::array{uop::end(uop::store(uop::at(out, t * 2), wide), {r}),
                                           uop::effect_below(count), uop::fence(MemoryScope::system, {})}),
                     "sample");
}

TEST(ParseTree, ReadsWhatTreeWrites) {
    GraphScope scope;
    const UOp kernel = sample_kernel();
    const Result<UOp> read = parse_tree(tree(kernel));
    ASSERT_TRUE(read) << read.error().message << tree(kernel);
    EXPECT_EQ(*read, kernel);
}

TEST(ParseTree, NumbersKeepTheirBits) {
    GraphScope scope;
    for (const double x : {0.1, -0.0, 1e-45, 3.4028234663852886e38, HUGE_VAL, -HUGE_VAL}) {
        const UOp c = constant(dtypes::float32, x);
        EXPECT_EQ(parse_tree(tree(c)).value(), c) << x;
    }
    const UOp nan = constant(dtypes::float64, NAN);
    EXPECT_TRUE(std::isnan(parse_tree(tree(nan)).value().as<ConstArg>().f));
    for (const UOp c : {constant_int(dtypes::uint64, -1), constant_int(dtypes::int64, INT64_MIN),
                        constant_int(dtypes::uint8, 255), constant_int(dtypes::boolean, 1)})
        EXPECT_EQ(parse_tree(tree(c)).value(), c) << tree(c);
}

TEST(ParseTensors, ReadsALineANode) {
    GraphScope scope;
    const UOp a = make(Op::reshape, dtypes::float32, {stand_in(3, dtypes::float32, 24)}, ShapeArg{{4, 6}});
    const UOp turned = make(Op::permute, dtypes::float32, {a}, AxesArg{{1, 0}});
    const UOp padded = make(Op::pad, dtypes::float32, {turned}, BoundsArg{{{1, 2}, {0, 0}}});
    const UOp sum = make(Op::reduce, dtypes::float32, {padded}, ReduceArg{Op::add, {0, 1}});
    const std::vector<UOp> nodes = parse_tensors(
                                       "%0 = buffer float32 #3 size=24\n"
                                       "%1 = reshape float32 (4, 6)  <- %0\n"
                                       "%2 = permute float32 axes=(1, 0)  <- %1\n"
                                       "%3 = pad float32 (1, 2) (0, 0)  <- %2\n"
                                       "%4 = reduce float32 add axes=(0, 1)  <- %3\n")
                                       .value();
    EXPECT_EQ(nodes.back(), sum);
    EXPECT_EQ(nodes.front(), stand_in(3, dtypes::float32, 24));
}

TEST(ParseTensors, RefusesKernelsAndShapesThatDoNotFit) {
    GraphScope scope;
    EXPECT_FALSE(parse_tensors(tree(sample_kernel())));
    for (const char* argument : {"(4, 7)", "(4, -6)", "(24", "24", "(4, 6) x"}) {
        const auto read = parse_tensors(std::string("%0 = buffer float32 #0 size=24\n%1 = reshape float32 ") +
                                        argument + "  <- %0\n");
        ASSERT_FALSE(read) << argument;
        EXPECT_EQ(read.error().kind, ErrorKind::Usage);
    }
    EXPECT_FALSE(parse_tree("%0 = buffer float32 #0 size=24\n"));
}

TEST(ParseTree, ReadsTheHintsOfAKernel) {
    for (const SinkArg& arg :
         {SinkArg{"k", 2, 64}, SinkArg{"k", 0, 64}, SinkArg{"k", 4, 0}, SinkArg{"two words", 0, 0}}) {
        const Result<Arg> read = parse_arg(Op::sink, dtypes::none, to_string(Arg(arg), dtypes::none));
        ASSERT_TRUE(read);
        const auto& found = std::get<SinkArg>(*read);
        EXPECT_EQ(found.name, arg.name);
        EXPECT_EQ(found.waves, arg.waves);
        EXPECT_EQ(found.registers, arg.registers);
    }
}

/// A kernel of 16 threads that stores a value for each.
UOp kernel_of(UOp value, std::vector<UOp> earlier = {}) {
    const UOp t = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 16});
    return uop::sink(uop::store(uop::at(uop::after(uop::buffer(0, value.dtype(), 16), earlier), t), value), "k");
}

TEST(ParseTree, ReadsTextsOfTheUsersWithAllTheirCharacters) {
    GraphScope scope;
    const UOp number = constant(dtypes::uint32, 7);
    for (const ForeignArg& arg :
         {ForeignArg{"", "v_mov_b32 %0, %1"}, ForeignArg{"", "v_mov_b32 %0, %1\n  v_not_b32 %0, %0  \n"},
          ForeignArg{"f", "__device__ int f(int x) {\n    return x  <- 3 ? \"a\\n\"[0] : '\\\\';\n}"},
          ForeignArg{"g", "\\"}}) {
        const UOp kernel = kernel_of(uop::foreign(dtypes::uint32, arg, std::array{number}));
        const auto read = parse_tree(tree(kernel));
        ASSERT_TRUE(read.has_value()) << read.error().message;
        EXPECT_EQ(*read, kernel) << tree(kernel);
        EXPECT_EQ(std::ranges::count(to_string(uop::foreign(dtypes::uint32, arg, std::array{number})), '\n'), 0);
    }
    EXPECT_FALSE(parse_arg(Op::foreign, dtypes::uint32, "asm v_mov_b32 %0, %1").has_value()) << "without quotes";
    EXPECT_FALSE(parse_arg(Op::foreign, dtypes::uint32, "asm \"x\\\"").has_value()) << "a backslash alone";
}

TEST(ParseTree, ReadsPoliciesSchedulesAndCopies) {
    GraphScope scope;
    const UOp t = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 16});
    const UOp own = uop::placeholder(16, dtypes::float32, Space::local, 0), x = uop::buffer(1, dtypes::float32, 16);
    const UOp copied = uop::async_copy(uop::at(own, t), uop::at(x, t), 1);
    const UOp waited = uop::async_wait(1, std::array{uop::async_commit(std::array{copied})});
    const UOp ordered = uop::schedule({6}, std::array{uop::schedule({8, 4, 1}, std::array{waited})});
    for (const CachePolicy cache : {CachePolicy::all, CachePolicy::streaming, CachePolicy::keep}) {
        const UOp kernel = kernel_of(uop::load(uop::at(x, t, {}, cache)), {ordered});
        const auto read = parse_tree(tree(kernel));
        ASSERT_TRUE(read.has_value()) << read.error().message << tree(kernel);
        EXPECT_EQ(*read, kernel);
    }
    EXPECT_FALSE(parse_arg(Op::index, dtypes::float32, "often").has_value());
    EXPECT_TRUE(parse_arg(Op::index, dtypes::float32, "").has_value());
}

TEST(ParseTree, SaysWhichLineIsWrongAndWhy) {
    GraphScope scope;
    const auto said = [](const char* text) {
        const Result<UOp> read = parse_tree(text);
        return read ? "none" : read.error().message;
    };
    const auto holds = [&](const char* text, const char* what) {
        EXPECT_NE(said(text).find(what), std::string::npos) << said(text);
    };
    holds("", "this has none");
    holds("%0 = constant float32 1\n%2 = constant float32 1", "line 2 of the graph: begins with %1");
    holds("%0 = konstant float32 1", "'konstant' is no op");
    holds("%0 = constant float31 1", "'float31' is no type");
    holds("%0 = constant int8 300", "another argument");
    holds("%0 = constant float32 one", "another argument");
    holds("%0 = neg float32  <- %1", "the source '%1' is no node of a line before it");
    holds("%0 = constant float32 1\n%1 = add float32  <- %0", "takes 2 sources, got 1");
    holds("%0 = constant float32 1\n%1 = add int32  <- %0, %0", "types of add");
    holds("%0 = constant float32 1\n%1 = load float32  <- %0\n%2 = sink k  <- %1", "the text is of no kernel");
    holds("%0 = buffer float32 #1 size=4", "graphs of tensors");
    holds("%0 = range index r0 0 loop\n%1 = sink k  <- %0", "the text is of no kernel");
}

}  // namespace
}  // namespace strata
