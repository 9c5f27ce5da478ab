// The runtime's caches stay within their budgets.
#include "helpers.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

using namespace test;

Settings with_budgets(uint64_t garbage_mb, uint64_t programs_mb) {
    Settings s = settings();
    s.garbage_mb = garbage_mb;
    s.programs_mb = programs_mb;
    return s;
}

/// 100000 x / divisor in integers, a program of its own for each divisor; of the second value.
float quotient(const Root& x, int divisor) {
    Root result;
    {
        GraphScope scope;
        const UOp n = cast(x.get() * number(100000), dtypes::int32);
        result = Root(cast(alu(Op::idiv, {n, constant_int(dtypes::int32, divisor)}), dtypes::float32));
    }
    const float value = values(realized(result.get()))[1];
    collect();
    return value;
}
float of_two(int divisor) { return static_cast<float>(200000 / divisor); }

TEST_F(Runtime, ProgramsBeyondTheBudgetGoWithTheirGraphsAndComeBack) {
    ScopedSettings scope(with_budgets(64, 1));
    Root x = on_device({1, 2, 3});
    size_t nodes = 0;
    for (int divisor = 3; divisor < 43; ++divisor) {
        ASSERT_EQ(quotient(x, divisor), of_two(divisor));
        if (divisor == 33) nodes = live_nodes();
    }
    const Stats after = stats();
    EXPECT_GE(after.evicted_programs, 10u);
    EXPECT_LE(after.program_bytes, size_t{1} << 20);
    EXPECT_LT(after.programs, 30u);
    EXPECT_GE(after.programs, 3u);
    EXPECT_LE(live_nodes(), nodes + 8) << "programs that went took their graphs with them";
    for (int divisor = 3; divisor < 43; divisor += 7) ASSERT_EQ(quotient(x, divisor), of_two(divisor));
}

TEST_F(Runtime, AProgramThatIsHeldRunsAfterItWasDisplaced) {
    ScopedSettings scope(with_budgets(64, 1));
    Root x = on_device({1, 2, 3}), out = on_device({0, 0, 0});
    Root sink;
    codegen::Kernel kernel;
    std::shared_ptr<Program> held;
    {
        GraphScope graph;
        kernel = codegen::start_kernel({out.get(), x.get() * number(77)}).kernel;
        sink = Root(kernel.sink);
        const codegen::Scheduled as_it_is{kernel, {}};
        held = programs(device(), std::span(&as_it_is, 1))[0];
        EXPECT_EQ(programs(device(), std::span(&as_it_is, 1))[0], held);
    }
    for (int divisor = 103; divisor < 133; ++divisor) quotient(x, divisor);
    {
        GraphScope graph;
        const codegen::Scheduled as_it_is{kernel, {}};
        EXPECT_NE(programs(device(), std::span(&as_it_is, 1))[0], held) << "it was displaced and made again";
    }
    held->launch(std::vector{find_buffer(out.get())->address(), find_buffer(x.get())->address()});
    EXPECT_EQ(values(out), (std::vector<float>{77, 154, 231}));
}

TEST_F(Runtime, MemoryOfDroppedTensorsIsFoundBeforeMoreIsTaken) {
    ScopedSettings scope(with_budgets(4, 256));
    constexpr size_t kMiB = 1 << 20;
    collect();
    reset_stats();
    const uint64_t before = stats().live_bytes;
    const std::vector<uint8_t> host(kMiB);
    for (int i = 0; i < 64; ++i) {
        Root dropped;
        {
            GraphScope graph;
            dropped = Root(new_buffer(device(), dtypes::uint8, kMiB));
        }
        find_buffer(dropped.get())->copy_in(host.data(), host.size());
    }
    EXPECT_LE(stats().peak_bytes, before + 8 * kMiB) << "what dies old, and what is new: a budget each";
    collect();
    EXPECT_EQ(stats().live_bytes, before);
    EXPECT_GE(stats().pooled_bytes, kMiB);
}

}  // namespace
}  // namespace strata::runtime
