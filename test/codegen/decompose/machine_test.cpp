// The reference of machine ops agrees with instructions: decomposed programs as HIP, on emulated GPUs.
#include <gtest/gtest.h>

#include <cstring>

#include "../../runtime/helpers.h"
#include "../linear/kernels.h"
#include "functions.h"
#include "strata/codegen/decompose/decompose.h"
#include "strata/codegen/driver/compile.h"
#include "strata/codegen/render/render.h"
#include "strata/core/uop/reference.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/program.h"

namespace strata::codegen {
namespace {

constexpr int64_t kThreads = 256;

/// An operation over all of some inputs.
struct Job {
    Op op;
    DType type, source;
    double ulps;
    std::string name;
    std::vector<std::vector<ConstArg>> in;
    LinearProgram program;
};

uint64_t encoded(DType t, ConstArg v) { return t.is_float() ? encode_scalar(t, v.f) : static_cast<uint64_t>(v.i); }
ConstArg decoded(DType t, uint64_t bits) {
    if (t.is_float()) return {0, decode_scalar(t, bits)};
    return {wrap_to(t, static_cast<int64_t>(bits)), 0};
}

void add_inputs(Job& job, std::mt19937_64& random) {
    const size_t n = 1 << 14;
    std::vector<double> floats =
        job.source.is_float() ? input_floats(job.source, random, 1 << 12) : std::vector<double>();
    job.in.resize(static_cast<size_t>(info(job.op).arity));
    for (size_t k = 0; k < n; ++k)
        for (auto& in : job.in) {
            const bool first = &in == &job.in[0];
            if (job.source.is_float()) {
                in.push_back({0, floats[first && k < floats.size() ? k : random() % floats.size()]});
                continue;
            }
            int64_t v = static_cast<int64_t>(random() >> random() % 64);
            v = wrap_to(job.source, random() % 2 ? v : -v);
            in.push_back({!first && v == 0 ? 1 : v, 0});
        }
}

Job make_job(Op op, DType type, DType source, double ulps, const Target& target, std::mt19937_64& random,
             size_t number) {
    Job job{op, type, source, ulps, "job" + std::to_string(number), {}, {}};
    add_inputs(job, random);
    const auto n = static_cast<int64_t>(job.in[0].size());
    UOp g = range(0, n / kThreads, Axis::global), l = range(1, kThreads, Axis::local), i = g * kThreads + l;
    std::vector<UOp> sources;
    for (size_t k = 0; k < job.in.size(); ++k)
        sources.push_back(load(at(param(static_cast<int>(k) + 1, n, source), i)));
    Kernel made = kernel(job.name, end(store(at(param(0, n, type), i), make(op, type, sources)), {g, l}));
    job.program = decompose(linearize(made, target).value(), target);
    return job;
}

std::vector<Job> all_jobs(const Target& target) {
    std::mt19937_64 random(5);
    std::vector<Job> jobs;
    for (const FunctionRow& row : function_rows())
        jobs.push_back(make_job(row.op, row.type, row.type, row.ulps, target, random, jobs.size()));
    using namespace dtypes;
    for (DType t : {int8, uint16, int32, uint32, int64, uint64})
        for (Op op : {Op::idiv, Op::mod, Op::pow}) jobs.push_back(make_job(op, t, t, 0, target, random, jobs.size()));
    for (DType a : {boolean, int8, uint32, int64, uint64, bfloat16, fp8e4m3, fp8e5m2fnuz, float16, float32, float64})
        for (DType b :
             {boolean, int16, uint32, int64, uint64, bfloat16, fp8e5m2, fp8e4m3fnuz, float16, float32, float64})
            if (a != b) jobs.push_back(make_job(Op::cast, b, a, 0, target, random, jobs.size()));
    return jobs;
}

class OnMachines : public runtime::Runtime, public testing::WithParamInterface<isa::Arch> {
  protected:
    std::vector<uint64_t> run(const Job& job, std::shared_ptr<runtime::Module> module, executable::Code code) {
        code.entry = job.name;
        code.grid = job.program.grid, code.block = job.program.block;
        auto program = runtime::Program::of_module(std::move(module), std::move(code));
        const auto n = static_cast<int64_t>(job.in[0].size());
        std::vector<std::unique_ptr<runtime::Buffer>> buffers;
        std::vector<providers::DevicePtr> pointers;
        for (UOp p : job.program.params) {
            const int slot = p.as<ParamArg>().slot;
            buffers.push_back(std::make_unique<runtime::Buffer>(gpu(), p.dtype(), n));
            std::vector<char> bytes(buffers.back()->bytes());
            const auto width = static_cast<size_t>(p.dtype().bytes());
            for (size_t k = 0; slot > 0 && k < job.in[0].size(); ++k) {
                uint64_t bits = encoded(p.dtype(), job.in[static_cast<size_t>(slot) - 1][k]);
                std::memcpy(bytes.data() + k * width, &bits, width);
            }
            buffers.back()->copy_in(bytes.data(), bytes.size());
            pointers.push_back(buffers.back()->address());
        }
        program->launch(pointers);
        std::vector<char> bytes(buffers[0]->bytes());
        buffers[0]->copy_out(bytes.data(), bytes.size());
        std::vector<uint64_t> out(job.in[0].size());
        const size_t width = bytes.size() / out.size();
        for (size_t k = 0; k < out.size(); ++k) std::memcpy(&out[k], bytes.data() + k * width, width);
        return out;
    }
    runtime::Device& gpu() { return runtime::device("emu:" + std::string(isa::info(GetParam()).name)); }
};
INSTANTIATE_TEST_SUITE_P(All, OnMachines,
                         testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](auto& p) { return std::string(isa::info(p.param).name); });

void expect_right(const Job& job, const std::vector<uint64_t>& got) {
    int wrong = 0;
    const DType s = job.source;
    for (size_t k = 0; k < got.size() && wrong < 3; ++k) {
        std::vector<ConstArg> v;
        for (const auto& in : job.in) v.push_back(in[k]);
        if (job.op != Op::cast && s.is_integer() && !s.is_unsigned() && v[0].i == int_min(s) && v[1].i == -1) continue;
        const ConstArg have = decoded(job.type, got[k]), want = *reference(job.op, job.type, s, v);
        if (job.op != Op::cast && job.type.is_float()) {
            if (ulps_off(job.type, have.f, exact(job.op, v[0].f, v.back().f)) <= job.ulps) continue;
        } else if (job.type.is_float() ? have.f == want.f || (std::isnan(have.f) && std::isnan(want.f))
                                       : have.i == want.i) {
            continue;
        }
        ++wrong;
        ADD_FAILURE() << info(job.op).name << " of " << s.name() << " to " << job.type.name() << ": "
                      << to_string(v[0], s) << ", " << to_string(v.back(), s) << ": " << to_string(want, job.type)
                      << " expected, " << to_string(have, job.type) << " got";
    }
}

TEST_P(OnMachines, DecomposedFunctionsAreAsExactAsTheirRowsSay) {
    GraphScope scope;
    const Target target = target_of(GetParam());
    std::vector<Job> jobs = all_jobs(target);
    std::string text;
    for (const Job& job : jobs) {
        auto source = render_hip(job.program, target);
        ASSERT_TRUE(source) << source.error().message;
        text += source->text;
    }
    auto code = compile_hip({.text = text, .kernel = "job0", .options = {"-ffp-contract=off", "-O1"}}, GetParam());
    if (!code && code.error().kind == ErrorKind::Device) GTEST_SKIP() << code.error().message;
    ASSERT_TRUE(code) << code.error().message;
    auto module = std::make_shared<runtime::Module>(gpu(), code->code_object());
    for (const Job& job : jobs) expect_right(job, run(job, module, *code));
}

}  // namespace
}  // namespace strata::codegen
