// Loops that threads leave by themselves come through all passes: what the list means is what the graph says.
#include "interpreter.h"
#include "kernels.h"
#include "strata/core/uop/kernel.h"

#include "../target/gfx1100.h"

namespace strata::codegen {
namespace {

constexpr int64_t kThreads = 48;

Memory numbers(int64_t out, std::vector<int64_t> x) {
    Memory memory;
    memory[0] = Scalars(static_cast<size_t>(out), int_value(-7));
    for (int64_t i : x) memory[1].push_back(int_value(i));
    return memory;
}

std::vector<int64_t> run(const Kernel& kernel, Memory memory) {
    Result<LinearProgram> program = linearize(kernel, gfx1100);
    EXPECT_TRUE(program) << program.error().message;
    std::vector<int64_t> out;
    if (!program) return out;
    Interpreter(*program, memory).run();
    for (const ConstArg& value : memory[0]) out.push_back(value.i);
    return out;
}

UOp integer(int64_t n) { return constant_int(dtypes::int32, n); }

/// out[t] = the sum of r for r below x[t], of loads that would leave the memory from x[t] on.
Kernel counted(int64_t most) {
    const UOp out = uop::buffer(0, dtypes::int32, kThreads), x = uop::buffer(1, dtypes::int32, kThreads + 4);
    const UOp t = uop::range(kThreads, 0, Axis::local), r = uop::range(most, 1, Axis::loop);
    const UOp acc = uop::placeholder(1, dtypes::int32, Space::reg, 0);
    const UOp start = uop::store(uop::at(acc, 0), integer(0));
    const UOp left = uop::break_if(alu(Op::logical_not, {cast(r, dtypes::int32) < uop::load(uop::at(x, t))}), r);
    const UOp now = uop::after(acc, {start, r, left}), next = uop::load(uop::at(uop::after(x, {left}), r));
    const UOp done = uop::end(uop::store(uop::at(now, 0), uop::load(uop::at(now, 0)) + next), {r});
    return kernel("counted",
                  uop::end(uop::store(uop::at(out, t), uop::load(uop::at(uop::after(acc, {done}), 0))), {t}));
}

TEST(BreakIf, EachThreadTakesItsOwnNumberOfSteps) {
    std::vector<int64_t> x, want;
    for (int64_t i = 0; i < kThreads + 4; ++i) x.push_back(i * 7 % 13);
    for (int64_t t = 0; t < kThreads; ++t) {
        int64_t sum = 0;
        for (int64_t r = 0; r < x[static_cast<size_t>(t)]; ++r) sum += x[static_cast<size_t>(r)];
        want.push_back(sum);
    }
    EXPECT_EQ(run(counted(2147483647), numbers(kThreads, x)), want);
}

TEST(BreakIf, ALoopOfOneStepIsACondition) {
    const UOp out = uop::buffer(0, dtypes::int32, kThreads), x = uop::buffer(1, dtypes::int32, 20);
    const UOp t = uop::range(kThreads, 0, Axis::local), r = uop::range(1, 1, Axis::loop);
    const UOp left = uop::break_if(alu(Op::logical_not, {t < 20}), r);
    const UOp stored = uop::store(uop::at(uop::after(out, {left}), t), uop::load(uop::at(uop::after(x, {left}), t)));
    std::vector<int64_t> given, want(kThreads, -7);
    for (int64_t i = 0; i < 20; ++i) given.push_back(i * i), want[static_cast<size_t>(i)] = i * i;
    EXPECT_EQ(run(kernel("condition", uop::end(uop::end(stored, {r}), {t})), numbers(kThreads, given)), want);
}

/// A loop that copies to local memory and meets at barriers, which prefetch reads ahead of where nothing leaves it.
TEST(BreakIf, NothingIsReadForAStepThatMayNotCome) {
    const UOp out = uop::buffer(0, dtypes::int32, kThreads), x = uop::buffer(1, dtypes::int32, 3 * kThreads);
    const UOp t = uop::range(kThreads, 0, Axis::local), r = uop::range(8, 1, Axis::loop);
    const UOp lds = uop::placeholder(kThreads, dtypes::int32, Space::local, 0),
              acc = uop::placeholder(1, dtypes::int32, Space::reg, 0);
    const UOp left = uop::break_if(alu(Op::logical_not, {r < 3}), r);
    const UOp read = uop::load(uop::at(uop::after(x, {left}), r * kThreads + t));
    const UOp waited = uop::barrier(std::array{read});
    const UOp filled = uop::barrier(uop::store(uop::at(uop::after(lds, {waited}), t), read));
    const UOp start = uop::store(uop::at(acc, 0), integer(0));
    const UOp now = uop::after(acc, {start, r, left, filled});
    const UOp done =
        uop::end(uop::store(uop::at(now, 0), uop::load(uop::at(now, 0)) +
                                                 uop::load(uop::at(uop::after(lds, {filled}), (t + 1) % kThreads))),
                 {r});
    std::vector<int64_t> given, want;
    for (int64_t i = 0; i < 3 * kThreads; ++i) given.push_back(i % 17);
    for (int64_t i = 0; i < kThreads; ++i) {
        int64_t sum = 0;
        for (int64_t step = 0; step < 3; ++step)
            sum += given[static_cast<size_t>(step * kThreads + (i + 1) % kThreads)];
        want.push_back(sum);
    }
    const Kernel all =
        kernel("ahead", uop::end(uop::store(uop::at(out, t), uop::load(uop::at(uop::after(acc, {done}), 0))), {t}));
    EXPECT_EQ(run(all, numbers(kThreads, given)), want);
}

TEST(BreakIf, AnOuterLoopIsNotLeftFromAnInnerOne) {
    const UOp out = uop::buffer(0, dtypes::int32, 64);
    const UOp outer = uop::range(4, 0, Axis::loop), inner = uop::range(4, 1, Axis::loop);
    const UOp left = uop::break_if(inner < outer, outer);
    const UOp stored = uop::store(uop::at(uop::after(out, {left}), outer * 4 + inner), integer(1));
    const Result<LinearProgram> program =
        linearize(kernel("outer", uop::end(uop::end(stored, {inner}), {outer})), gfx1100);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().kind, ErrorKind::Usage);
    EXPECT_NE(program.error().message.find("leave the outer loop after the inner one's end"), std::string::npos)
        << program.error().message;
}

}  // namespace
}  // namespace strata::codegen
