#include "strata/codegen/signature/parameters.h"

#include <gtest/gtest.h>

namespace strata::codegen {
namespace {

isa::KernelInfo kernel(std::string name, std::vector<isa::KernelArg> args) {
    isa::KernelInfo info;
    info.name = std::move(name);
    info.args = std::move(args);
    return info;
}
isa::KernelArg memory() { return {0, 8, "global_buffer"}; }
isa::KernelArg value(uint32_t size) { return {0, size, "by_value"}; }

TEST(Parameters, OfAMangledNameHaveItsTypes) {
    // void scale<_Float16, 4>(_Float16*, _Float16 const*, _Float16, P<4>, unsigned long)
    auto p = parameters_of(
        kernel("_Z5scaleIDF16_Li4EEvPT_PKS0_S0_1PIXT0_EEm", {memory(), memory(), value(2), value(16), value(8)}), "");
    ASSERT_EQ(p.size(), 5u);
    EXPECT_TRUE(p[0].writable);
    EXPECT_FALSE(p[1].writable);
    EXPECT_EQ(p[2].dtype, dtypes::float16);
    for (size_t i : {0u, 1u}) EXPECT_EQ(p[i].pointee, dtypes::float16) << i;
    EXPECT_EQ(p[3].kind, executable::Parameter::Kind::opaque);
    EXPECT_FALSE(p[3].may_be_number);
    EXPECT_EQ(p[4].dtype, dtypes::uint64);
}

TEST(Parameters, OfAPlainNameAreReadFromTheText) {
    constexpr std::string_view text = R"(
typedef unsigned int index_t; using real = double;
#define half_t _Float16
struct Pair { float a, b; };
// __global__ void k(int wrong);
extern "C" __global__ void /* the kernel */ k(float* __restrict__ out, const float *x, float const* const y, float* const z,
    const float** rows, int m[], real s, index_t n, half_t h, const unsigned long long int big, Pair pair, color c,
    float2 v, std::size_t size = sizeof(Pair), bool on = f(1, 2));
)";
    std::vector<isa::KernelArg> args(6, memory());
    for (uint32_t size : {8, 4, 2, 8, 8, 4, 8, 8, 1}) args.push_back(value(size));
    auto p = parameters_of(kernel("k", args), text);
    ASSERT_EQ(p.size(), 15u);
    for (size_t i : {0u, 3u, 4u, 5u}) EXPECT_TRUE(p[i].writable) << i;
    for (size_t i : {1u, 2u}) EXPECT_FALSE(p[i].writable) << i;
    const DType types[] = {dtypes::float64, dtypes::uint32, dtypes::float16, dtypes::uint64};
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(p[6 + i].dtype, types[i]) << i;
    EXPECT_EQ(p[10].kind, executable::Parameter::Kind::opaque);
    EXPECT_FALSE(p[10].may_be_number);
    EXPECT_TRUE(p[11].may_be_number) << "an enum perhaps";
    EXPECT_FALSE(p[12].may_be_number);
    EXPECT_EQ(p[13].dtype, dtypes::uint64);
    EXPECT_EQ(p[14].dtype, dtypes::boolean);
    for (size_t i : {0u, 1u, 2u, 3u, 5u}) EXPECT_EQ(p[i].pointee, i == 5 ? dtypes::int32 : dtypes::float32) << i;
    EXPECT_FALSE(p[4].pointee) << "a pointer to pointers";
    const char* names[] = {"out", "x", "y", "z", "rows", "m", "s", "n", "h", "big", "pair", "c", "v", "size", "on"};
    for (size_t i = 0; i < 15; ++i) EXPECT_EQ(p[i].name, names[i]);
}

TEST(Parameters, HiddenOnesAreLeftOutAndTheMetadataComesFirst) {
    isa::KernelArg read_only = memory(), typed = value(4), hidden{24, 4, "hidden_block_count_x"};
    read_only.access = "read_only";
    read_only.name = "x";
    typed.type_name = "float";
    auto p = parameters_of(kernel("k", {read_only, typed, hidden}), "__global__ void k(int* a, int b) {}");
    ASSERT_EQ(p.size(), 2u);
    EXPECT_FALSE(p[0].writable);
    EXPECT_EQ(p[0].name, "x");
    EXPECT_EQ(p[1].dtype, dtypes::float32);
}

TEST(Parameters, ADeclarationOfAnotherLengthSaysNothing) {
    auto p = parameters_of(kernel("k", {memory(), value(4)}), "__global__ void k(const float* x) {}");
    EXPECT_TRUE(p[0].writable);
    EXPECT_EQ(p[1].kind, executable::Parameter::Kind::opaque);
    EXPECT_EQ(p[1].dtype, dtypes::none);
}

TEST(Parameters, SymbolsAreSpeltAsCppWritesThem) {
    EXPECT_EQ(demangled("a"), "a") << "not signed char";
    EXPECT_EQ(demangled("_Z1kPDF16_"), "k(_Float16*)");
    EXPECT_EQ(demangled("_Zbroken"), "_Zbroken");
}

}  // namespace
}  // namespace strata::codegen
