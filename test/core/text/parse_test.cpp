#include "strata/core/text/parse.h"

#include <gtest/gtest.h>

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
