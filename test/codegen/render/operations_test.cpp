// Every operation on every type: the rendered text is compiled for this machine, run, and compared with core's
// reference.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../linear/kernels.h"
#include "../linear/samples.h"
#include "../target/gfx1100.h"
#include "strata/codegen/render/math_library.h"
#include "strata/codegen/render/render.h"
#include "strata/codegen/toolchain/prelude.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/uop/reference.h"

namespace strata::codegen {
namespace {

struct Case {
    UOp node;                                 ///< the operation over loads of params 1, 2, ...
    std::vector<std::vector<ConstArg>> data;  ///< of the params
    std::vector<ConstArg> expected;
};

/// Where C++ on the device has no answer: division by zero and the overflow of INT_MIN / -1, shifts out of range.
bool undefined(Op op, DType t, std::span<const ConstArg> v) {
    if ((op == Op::idiv || op == Op::mod) && !t.is_bool())
        return v[1].i == 0 || (!t.is_unsigned() && v[0].i == int_min(t) && v[1].i == -1);
    return (op == Op::shl || op == Op::shr) && (v[1].i < 0 || v[1].i >= t.bits());
}

/// All combinations of samples of the sources' types for which there is a result.
Case make_case(Op op, DType type, std::vector<DType> sources) {
    Case c{UOp(), std::vector<std::vector<ConstArg>>(sources.size()), {}};
    std::vector<std::vector<ConstArg>> pools;
    size_t total = 1;
    for (DType t : sources) {
        pools.push_back(samples(t));
        total *= pools.back().size();
    }
    for (size_t n = 0; n < total; ++n) {
        std::vector<ConstArg> values;
        for (size_t i = 0, k = n; i < pools.size(); k /= pools[i].size(), i++)
            values.push_back(pools[i][k % pools[i].size()]);
        if (undefined(op, sources[0], values)) continue;
        auto result = reference(op, type, sources.back(), values);
        if (!result) continue;
        for (size_t i = 0; i < values.size(); ++i) c.data[i].push_back(values[i]);
        c.expected.push_back(*result);
    }
    if (c.expected.empty()) return c;
    UOp r = range(0, static_cast<int64_t>(c.expected.size()), Axis::loop);
    std::vector<UOp> loads;
    for (size_t i = 0; i < sources.size(); ++i)
        loads.push_back(
            load(at(param(static_cast<int>(i) + 1, static_cast<int64_t>(c.expected.size()), sources[i]), r)));
    c.node = strata::make(op, type, loads);
    return c;
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    auto add = [&](Case c) {
        if (!c.expected.empty()) cases.push_back(std::move(c));
    };
    for (DType t : all_dtypes()) {
        for (int i = 0; i < kOpCount; ++i) {
            Op op = static_cast<Op>(i);
            if (!info(op).elementwise() || op == Op::cast || op == Op::bitcast) continue;
            if (op == Op::logical_not && !t.is_bool()) continue;
            if (op == Op::where) {
                add(make_case(op, t, {dtypes::boolean, t, t}));
                continue;
            }
            DType to = info(op).rule == TypeRule::cmp ? dtypes::boolean : t;
            add(make_case(op, to, std::vector<DType>(static_cast<size_t>(info(op).arity), t)));
        }
        for (DType to : all_dtypes()) {
            if (to == t) continue;
            add(make_case(Op::cast, to, {t}));
            if (to.bits() == t.bits()) add(make_case(Op::bitcast, to, {t}));
        }
    }
    return cases;
}

uint64_t encoded(DType t, const ConstArg& v) {
    return t.is_float() ? encode_scalar(t, v.f) : static_cast<uint64_t>(v.i);
}

std::vector<char> packed(DType t, const std::vector<ConstArg>& values) {
    std::vector<char> out(values.size() * static_cast<size_t>(t.bytes()));
    for (size_t i = 0; i < values.size(); ++i) {
        uint64_t bits = encoded(t, values[i]);
        std::memcpy(out.data() + i * static_cast<size_t>(t.bytes()), &bits, static_cast<size_t>(t.bytes()));
    }
    return out;
}

/// Results of the device's own math functions may be off by some last places; all else is exact.
bool is_close(UOp u, const ConstArg& expected, uint64_t bits) {
    DType t = u.dtype();
    if (!t.is_float())
        return bits == (encoded(t, expected) & (t.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << t.bits()) - 1));
    double got = decode_scalar(t, bits), want = expected.f;
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got);
    bool exact = u.src().size() > 1 ? !u.is(Op::pow)
                                    : u.is(Op::cast) || u.is(Op::bitcast) || u.is(Op::neg) || u.is(Op::abs) ||
                                          u.is(Op::sqrt) || u.is(Op::recip);
    if (got == want) return true;
    double places = std::ldexp(1.0, -t.mantissa_bits() + (t.mantissa_bits() < 20 ? 0 : 2));
    return !exact && std::abs(got - want) <= places * std::max(std::abs(want), std::ldexp(1.0, -100));
}

uint64_t source_bits(const Case& c, size_t k) {
    std::vector<char> bytes = packed(c.node.src(0).dtype(), {c.data[0][k]});
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), bytes.size());
    return bits;
}

/// The device functions that the prelude calls, on this machine: the host's functions of that name.
constexpr const char* host_functions = R"(
#include <math.h>
#define MATH1(name) extern "C" float __ocml_##name##_f32(float x) { return name##f(x); } \
                    extern "C" double __ocml_##name##_f64(double x) { return name(x); }
#define MATH2(name) extern "C" float __ocml_##name##_f32(float x, float y) { return name##f(x, y); } \
                    extern "C" double __ocml_##name##_f64(double x, double y) { return name(x, y); }
extern "C" {
float __ocml_expm1_f32(float x) { return expm1f(x); } double __ocml_expm1_f64(double x) { return expm1(x); }
float host_rcp(float x) { return 1 / x; } float host_exp2(float x) { return exp2f(x); }
double __ocml_exp_f64(double x) { return exp(x); } double __ocml_exp2_f64(double x) { return exp2(x); }
double __ocml_log_f64(double x) { return log(x); } double __ocml_log2_f64(double x) { return log2(x); }
float __truncsfbf2(float x) {
    unsigned b = __builtin_bit_cast(unsigned, x);
    b = x != x ? 0x7fc00000 : b + 0x7fff + (b >> 16 & 1);
    return __builtin_bit_cast(float, b >> 16); }
double __ocml_rsqrt_f64(double x) { return 1 / sqrt(x); } float host_rsqrt(float x) { return (float)(1 / sqrt((double)x)); } }
)";

std::string host_text() {
    std::string text = host_functions;
    for (const LibraryFunction& f : math_library()) text += fmt::format("MATH{}({})\n", f.arity, f.name);
    return text;
}

std::string device_text(std::string_view kernels) {
    std::string text = prelude_for(kernels).text;
    std::string renamed =
        "#define __builtin_amdgcn_rsqf host_rsqrt\nextern \"C\" float host_rsqrt(float);\n"
        "#define __builtin_amdgcn_rcpf host_rcp\nextern \"C\" float host_rcp(float);\n"
        "#define __builtin_amdgcn_exp2f host_exp2\nextern \"C\" float host_exp2(float);\n";
    std::string plain = "#undef __launch_bounds__\n#define __launch_bounds__(...)\n";
    return renamed + text + plain + std::string(kernels);
}

class Operations : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "strata-operations-XXXXXX";
        ASSERT_TRUE(mkdtemp(folder_.data()));
    }
    void TearDown() override {
        if (library_) dlclose(library_);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// False where there is no clang.
    bool build(const std::string& kernels) {
        std::ofstream(folder_ + "/kernels.cpp") << device_text(kernels);
        std::ofstream(folder_ + "/host.cpp") << host_text();
        std::string clang = find_program("clang++-19", std::getenv("PATH"));
        if (clang.empty()) return false;
        auto run = run_process({clang, "-shared", "-fPIC", "-O1", "-w", "-std=c++20", "-ffp-contract=off", "-fdeclspec",
                                "-mf16c", "-mfma", folder_ + "/kernels.cpp", folder_ + "/host.cpp", "-lm", "-o",
                                folder_ + "/kernels.so"});
        EXPECT_TRUE(run) << run.error().message;
        EXPECT_TRUE(run->ok()) << run->err;
        library_ = dlopen((folder_ + "/kernels.so").c_str(), RTLD_NOW);
        EXPECT_TRUE(library_) << dlerror();
        return true;
    }
    void* symbol(const std::string& name) { return dlsym(library_, name.c_str()); }

  private:
    std::string folder_;
    void* library_ = nullptr;
};

/// Calls a kernel with the buffers that it still uses.
void run_kernel(void* function, const Case& c, std::span<const UOp> params, std::vector<char>& out) {
    std::vector<std::vector<char>> in;
    void* args[4] = {};
    for (size_t i = 0; i < c.data.size(); ++i) in.push_back(packed(c.node.src(i).dtype(), c.data[i]));
    for (size_t i = 0; i < params.size(); ++i) {
        int slot = params[i].as<ParamArg>().slot;
        args[i] = slot == 0 ? out.data() : in[static_cast<size_t>(slot) - 1].data();
    }
    if (params.size() == 1) reinterpret_cast<void (*)(void*)>(function)(args[0]);
    if (params.size() == 2) reinterpret_cast<void (*)(void*, void*)>(function)(args[0], args[1]);
    if (params.size() == 3) reinterpret_cast<void (*)(void*, void*, void*)>(function)(args[0], args[1], args[2]);
    if (params.size() == 4)
        reinterpret_cast<void (*)(void*, void*, void*, void*)>(function)(args[0], args[1], args[2], args[3]);
}

TEST_F(Operations, ComputeWhatTheReferenceSays) {
    GraphScope scope;
    std::vector<Case> cases = all_cases();
    std::string text;
    std::vector<std::vector<UOp>> params;
    for (size_t i = 0; i < cases.size(); ++i) {
        int64_t n = static_cast<int64_t>(cases[i].expected.size());
        UOp r = range(0, n, Axis::loop);
        auto program = linearize(
            kernel(fmt::format("op{}", i), end(store(at(param(0, n, cases[i].node.dtype()), r), cases[i].node), {r})),
            gfx1100);
        ASSERT_TRUE(program) << program.error().message;
        auto source = render_hip(*program, gfx1100);
        ASSERT_TRUE(source) << source.error().message;
        text += source->text;
        params.push_back(program->params);
    }
    if (!build(text)) GTEST_SKIP() << "needs clang++-19";
    int wrong = 0;
    for (size_t i = 0; i < cases.size() && wrong < 20; ++i) {
        const Case& c = cases[i];
        void* function = symbol(fmt::format("op{}", i));
        ASSERT_TRUE(function);
        size_t width = static_cast<size_t>(c.node.dtype().bytes());
        std::vector<char> out(c.expected.size() * width);
        run_kernel(function, c, params[i], out);
        for (size_t k = 0; k < c.expected.size(); ++k) {
            uint64_t bits = 0;
            std::memcpy(&bits, out.data() + k * width, width);
            bool same_bits = bits == source_bits(c, k);
            if (c.node.is(Op::bitcast) ? same_bits : is_close(c.node, c.expected[k], bits)) continue;
            std::string sources;
            for (size_t s = 0; s < c.data.size(); ++s) sources += " " + to_string(c.data[s][k], c.node.src(s).dtype());
            ADD_FAILURE() << to_string(c.node) << " of" << sources << " (" << to_string(c.node.src(0))
                          << "): " << to_string(c.expected[k], c.node.dtype()) << " expected, bits " << std::hex << bits
                          << " got";
            wrong++;
            break;
        }
    }
}

}  // namespace
}  // namespace strata::codegen
