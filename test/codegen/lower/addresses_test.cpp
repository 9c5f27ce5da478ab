// Offsets of 64 bits: what all lanes share goes into a scalar base, what differs between them into 32 bits a lane.
#include "function.h"
#include "strata/asm/emu/gpu.h"
#include "strata/codegen/lower/lower.h"

namespace strata::codegen {
namespace {

constexpr int64_t kLanesOfSum = 64, kTermsOfSum = 5, kFewGroups = 3, kManyGroups = 1 << 20;

struct PlaceCase {
    const char* name;
    UOp (*place)(UOp g, UOp t, UOp r);
    int64_t (*element)(int64_t g, int64_t t, int64_t r);
    bool splits;
};
const PlaceCase kPlaceCases[] = {
    {"Sums", [](UOp g, UOp t, UOp r) { return g * 4096 + t * 3 + r * 600 + 7; },
     [](int64_t g, int64_t t, int64_t r) { return g * 4096 + t * 3 + r * 600 + 7; }, true},
    {"SumsThatAreMultiplied", [](UOp g, UOp t, UOp r) { return (g * 1365 + t + r * 100 + 2) * 3; },
     [](int64_t g, int64_t t, int64_t r) { return (g * 1365 + t + r * 100 + 2) * 3; }, true},
    {"ConstantsBeyondTheInstruction", [](UOp g, UOp t, UOp r) { return g * 80000 + t + r * 64 + 70000; },
     [](int64_t g, int64_t t, int64_t r) { return g * 80000 + t + r * 64 + 70000; }, true},
    {"AllLanesAlike", [](UOp g, UOp, UOp r) { return g * 4096 + r * 600; },
     [](int64_t g, int64_t, int64_t r) { return g * 4096 + r * 600; }, true},
    {"LanesThatCountDown", [](UOp g, UOp t, UOp r) { return g * 4096 + t * -3 + r * 600 + 500; },
     [](int64_t g, int64_t t, int64_t r) { return g * 4096 - t * 3 + r * 600 + 500; }, false},
};

using WideAddresses = testing::TestWithParam<std::tuple<isa::Arch, PlaceCase>>;

/// Each thread's sum of the elements at its places, one a term. The kernel knows that g is below kManyGroups alone.
Kernel summed_places(const PlaceCase& c) {
    UOp out = param(0, kManyGroups * kLanesOfSum), in = param(1, kManyGroups * 4096);
    UOp g = range(0, kManyGroups, Axis::global), t = range(1, kLanesOfSum, Axis::local),
        r = range(2, kTermsOfSum, Axis::reduce);
    return kernel(
        "sums", end(store(at(out, g * kLanesOfSum + t), reduce(Op::add, load(at(in, c.place(g, t, r))), {r})), {g, t}));
}

TEST_P(WideAddresses, ReachTheElementByASharedBaseWhereLanesAreNear) {
    const auto [arch, c] = GetParam();
    GraphScope scope;
    const Target target = target_of(arch, Route::asm_);
    const LinearProgram program = linearize(summed_places(c), target).value();
    const Lowered made = lower(program, target, Text::yes).value();
    std::vector<float> in(1 << 19), out(kFewGroups * kLanesOfSum);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 1009);
    emu::Gpu gpu(arch);
    auto module = gpu.load(made.object(arch).value()).value();
    std::array<uint64_t, 2> arguments{gpu.allocate(out.size() * 4).value(), gpu.allocate(in.size() * 4).value()};
    ASSERT_TRUE(gpu.write(arguments[1], in.data(), in.size() * 4));
    const auto launched = gpu.launch(*module, program.name, {.grid = {kFewGroups, 1, 1}, .block = program.block},
                                     std::span(reinterpret_cast<const uint8_t*>(arguments.data()), 16));
    ASSERT_TRUE(launched) << launched.error().message << made.assembly;
    ASSERT_TRUE(gpu.read(out.data(), arguments[0], out.size() * 4));
    for (int64_t i = 0; i < kFewGroups * kLanesOfSum; ++i) {
        float wanted = 0;
        for (int64_t r = 0; r < kTermsOfSum; ++r)
            wanted += in[static_cast<size_t>(c.element(i / kLanesOfSum, i % kLanesOfSum, r))];
        ASSERT_EQ(out[static_cast<size_t>(i)], wanted) << i << "\n" << made.assembly;
    }
    bool adds_pairs = false;
    for (const char* name : {"v_add_co_", "v_addc_co_", "v_lshl_add_u64"})
        adds_pairs |= made.assembly.find(name) != std::string::npos;
    EXPECT_EQ(adds_pairs, !c.splits) << made.assembly;
}

INSTANTIATE_TEST_SUITE_P(, WideAddresses, testing::Combine(testing::ValuesIn(kArchs), testing::ValuesIn(kPlaceCases)),
                         [](const auto& of) {
                             return std::string(isa::info(std::get<0>(of.param)).name) + std::get<1>(of.param).name;
                         });

}  // namespace
}  // namespace strata::codegen
