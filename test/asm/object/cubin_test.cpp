// kernels_sm_90.cubin was made by NVRTC 13.0.88 for sm_90 from:
//   struct S { int a; double b; };
//   __device__ float table[7]; __constant__ int ctab[3]; __device__ int zeroed[2] = {1, 2};
//   extern "C" __global__ void __launch_bounds__(64) k(const float* p, int n, double* q, S s, char c) { ... float t[64]
//   of __shared__ ... }
//   template <class T> __global__ void tt(T* p) { p[0] = 1; }  template __global__ void tt<float>(float*);
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "strata/asm/object/code_object.h"

namespace strata::isa {
namespace {

Bytes file() {
    std::ifstream in(STRATA_SOURCE_DIR "/test/asm/object/kernels_sm_90.cubin", std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
}

TEST(Cubin, KernelsHaveTheirParametersWhereTheDeclarationPutsThem) {
    const CodeObject object = CodeObject::parse(file()).value();
    EXPECT_TRUE(object.for_nvidia);
    EXPECT_TRUE(object.segments.empty());
    const KernelInfo* const k = object.kernel("k").value();
    ASSERT_EQ(k->args.size(), 5u);
    const uint32_t offsets[] = {0, 8, 16, 24, 40}, sizes[] = {8, 4, 8, 16, 1};
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(k->args[i].offset, offsets[i]);
        EXPECT_EQ(k->args[i].size, sizes[i]);
    }
    EXPECT_EQ(k->kernarg_size, 41u);
    EXPECT_GE(k->lds, 64 * sizeof(float));  // with what the system keeps of it on sm_90: 1 KiB
    EXPECT_EQ(k->vgprs, 13u);
    EXPECT_EQ(k->scratch, 0u);
}

TEST(Cubin, InstancesOfTemplatesAreKernelsToo) {
    const CodeObject object = CodeObject::parse(file()).value();
    EXPECT_EQ(object.kernels.size(), 2u);
    const KernelInfo* const instance = object.find("_Z2ttIfEvPT_");
    ASSERT_TRUE(instance);
    EXPECT_EQ(instance->args.size(), 1u);
}

TEST(Cubin, VariablesAreSymbolsWithTheirSizes) {
    const CodeObject object = CodeObject::parse(file()).value();
    std::vector<std::pair<std::string, uint64_t>> found;
    for (const Symbol& symbol : object.symbols) found.emplace_back(symbol.name, symbol.size);
    std::ranges::sort(found);
    EXPECT_EQ(found, (std::vector<std::pair<std::string, uint64_t>>{{"ctab", 12}, {"table", 28}, {"zeroed", 8}}));
}

TEST(Cubin, AnUnknownKernelIsToldTheKnownOnes) {
    const CodeObject object = CodeObject::parse(file()).value();
    const Error error = object.kernel("none").error();
    EXPECT_NE(error.message.find("_Z2ttIfEvPT_"), std::string::npos) << error.message;
}

TEST(Cubin, DamagedFilesAreErrorsAndNothingWorse) {
    const Bytes whole = file();
    ASSERT_GT(whole.size(), 4000u);
    for (size_t size = 0; size < whole.size(); size += 97) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_FALSE(CodeObject::parse(cut)) << size;
    }
    for (size_t at = 0; at < whole.size(); at += 3) {  // any outcome, within the file
        Bytes changed = whole;
        changed[at] ^= 0xff;
        (void)CodeObject::parse(std::move(changed));
    }
}

}  // namespace
}  // namespace strata::isa
