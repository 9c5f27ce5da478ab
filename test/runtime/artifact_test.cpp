#include "strata/runtime/artifact.h"

#include "helpers.h"

namespace strata::runtime {
namespace {

using namespace test;

Artifact compiled(UOp root, const std::string& arch) { return compile(std::vector<UOp>{root}, target_named(arch)); }

TEST_F(Runtime, AnArtifactHoldsEveryKernelInOrderAndRunsNone) {
    GraphScope scope;
    UOp x = filled({4, 64, 32});
    Artifact a =
        compile(std::vector<UOp>{reduce(x, Op::max, {0, 2}), filled({96}) + number(1)}, target_named("gfx1100"));
    ASSERT_EQ(a.kernels.size(), 2u);
    EXPECT_EQ(a.kernels[0].entry, "r_64_4_32");
    EXPECT_EQ(a.kernels[1].entry, "e_96");
    for (const executable::Code& k : a.kernels) {
        EXPECT_EQ(k.object->arch, isa::Arch::gfx1100);
        EXPECT_GT(k.info().vgprs, 0u);
        EXPECT_GT(k.info().sgprs, 0u);
        EXPECT_NE(k.text.find(k.entry), std::string::npos);
        EXPECT_FALSE(k.schedule.empty());
    }
    EXPECT_EQ(stats().kernels, 0u);
}

TEST_F(Runtime, AnArtifactIsForTheArchitectureAskedFor) {
    GraphScope scope;
    UOp root = filled({64}) + number(1);
    for (const char* arch : {"gfx1100", "gfx942", ""}) {
        Artifact a = compiled(root, arch);
        ASSERT_EQ(a.kernels.size(), 1u);
        EXPECT_EQ(isa::info(a.kernels[0].object->arch).name, *arch ? arch : "gfx1100");
    }
    expect_error(ErrorKind::Device, "unknown architecture 'gfx1'", [&] { compiled(root, "gfx1"); });
}

TEST_F(Runtime, AnArtifactOfAUsersKernelHasItsResources) {
    CustomKernel kernel{codegen::HipSource{R"(#include <hip/hip_runtime.h>
extern "C" __global__ void shared(float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[255 - threadIdx.x];
})",
                                           "shared", false},
                        "shared",
                        {2, 1, 1},
                        {256, 1, 1},
                        0,
                        ""};
    Artifact a = compile(kernel, target_named("gfx1100"));
    ASSERT_EQ(a.kernels.size(), 1u);
    EXPECT_EQ(a.kernels[0].info().lds, 1024u);
    EXPECT_EQ(a.kernels[0].grid[0], 2u);
    EXPECT_EQ(a.kernels[0].block[0], 256u);
    CustomKernel finished{a.kernels[0].code_object(), "shared", {1, 1, 1}, {64, 1, 1}, 0, "gfx1100"};
    Artifact again = compile(finished, target_named("gfx1100"));
    EXPECT_EQ(again.kernels.at(0).code_object(), a.kernels[0].code_object());
    EXPECT_EQ(again.kernels[0].info().lds, 1024u);
    finished.name = "missing";
    expect_error(ErrorKind::Launch, "no kernel 'missing'", [&] { compile(finished, target_named("gfx1100")); });
}

TEST_F(Runtime, TheTargetOfTheSettingsDecidesTheRoute) {
    GraphScope scope;
    Root x = on_device(counting(64));
    std::vector<UOp> roots{x.get() + number(1)};
    Settings s = settings();
    s.target = "asm";
    ScopedSettings by_setting(s);
    const Artifact made = compile(roots, target_named("gfx1100"));
    ASSERT_EQ(made.kernels.size(), 1u);
    EXPECT_EQ(made.kernels[0].route, "direct lowering");
    realize(roots);
}

TEST_F(Runtime, AMistakeInTheSourceIsACompileErrorWithItsPlace) {
    CustomKernel kernel{codegen::HipSource{"__global__ void k(float* x) {\n  x[0] = nonsense;\n}", "k"}, "k"};
    try {
        compile(kernel, target_named("gfx1100"));
        ADD_FAILURE() << "no error";
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Compile);
        EXPECT_EQ(e.error().line, 2);
        EXPECT_NE(e.error().log.find("nonsense"), std::string::npos);
        EXPECT_NE(e.error().source.find("nonsense"), std::string::npos);
    }
}

}  // namespace
}  // namespace strata::runtime
