// Predicated accesses whose predicate is left to the bounds of a buffer, run in strict mode against what the kernels
// say.
#include <fmt/format.h>

#include "function.h"
#include "strata/asm/emu/gpu.h"
#include "strata/codegen/lower/lower.h"

namespace strata::codegen {
namespace {

constexpr int64_t kBefore = 20, kThreads = 64;

UOp all_of(UOp a, UOp b) { return alu(Op::bit_and, {a, b}); }
UOp at_least(UOp x, int64_t n) { return alu(Op::logical_not, {x < n}); }
UOp zero() { return constant(dtypes::float32, 0); }

/// out[g * 64 + t] = sum of in[g * 64 + t - 20 + r] for r below `width`, which is `otherwise` outside of its `size`
/// elements.
Kernel window(int64_t size, int64_t groups, UOp otherwise, int64_t width = 2 * kBefore) {
    UOp out = param(0, groups * kThreads), in = param(1, size);
    UOp g = range(0, groups, Axis::global), t = range(1, kThreads, Axis::local), r = range(2, width, Axis::reduce);
    UOp place = g * kThreads + t, from = place + r;
    UOp value = load(at(in, from - kBefore, all_of(at_least(from, kBefore), from < size + kBefore)), otherwise);
    return kernel("window", end(store(at(out, place), reduce(Op::add, value, {r})), {g, t}));
}

/// out[t * 8 + j] = in[t * 8 + j] * 2 where t + 3 * j is below `limit`, j in one thread.
Kernel ragged(int64_t limit, int64_t size) {
    UOp out = param(0, size), in = param(1, size);
    UOp t = range(0, size / 8, Axis::local), j = range(1, 8, Axis::upcast);
    UOp place = t * 8 + j, predicate = t + j * 3 < limit;
    UOp value = load(at(in, place, predicate), zero());
    return kernel("ragged", end(store(at(out, place, predicate), value + value), {t, j}));
}

struct Ran {
    std::string text;
    std::vector<float> out;
};

class Buffers : public testing::TestWithParam<isa::Arch> {
  protected:
    Lowered lowered(const Kernel& kernel) const {
        const Target target = target_of(GetParam(), Route::asm_);
        program_ = linearize(kernel, target).value();
        return lower(program_, target, Text::yes).value();
    }

    /// With -1 in all of the output before.
    Ran run(const Kernel& kernel, const std::vector<float>& in, size_t out_size) const {
        const Lowered made = lowered(kernel);
        Ran ran{made.assembly, std::vector<float>(out_size, -1)};
        emu::Gpu gpu(GetParam());
        auto module = gpu.load(made.object(GetParam()).value()).value();
        std::array<uint64_t, 2> arguments{gpu.allocate(out_size * 4).value(), gpu.allocate(in.size() * 4).value()};
        EXPECT_TRUE(gpu.write(arguments[0], ran.out.data(), out_size * 4));
        EXPECT_TRUE(gpu.write(arguments[1], in.data(), in.size() * 4));
        std::vector<lint::Finding> found;
        auto launched = gpu.launch(
            *module, program_.name,
            {.grid = program_.grid, .block = program_.block, .check = emu::Check::report, .findings = &found},
            std::span(reinterpret_cast<const uint8_t*>(arguments.data()), 16));
        EXPECT_TRUE(launched) << launched.error().message << ran.text;
        EXPECT_TRUE(found.empty()) << found[0].what << "\n" << ran.text;
        EXPECT_TRUE(gpu.read(ran.out.data(), arguments[0], out_size * 4));
        return ran;
    }

  private:
    mutable LinearProgram program_;
};

std::vector<float> numbers(size_t count) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i * i % 97 + 1);
    return out;
}

TEST_P(Buffers, LoadsOfLanesThatAPredicateLeavesOutGiveZeroWithoutABranch) {
    GraphScope scope;
    for (const auto [size, width] : {std::pair{1, 40}, {50, 40}, {130, 40}, {192, 40}, {50, 7}, {180, 5}}) {
        const std::vector<float> in = numbers(static_cast<size_t>(size));
        const Ran ran = run(window(size, 3, zero(), width), in, 3 * kThreads);
        EXPECT_NE(ran.text.find("buffer_load"), std::string::npos) << ran.text;
        EXPECT_EQ(ran.text.find("execz"), std::string::npos) << ran.text;
        for (int64_t i = 0; i < 3 * kThreads; ++i) {
            float wanted = 0;
            for (int64_t from = i - kBefore; from < i - kBefore + width; ++from)
                if (from >= 0 && from < size) wanted += in[static_cast<size_t>(from)];
            ASSERT_EQ(ran.out[static_cast<size_t>(i)], wanted) << i << " of " << size << "\n" << ran.text;
        }
    }
}

TEST_P(Buffers, StoresOfLanesThatAPredicateLeavesOutDoNothing) {
    GraphScope scope;
    for (const int64_t limit : {1, 20, 30}) {
        const std::vector<float> in = numbers(128);
        const Ran ran = run(ragged(limit, 128), in, 128);
        if (limit == 20) {
            EXPECT_NE(ran.text.find("buffer_store"), std::string::npos) << ran.text;
            EXPECT_EQ(ran.text.find("execz"), std::string::npos) << ran.text;
        }
        for (int64_t i = 0; i < 128; ++i)
            ASSERT_EQ(ran.out[static_cast<size_t>(i)], i / 8 + i % 8 * 3 < limit ? 2 * in[static_cast<size_t>(i)] : -1)
                << i << " of " << limit << "\n"
                << ran.text;
    }
}

TEST_P(Buffers, DescriptorsHaveTheMemorysSizeAndAreRaw) {
    GraphScope scope;
    const std::string text = lowered(window(1000, 16, zero())).assembly;
    const bool cdna = isa::is_cdna(isa::info(GetParam()).family);
    EXPECT_NE(text.find(cdna ? ", 0x27000" : ", 0x31016000"), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format(", {:#x}", 4 * (1000 + kBefore))), std::string::npos) << text;  // begins 20 before
}

TEST_P(Buffers, PredicatesStayWhereBoundsDoNotReplaceThem) {
    GraphScope scope;
    constexpr int64_t kMost = int64_t{1} << 28;  // floats
    auto has_buffers = [&](const Kernel& kernel) {
        return lowered(kernel).assembly.find("buffer_") != std::string::npos;
    };
    EXPECT_TRUE(has_buffers(window(kMost, 4, zero())));
    EXPECT_FALSE(has_buffers(window(kMost + 1, 4, zero())));                   // too far for an offset
    EXPECT_FALSE(has_buffers(window(100, 4, constant(dtypes::float32, 1))));   // lanes left out are not 0
    UOp out = param(0, 64), in = param(1, 64), t = range(0, 64, Axis::local);  // not worth a descriptor
    EXPECT_FALSE(has_buffers(kernel("once", end(store(at(out, t), load(at(in, t, t < 50), zero())), {t}))));
    UOp rows = param(0, 64 * 64), g = range(1, 64, Axis::global), r = range(2, 9, Axis::reduce);  // one group of 64
    UOp seldom = reduce(Op::add, load(at(in, t + r, g < 1), zero()), {r});
    EXPECT_FALSE(has_buffers(kernel("seldom", end(store(at(rows, g * 64 + t), seldom), {g, t}))));
}

INSTANTIATE_TEST_SUITE_P(, Buffers, testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
