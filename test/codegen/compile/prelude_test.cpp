#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <random>

#include "fixtures.h"
#include "strata/codegen/compile/compile_p.h"
#include "strata/codegen/compile/prelude_p.h"
#include "strata/core/dtype/dtype.h"
#include "strata/core/support/file.h"
#include "strata/core/support/subprocess.h"

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

TEST_F(CompileTest, EveryMathFunctionCompilesForFloatDoubleAndHalf) {
    std::vector<std::string> calls;
    for (const char* name : {"exp", "exp2", "log", "log2", "sin", "cos", "tanh", "sqrt", "rsqrt", "floor", "ceil",
                             "trunc", "rint", "fabs"})
        calls.push_back(fmt::format("{}(x)", name));
    calls.insert(calls.end(), {"pow(x, y)", "fmin(x, y)", "fmax(x, y)", "fma(x, y, x)"});
    for (Arch arch : {Arch::gfx1100, Arch::gfx90a})
        for (const char* type : {"float", "double", "half"}) {
            SCOPED_TRACE(type);
            isa::CodeObject object = parsed(compile_hip({.text = function_kernels(type, calls), .kernel = "k0"}, arch));
            EXPECT_EQ(object.kernels.size(), calls.size());
        }
}

TEST_F(CompileTest, FunctionNamesWithFAreForFloat) {
    std::vector<std::string> calls = {"powf(x, y)", "fminf(x, y)", "fmaxf(x, y)", "fmaf(x, y, x)"};
    for (const char* name : {"expf", "exp2f", "logf", "log2f", "sinf", "cosf", "tanhf", "sqrtf", "rsqrtf", "floorf",
                             "ceilf", "truncf", "rintf", "fabsf"})
        calls.push_back(fmt::format("{}(x)", name));
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
    for (const isa::ArchInfo& arch : isa::archs())
        EXPECT_TRUE(parsed(compile_hip(source, arch.arch)).find("k")) << arch.name;
}

/// The prelude's conversions run on the host: its code is plain C++ once the device attributes are ignored.
class HostConversions : public CompileTest {
  protected:
    void SetUp() override {
        std::string source = prelude_for("fp8_e4m3 fp8_e5m2 fp8_e4m3fnuz fp8_e5m2fnuz").text;
        for (const char* type : {"fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"})
            source += fmt::format(
                "extern \"C\" int {0}_of_float(float x) {{ return {0}(x).bits; }}\n"
                "extern \"C\" int {0}_of_double(double x) {{ return {0}(x).bits; }}\n"
                "extern \"C\" float {0}_to_float(int bits) {{ {0} x; x.bits = bits; return x; }}\n",
                type);
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
