// HIP source for NVIDIA's chips. Compilation needs NVRTC (pip install nvidia-cuda-nvrtc, its folder in LD_LIBRARY_PATH)
// and no card.
#include "strata/codegen/toolchain/nvrtc/nvrtc.h"

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "fixtures.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/signature/parameters.h"
#include "strata/codegen/toolchain/prelude.h"

namespace strata::codegen {
namespace {

const Chip hopper = *Chip::parse("sm_90");

HipSource users(std::string text, std::string kernel) {
    return {.text = std::move(text), .kernel = std::move(kernel), .freestanding = false};
}

TEST(NvidiaPrelude, ASourceGetsOnlyTheSectionsItUses) {
    const std::string plain = nvidia_prelude_for("float x;"), narrow = nvidia_prelude_for("half x; y = tanh(x);");
    EXPECT_EQ(plain.find("struct half"), std::string::npos);
    EXPECT_NE(narrow.find("struct half"), std::string::npos);
    EXPECT_NE(narrow.find("STRATA_MATH1(tanh)"), std::string::npos);
    EXPECT_EQ(narrow.find("amdgcn"), std::string::npos);
}

TEST(NvidiaPrelude, WordsOfHipsHeadersBringWhatTheyAreMadeOf) {
    const std::string halves = nvidia_prelude_for("__half2 v; v = __hadd2(v, v);"), none = nvidia_prelude_for("int i;");
    for (const char* part :
         {"struct half {", "STRATA_NARROW_VECTORS(half)", "typedef half2 __half2;", "half2 __hadd2("}) {
        EXPECT_NE(halves.find(part), std::string::npos) << part;
        EXPECT_EQ(none.find(part), std::string::npos) << part;
    }
    EXPECT_NE(nvidia_prelude_for("__ballot(1)").find("#define __ballot strata_ballot"), std::string::npos);
    EXPECT_NE(nvidia_prelude_for("hip_bfloat16 x;").find("struct bfloat16 {"), std::string::npos);
}

TEST(Nvrtc, OptionsOfClangArePassedOnWhereBothHaveThem) {
    HipSource source = users("", "");
    source.options = {"-DN=4", "-O1", "-ffast-math"};
    const std::vector<std::string> options = nvrtc_options(source, hopper).value();
    for (const char* wanted : {"--gpu-architecture=sm_90a", "-DN=4", "--use_fast_math", "-std=c++17"})
        EXPECT_NE(std::ranges::find(options, wanted), options.end()) << wanted;
    EXPECT_EQ(std::ranges::find(options, "-O1"), options.end());
    source.options = {"-mcumode"};
    const auto refused = nvrtc_options(source, hopper);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
    EXPECT_NE(refused.error().message.find("-mcumode"), std::string::npos);
}

TEST(Nvrtc, CopiesOfAStepAreWaitedForTogether) {
    GraphScope scope;
    const Target target = target_of(hopper);
    const Kernel product = start_schedule(built(test::matmul(test::filled({64, 256}), test::filled({256, 64}))).kernel);
    const auto actions = parse_actions("upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 16) async_copy(0, 16)").value();
    const std::string text = render_kernel(apply_all(product, actions, target).value(), target).value().text;
    const auto count = [](std::string_view in, std::string_view what) {
        int n = 0;
        for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++n;
        return n;
    };
    const std::string_view before = std::string_view(text).substr(0, text.find("for ("));
    // Four of A's elements and a vector of B's a thread; local memory holds four steps, of which three are ahead.
    EXPECT_EQ(count(before, "strata_copy_async<"), 3 * 5) << text;
    EXPECT_EQ(count(before, "strata_copies_of_step_end();"), 3);
    EXPECT_EQ(count(text, "strata_copy_async<"), 4 * 5);
    EXPECT_EQ(count(text, "strata_copies_of_step_end();"), 4);
    EXPECT_EQ(count(text, "strata_copies_done<2>();"), 1);
    EXPECT_EQ(count(text, "strata_copies_done<"), 1);
    EXPECT_EQ(count(text, "#pragma unroll 16\n"), 1) << "a loop of few steps is written out whole";
}

class NvrtcTest : public CompileTest {
  protected:
    void SetUp() override {
        if (!nvrtc()) GTEST_SKIP() << nvrtc().error().message;
    }
};

TEST_F(NvrtcTest, AUsersKernelCompilesForEveryChipOfNvidia) {
    for (Chip chip : chips()) {
        if (chip.is_amd() || chip.name() == "sm_70") continue;  // CUDA 13 has no sm_70 any more
        const executable::Code made =
            compile_hip(
                users("#include <hip/hip_runtime.h>\n__global__ void scale(float* x, int n, const double* y) {\n"
                      "    int i = hipThreadIdx_x; if (i < n) x[i] = __shfl_xor(x[i], 1) * y[0];\n}\n",
                      "scale"),
                chip)
                .value();
        EXPECT_EQ(made.entry, "_Z5scalePfiPKd") << chip.name();
        const std::vector<executable::Parameter> parameters = parameters_of(made.info(), made.text);
        ASSERT_EQ(parameters.size(), 3u);
        EXPECT_EQ(parameters[0].kind, executable::Parameter::Kind::pointer);
        EXPECT_TRUE(parameters[0].writable);
        EXPECT_EQ(parameters[1].dtype, dtypes::int32);
        EXPECT_EQ(parameters[1].offset, 8u);
        EXPECT_EQ(parameters[2].kind, executable::Parameter::Kind::pointer);
        EXPECT_FALSE(parameters[2].writable);
    }
}

TEST_F(NvrtcTest, WhatHipsHeadersNameCompiles) {
    const std::pair<const char*, const char*> cases[] = {
        {"hip_fp16.h",
         "__half* o) { o[0] = __hfma(__hadd(o[0], __hmul(o[1], o[2])), o[3], hsqrt(o[4])); if (__hgt(o[0], o[1])) "
         "o[1] = __low2half(__float22half2_rn(__half22float2(__hmul2(__floats2half2_rn(1, 2), __half2{o[0], "
         "o[1]}))));"},
        {"hip_runtime.h", "_Float16* o, char c) { o[0] = c + 1; o[1] = 0.5; o[2] = o[3];"},
        {"hip_bfloat16.h", "hip_bfloat16* o) { o[0] = hip_bfloat16(float(o[1]) + 1);"},
        {"hip_bf16.h", "__hip_bfloat16* o) { o[0] = __float2bfloat16(__bfloat162float(o[1]) + 1);"},
        {"hip_complex.h",
         "hipFloatComplex* o) { o[0] = hipCdivf(hipCmulf(o[0], make_hipComplex(1, hipCabsf(o[1]))), o[2]);"},
        {"hip_complex.h",
         "hipDoubleComplex* o) { o[0] = hipCadd(hipConj(o[0]), make_hipDoubleComplex(1, hipCreal(o[1])));"},
        {"hip_cooperative_groups.h",
         "int* o) { auto b = cooperative_groups::this_thread_block(); auto t = "
         "cooperative_groups::tiled_partition<16>(b); "
         "o[cooperative_groups::this_grid().thread_rank()] = t.shfl_xor(o[b.thread_rank()], 1) + t.any(1); b.sync(); "
         "t.sync();"},
        {"hip_runtime.h",
         "int* o) { if (__any(o[0]) && !__all(o[1])) o[0] = __popcll(__ballot(o[2])) + __lane_id(); else abort();"},
        {"hip_runtime.h",
         "float* o) { unsafeAtomicAdd(o, (float)wall_clock64()); o[1] = std::max(o[2], FLT_MAX) + INT_MAX;"},
    };
    for (const auto& [header, body] : cases) {
        const std::string text =
            fmt::format("#include <hip/{}>\n#include <cfloat>\n__global__ void f({} }}\n", header, body);
        const auto made = compile_hip(users(text, "f"), hopper);
        EXPECT_TRUE(made) << text << (made ? "" : made.error().message);
    }
    const auto grid = compile_hip(users("#include <hip/hip_cooperative_groups.h>\n__global__ void f() { "
                                        "cooperative_groups::this_grid().sync(); }\n",
                                        "f"),
                                  hopper);
    ASSERT_FALSE(grid);
    EXPECT_NE(grid.error().message.find("cooperative launch"), std::string::npos) << grid.error().message;
}

TEST_F(NvrtcTest, AnInstanceOfATemplateIsFoundByItsName) {
    const HipSource source =
        users("template <class T, int n> __global__ void fill(T* x) { *x = n; }\n", "fill<float, 4>");
    EXPECT_EQ(compile_hip(source, hopper).value().entry, "_Z4fillIfLi4EEvPT_");
}

TEST_F(NvrtcTest, TypesOfParametersTellInstancesOfOneNameApart) {
    HipSource source = users(
        "template <class T> __global__ void fill(T* x, int) { *x = 1; }\n"
        "template <class T> __global__ void fill(T* x, const T*) { *x = 2; }\n",
        "fill<float>(float *, const float*)");
    EXPECT_EQ(compile_hip(source, hopper).value().entry, "_Z4fillIfEvPT_PKS0_");
    source.kernel = "fill<float>(float*, double)";
    const auto none = compile_hip(source, hopper);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::Usage);
    EXPECT_NE(none.error().message.find("has no kernel 'fill<float>(float*, double)'"), std::string::npos)
        << none.error().message;
}

TEST_F(NvrtcTest, AMistakeNamesTheUsersFileAndLine) {
    const auto made = compile_hip(users("__global__ void k(float* x) {\n    *y = 1;\n}\n", "k"), hopper);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::Compile);
    EXPECT_EQ(made.error().line, 2);
    EXPECT_NE(made.error().message.find("\"y\" is undefined"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace strata::codegen
