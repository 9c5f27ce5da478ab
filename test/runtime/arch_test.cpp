#include <fmt/format.h>

#include "helpers.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {
namespace {

using namespace test;

/// The same work on an emulated arch of every family.
class EveryArch : public Runtime, public ::testing::WithParamInterface<isa::ArchInfo> {
  protected:
    EveryArch() {
        Settings s = settings();
        s.device = fmt::format("emu:{}", GetParam().name);
        scope_.emplace(s);
    }

  private:
    std::optional<ScopedSettings> scope_;
};

TEST_P(EveryArch, ALargeSumIsExactInItsStages) {
    std::vector<int32_t> host(100'003);
    int64_t total = 0;
    for (size_t i = 0; i < host.size(); ++i) total += host[i] = static_cast<int32_t>(i % 1009) - 400;
    Root x = on_device(host, dtypes::int32), root;
    {
        GraphScope scope;
        root = Root(sum(x.get(), {0}));
    }
    EXPECT_EQ(values<int32_t>(realized(root.get()))[0], static_cast<int32_t>(total));
}

TEST_P(EveryArch, ARowSumOfProductsIsComputed) {
    Root x = on_device(counting(12)), root;
    {
        GraphScope scope;
        root = Root(sum(reshape(x.get(), {3, 4}) * number(2), {1}));
    }
    Root got = realized(root.get());
    EXPECT_EQ(values(got), (std::vector<float>{12, 44, 76}));
    EXPECT_GT(stats().time_ms, 0);
}

/// Halves of a block's values meet in local memory; the wave's size is that of the arch.
constexpr const char* kReverse = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void reverse(float* x) {
    __shared__ float part[256];
    part[threadIdx.x] = x[threadIdx.x] * warpSize;
    __syncthreads();
    x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x] + __shfl(part[threadIdx.x], 0);
}
)";

TEST_P(EveryArch, AUsersKernelUsesLocalMemoryAndLaneExchange) {
    Root x = on_device(counting(256, 1)), launch, root;
    {
        GraphScope scope;
        CustomKernel kernel{codegen::HipSource{kReverse, "reverse", false}, "reverse", {1, 1, 1}, {256, 1, 1}, 0, ""};
        const CustomArg arg = register_custom({std::make_shared<const CustomKernel>(std::move(kernel))});
        UOp node = make(Op::custom, dtypes::none, {x.get()}, arg);
        launch = Root(node);
        root = Root(make(Op::pick, x.get().dtype(), {launch.get()}, IndexArg{0}));
    }
    const int wave = GetParam().wave_size;
    std::vector<float> got = values(realized(root.get()));
    for (int i = 0; i < 256; ++i)
        ASSERT_EQ(got[static_cast<size_t>(i)], static_cast<float>((256 - i) * wave + (i / wave * wave + 1) * wave))
            << i;
}

INSTANTIATE_TEST_SUITE_P(Archs, EveryArch, ::testing::ValuesIn(isa::first_archs()),
                         [](const auto& arch) { return std::string(arch.param.name); });

}  // namespace
}  // namespace strata::runtime
