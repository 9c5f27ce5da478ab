#include <dlfcn.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "fixtures.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/render/math_library.h"
#include "strata/codegen/toolchain/prelude.h"
#include "strata/core/dtype/dtype.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

using isa::Arch;

TEST(Prelude, ASourceGetsOnlyTheSectionsItUses) {
    Prelude plain = prelude_for("__global__ void k(float* x) { *x = 1; }");
    EXPECT_LT(plain.text.size(), 1500u);
    EXPECT_FALSE(plain.needs_ocml);
    EXPECT_EQ(plain.text.find("threadIdx"), std::string::npos);
    EXPECT_EQ(plain.text.find("//@"), std::string::npos);
    Prelude indexed = prelude_for("x[threadIdx.x] = make_float4(1, 2, 3, 4).x");
    EXPECT_NE(indexed.text.find("threadIdx = {}"), std::string::npos);
    EXPECT_NE(indexed.text.find("#define make_float4"), std::string::npos);
    EXPECT_EQ(indexed.text.find("blockIdx = {}"), std::string::npos);
}

TEST(Prelude, TheDeviceMathLibraryIsAskedForOnlyWhereItIsCalled) {
    EXPECT_FALSE(prelude_for("exp2(x) + sqrt(x) + log(x)").needs_ocml);
    EXPECT_TRUE(prelude_for("sin(x)").needs_ocml);
    EXPECT_TRUE(prelude_for("double y = exp2(x)").needs_ocml);
    EXPECT_FALSE(prelude_for("using_sin_of_x").needs_ocml) << "a part of a word is not a use";
}

/// A kernel y = f(x) for each function, element by element.
std::string function_kernels(std::string_view type, const std::vector<std::string>& calls) {
    std::string text;
    for (size_t i = 0; i < calls.size(); ++i)
        text += fmt::format("extern \"C\" __global__ void k{}({}* p) {{ {} x = p[0], y = p[1]; p[2] = {}; }}\n", i,
                            type, type, calls[i]);
    return text;
}

/// Calls of each math function that the prelude has, those of the device library among them; `suffix` follows their
/// names.
std::vector<std::string> math_calls(std::string_view suffix) {
    std::vector<std::string> calls;
    for (const char* name : {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "floor", "ceil", "trunc", "rint", "fabs"})
        calls.push_back(fmt::format("{}{}(x)", name, suffix));
    for (const char* name : {"fmin", "fmax"}) calls.push_back(fmt::format("{}{}(x, y)", name, suffix));
    calls.push_back(fmt::format("fma{}(x, y, x)", suffix));
    for (const LibraryFunction& f : math_library())
        calls.push_back(fmt::format("{}{}({})", f.name, suffix, f.arity == 2 ? "x, y" : "x"));
    return calls;
}

TEST_F(CompileTest, EveryMathFunctionCompilesForFloatDoubleAndHalf) {
    std::vector<std::string> calls = math_calls("");
    for (Arch arch : {Arch::gfx1100, Arch::gfx90a})
        for (const char* type : {"float", "double", "half"}) {
            SCOPED_TRACE(type);
            isa::CodeObject object = parsed(compile_hip({.text = function_kernels(type, calls), .kernel = "k0"}, arch));
            EXPECT_EQ(object.kernels.size(), calls.size());
        }
}

TEST_F(CompileTest, FunctionNamesWithFAreForFloat) {
    std::vector<std::string> calls = math_calls("f");
    isa::CodeObject object =
        parsed(compile_hip({.text = function_kernels("float", calls), .kernel = "k0"}, Arch::gfx1100));
    EXPECT_EQ(object.kernels.size(), calls.size());
}

TEST_F(CompileTest, VectorsMoveAsOneAndHaveMakers) {
    std::string text;
    for (const char* type :
         {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "bfloat16", "float", "double"})
        for (int n : {2, 4, 8, 16})
            text += fmt::format(
                "extern \"C\" __global__ void copy_{0}_{1}({0}{1}* a, {0}{1}* b) {{ b[threadIdx.x] = a[threadIdx.x] + "
                "a[0]; }}\n",
                type, n);
    text +=
        "extern \"C\" __global__ void make(float4* p, uchar4* q) {\n"
        "    *p = make_float4(1, 2, p->x, (*p)[3]);\n"
        "    *q = make_uchar4(1, 2, 3, q->w);\n"
        "}\n";
    isa::CodeObject object = parsed(compile_hip({.text = text, .kernel = "make"}, Arch::gfx1100));
    EXPECT_EQ(object.kernels.size(), 49u);
    auto assembly = compile_to_assembly(
        {.text = "extern \"C\" __global__ void k(float4* a, float4* b) { b[threadIdx.x] = a[threadIdx.x]; }",
         .kernel = "k"},
        Arch::gfx1100);
    ASSERT_TRUE(assembly);
    EXPECT_NE(assembly->find("global_load_b128"), std::string::npos);
    EXPECT_NE(assembly->find("global_store_b128"), std::string::npos);
}

TEST_F(CompileTest, IndicesShufflesBarriersAndAtomicsBecomeTheirInstructions) {
    HipSource source{.text = R"(extern "C" __global__ __launch_bounds__(256, 2) void k(float* x, int* n, unsigned* m) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x + gridDim.y * blockDim.y + blockIdx.z * threadIdx.z;
    float v = x[i];
    v += __shfl_xor(v, 16) + __shfl_down(v, 8) + __shfl_up(v, 4u) + __shfl(v, 3);
    v += (float)__shfl_xor((double)v, 1);
    part[threadIdx.x] = v;
    __syncthreads();
    atomicAdd(x, part[threadIdx.x ^ 1]);
    atomicAdd(n, i);
    atomicMax(n, i);
    atomicMin(m, (unsigned)i);
}
)",
                     .kernel = "k"};
    auto assembly = compile_to_assembly(source, Arch::gfx1100);
    ASSERT_TRUE(assembly) << assembly.error().message;
    for (const char* wanted :
         {"ds_bpermute_b32", "s_barrier", "global_atomic_add_f32", "global_atomic_add_u32", "global_atomic_max_i32",
          "global_atomic_min_u32", "hidden_block_count_y", "hidden_group_size_x"})
        EXPECT_NE(assembly->find(wanted), std::string::npos) << wanted;
    for (const isa::ArchInfo& arch : isa::first_archs())
        EXPECT_TRUE(parsed(compile_hip(source, arch.arch)).find("k")) << arch.name;
}

/// The prelude's conversions run on the host: its code is plain C++ once the device attributes are ignored.
class HostConversions : public CompileTest {
  protected:
    void SetUp() override {
        std::string source =
            prelude_for("fp8_e4m3 fp8_e5m2 fp8_e4m3fnuz fp8_e5m2fnuz round_to_odd saturate integer_pow").text;
        for (const char* type : {"fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"})
            source += fmt::format(
                "extern \"C\" int {0}_of_float(float x) {{ return {0}(x).bits; }}\n"
                "extern \"C\" int {0}_of_double(double x) {{ return {0}(x).bits; }}\n"
                "extern \"C\" float {0}_to_float(int bits) {{ {0} x; x.bits = bits; return x; }}\n",
                type);
        for (auto [name, type] : {std::pair{"double", "double"}, {"int64", "int64_t"}, {"uint64", "uint64_t"}})
            source += fmt::format("extern \"C\" float odd_{}({} x) {{ return round_to_odd(x); }}\n", name, type);
        for (const char* type :
             {"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"}) {
            source += fmt::format("extern \"C\" int64_t {0}_of_float(float x) {{ return saturate<{0}>(x); }}\n", type);
            source +=
                fmt::format("extern \"C\" int64_t {0}_of_double(double x) {{ return saturate<{0}>(x); }}\n", type);
        }
        source +=
            "extern \"C\" int power(int x, int y) { return integer_pow(x, y); }\n"
            "extern \"C\" uint32_t upower(uint32_t x, uint32_t y) { return integer_pow(x, y); }\n";
        std::string file = folder() + "/conversions.cpp", library = folder() + "/conversions.so";
        ASSERT_TRUE(write_file_atomically(file, source));
        auto run = run_process({find_program("clang-19", SearchPaths::usual().programs), "-x", "c++", "-std=c++17",
                                "-O1", "-w", "-shared", "-fPIC", "-nostdlib", "-o", library, file});
        ASSERT_TRUE(run && run->ok()) << run->err;
        library_ = dlopen(library.c_str(), RTLD_NOW);
        ASSERT_TRUE(library_) << dlerror();
    }
    ~HostConversions() override {
        if (library_) dlclose(library_);
    }
    template <class Function>
    Function* function(const std::string& name) {
        return reinterpret_cast<Function*>(dlsym(library_, name.c_str()));
    }

  private:
    void* library_ = nullptr;
};

bool same(DType type, uint64_t a, uint64_t b) {
    return a == b || (std::isnan(decode_scalar(type, a)) && std::isnan(decode_scalar(type, b)));
}

TEST_F(HostConversions, EightBitFloatsAgreeWithTheScalarConversions) {
    std::mt19937 random(1);
    for (Scalar scalar : {Scalar::fp8e4m3, Scalar::fp8e5m2, Scalar::fp8e4m3fnuz, Scalar::fp8e5m2fnuz}) {
        DType type(scalar);
        std::string name(type.hip());
        SCOPED_TRACE(name);
        auto* of_float = function<int(float)>(name + "_of_float");
        auto* of_double = function<int(double)>(name + "_of_double");
        auto* to_float = function<float(int)>(name + "_to_float");
        ASSERT_TRUE(of_float && of_double && to_float);
        std::vector<float> values = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f, 1.f};
        for (int code = 0; code < 256; ++code) {
            float expected = static_cast<float>(decode_scalar(type, code)), found = to_float(code);
            EXPECT_TRUE(std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(expected) ||
                        (std::isnan(found) && std::isnan(expected)))
                << code;
            if (!std::isfinite(expected)) continue;
            float next = static_cast<float>(decode_scalar(type, code + 1)), middle = expected / 2 + next / 2;
            for (float v : {expected, middle, std::nextafter(middle, expected), std::nextafter(middle, next)})
                values.push_back(v);
        }
        for (int i = 0; i < 200'000; ++i) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
        for (float v : values) {
            ASSERT_TRUE(same(type, of_float(v), encode_scalar(type, v))) << v << " gave " << of_float(v);
            for (double d : {std::nextafter(double{v}, -1e300), std::nextafter(double{v}, 1e300)})
                if (std::isfinite(v)) {
                    ASSERT_TRUE(same(type, of_double(d), encode_scalar(type, d))) << d;
                }
        }
    }
}

TEST_F(HostConversions, RoundingToOddLeavesOneRoundingToBfloat16) {
    auto* of_double = function<float(double)>("odd_double");
    auto* of_int64 = function<float(int64_t)>("odd_int64");
    auto* of_uint64 = function<float(uint64_t)>("odd_uint64");
    ASSERT_TRUE(of_double && of_int64 && of_uint64);
    auto bits = [](double value) { return encode_scalar(dtypes::bfloat16, value); };
    std::mt19937_64 random(2);
    for (int i = 0; i < 100'000; ++i) {
        // Near ties of bfloat16: few set bits far below the 8th.
        uint64_t value = (random() >> 56 | 0x80) << 56 | (random() & 1) << 55 | (random() & 3);
        value >>= random() % 60;
        double real =
            static_cast<double>(random() >> 55) + std::ldexp(1.0, -40) * static_cast<double>(random() % 3) + 0.5;
        ASSERT_EQ(bits(of_double(real)), bits(real)) << real;
        int64_t whole = static_cast<int64_t>(value >> 1) * (random() & 1 ? 1 : -1);
        ASSERT_EQ(bits(of_int64(whole)), bits(int_to_float(dtypes::bfloat16, whole))) << whole;
        ASSERT_EQ(bits(of_uint64(value)), bits(int_to_float(dtypes::bfloat16, static_cast<int64_t>(value), true)))
            << value;
    }
}

TEST_F(HostConversions, FloatsSaturateToIntegersAsTheScalarConversionDoes) {
    std::mt19937_64 random(3);
    for (DType type : {dtypes::int8, dtypes::uint8, dtypes::int16, dtypes::uint16, dtypes::int32, dtypes::uint32,
                       dtypes::int64, dtypes::uint64}) {
        SCOPED_TRACE(type.name());
        auto* of_float = function<int64_t(float)>(std::string(type.name()) + "_t_of_float");
        auto* of_double = function<int64_t(double)>(std::string(type.name()) + "_t_of_double");
        ASSERT_TRUE(of_float && of_double);
        std::vector<double> values = {NAN, INFINITY, -INFINITY, 0, -0.5, 0.5, -1, 1e300, -1e300};
        for (int k = 5; k < 66; ++k)
            for (double step : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5})
                for (double sign : {-1.0, 1.0}) values.push_back(sign * (std::ldexp(1.0, k) + step));
        for (int i = 0; i < 1000; ++i)
            values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -(i % 60)));
        for (double v : values) {
            ASSERT_EQ(of_double(v), float_to_int(type, v)) << v;
            float f = static_cast<float>(v);
            ASSERT_EQ(of_float(f), float_to_int(type, f)) << f;
        }
    }
}

TEST_F(HostConversions, IntegerPowersWrapAndTruncate) {
    auto* power = function<int(int, int)>("power");
    auto* upower = function<unsigned(unsigned, unsigned)>("upower");
    ASSERT_TRUE(power && upower);
    for (auto [x, y, expected] : {std::array{3, 4, 81},
                                  {-2, 3, -8},
                                  {2, -1, 0},
                                  {1, -5, 1},
                                  {-1, -3, -1},
                                  {-1, -2, 1},
                                  {0, 0, 1},
                                  {7, 0, 1},
                                  {2, 31, INT32_MIN},
                                  {2, 32, 0},
                                  {3, 21, 1870418611}})
        EXPECT_EQ(power(x, y), expected) << x << "^" << y;
    EXPECT_EQ(upower(0xffffffffu, 3), 0xffffffffu);
}

TEST_F(CompileTest, TheRenderersOwnFunctionsCompileForEveryTypeTheyTake) {
    std::string text;
    int count = 0;
    auto kernel = [&](std::string_view type, std::string_view result, std::string_view call) {
        text += fmt::format("extern \"C\" __global__ void k{}({}* p, {}* q) {{ {} x = p[0], y = p[1]; *q = {}; }}\n",
                            count++, type, result, type, call);
    };
    for (const char* type : {"float", "double", "half"}) {
        for (const char* call : {"nan_max(x, y)", "nan_min(x, y)", "erf(x)", "fabs(x)"}) kernel(type, type, call);
        for (const char* to : {"signed char", "unsigned char", "int", "unsigned int", "long", "unsigned long"})
            kernel(type, to, fmt::format("saturate<{}>(x)", to));
    }
    for (const char* type :
         {"signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long"})
        for (const char* call : {"max(x, y)", "min(x, y)", "integer_pow(x, y)"}) kernel(type, type, call);
    for (const char* type : {"signed char", "short", "int", "long"}) kernel(type, type, "abs(x)");
    for (const char* type : {"double", "int", "unsigned int", "long", "unsigned long"})
        kernel(type, "bfloat16", "(bfloat16)round_to_odd(x)");
    EXPECT_EQ(parsed(compile_hip({.text = text, .kernel = "k0"}, Arch::gfx1100)).kernels.size(),
              static_cast<size_t>(count));
}

TEST_F(CompileTest, NarrowFloatTypesConvertInAKernel) {
    std::string text;
    for (const char* type : {"bfloat16", "half", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"})
        text += fmt::format(
            "extern \"C\" __global__ void k_{0}({0}* a, float* b, double* c, int* d, half* h, bfloat16* g) {{\n"
            "    b[1] = (float)a[0]; c[1] = (double)(float)a[0];\n"
            "    a[1] = ({0})b[0]; a[2] = ({0})c[0]; a[3] = ({0})d[0]; a[4] = ({0})(float)h[0]; a[5] = "
            "({0})(float)g[0];\n"
            "    __shared__ {0} part[4]; part[threadIdx.x] = a[0]; __syncthreads(); a[6] = part[1];\n"
            "}}\n",
            type);
    for (Arch arch : {Arch::gfx1100, Arch::gfx942})
        EXPECT_EQ(parsed(compile_hip({.text = text, .kernel = "k_half"}, arch)).kernels.size(), 6u);
}

}  // namespace
}  // namespace strata::codegen
