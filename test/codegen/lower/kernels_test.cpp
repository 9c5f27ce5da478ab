// Whole kernels, lowered and run in strict mode, against the graph that they came from. STRATA_FUZZ_SECONDS=s goes on
// for s seconds, STRATA_FUZZ_SEED=n starts elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "../../core/support/environment.h"
#include "../linear/interpreter.h"
#include "../linear/random_kernel.h"
#include "function.h"
#include "strata/asm/emu/gpu.h"
#include "strata/codegen/lower/lower.h"

namespace strata::codegen {
namespace {

class LoweredKernelsFuzz : public testing::TestWithParam<isa::Arch> {};

Scalars small_numbers(DType type, size_t count, int seed) {
    Scalars out;
    for (size_t i = 0; i < count; ++i) {
        const auto v = static_cast<int64_t>((i * 2654435761u + static_cast<size_t>(seed) * 40503u) >> 7) % 9 - 4;
        out.push_back(type.is_float() ? ConstArg{0, static_cast<double>(v)} : ConstArg{v, 0});
    }
    return out;
}

/// Buffers of a kernel on a device: one an argument of the program, with red zones of the emulator around them.
struct Buffers {
    Buffers(emu::Gpu& gpu, const LinearProgram& program, const Memory& memory) : gpu(gpu) {
        for (UOp param : program.params) {
            const Scalars& values = memory.at(param.as<ParamArg>().slot);
            std::vector<uint32_t> bits;
            for (const ConstArg& v : values)
                bits.push_back(param.dtype().is_float() ? std::bit_cast<uint32_t>(static_cast<float>(v.f))
                                                        : static_cast<uint32_t>(v.i));
            const emu::DeviceAddress address = gpu.allocate(bits.size() * 4).value();
            EXPECT_TRUE(gpu.write(address, bits.data(), bits.size() * 4));
            addresses.push_back(address);
        }
    }
    ~Buffers() {
        for (emu::DeviceAddress address : addresses) EXPECT_TRUE(gpu.free(address));
    }

    Scalars read(size_t i, DType type, size_t count) const {
        std::vector<uint32_t> bits(count);
        EXPECT_TRUE(gpu.read(bits.data(), addresses[i], count * 4));
        Scalars out;
        for (uint32_t b : bits)
            out.push_back(type.is_float() ? ConstArg{0, static_cast<double>(std::bit_cast<float>(b))}
                                          : ConstArg{static_cast<int32_t>(b), 0});
        return out;
    }

    emu::Gpu& gpu;
    std::vector<emu::DeviceAddress> addresses;
};

/// The kernel of a seed does on a device what its graph means; strict mode and the linter find nothing.
void run_random_kernel(emu::Gpu& gpu, const Target& target, unsigned seed) {
    GraphScope scope;
    const Kernel kernel = RandomKernel(seed).make();
    auto program = linearize(kernel, target);
    ASSERT_TRUE(program) << program.error().message;
    Memory expected;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global)
            expected[u.as<ParamArg>().slot] =
                small_numbers(u.dtype(), static_cast<size_t>(u.as<ParamArg>().size), u.as<ParamArg>().slot);
    const Buffers buffers(gpu, *program, expected);
    Evaluator(expected).run(kernel.sink);

    auto lowered = lower(*program, target, Text::yes);
    ASSERT_TRUE(lowered) << "seed " << seed << ": " << lowered.error().message;
    auto module = gpu.load(lowered->object(target.arch).value());
    ASSERT_TRUE(module) << "seed " << seed << ": " << module.error().message << "\n" << lowered->assembly;
    std::vector<uint8_t> arguments(buffers.addresses.size() * 8);
    std::memcpy(arguments.data(), buffers.addresses.data(), arguments.size());
    std::vector<lint::Finding> found;
    auto ran = gpu.launch(**module, program->name,
                          {.grid = program->grid,
                           .block = program->block,
                           .seed = seed,
                           .timed = false,
                           .check = emu::Check::report,
                           .findings = &found},
                          arguments);
    ASSERT_TRUE(ran) << "seed " << seed << ": " << ran.error().message << "\n" << lowered->assembly;
    ASSERT_TRUE(found.empty()) << "seed " << seed << ": " << found[0].what << "\n" << lowered->assembly;
    auto findings = lint::lint((*module)->object(), program->name);
    ASSERT_TRUE(findings) << findings.error().message;
    ASSERT_TRUE(findings->empty()) << "seed " << seed << ": " << (*findings)[0].what << "\n" << lowered->assembly;
    for (size_t i = 0; i < program->params.size(); ++i) {
        const UOp param = program->params[i];
        const Scalars& wanted = expected.at(param.as<ParamArg>().slot);
        const Scalars got = buffers.read(i, param.dtype(), wanted.size());
        for (size_t k = 0; k < wanted.size(); ++k)
            ASSERT_TRUE(wanted[k].i == got[k].i && wanted[k].f == got[k].f)
                << "seed " << seed << ", param " << param.as<ParamArg>().slot << " [" << k
                << "]: " << wanted[k].i + wanted[k].f << " expected, " << got[k].i + got[k].f << " got\n"
                << lowered->assembly;
    }
}

TEST_P(LoweredKernelsFuzz, ComputeWhatRandomKernelsMeanAndBreakNoRuleOfTheMachine) {
    using Clock = std::chrono::steady_clock;
    const Target target = target_of(GetParam(), Route::asm_);
    const auto first = static_cast<unsigned>(number_of("STRATA_FUZZ_SEED", 0));
    const uint64_t seconds = number_of("STRATA_FUZZ_SECONDS", 0) / 4;  // of each arch
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    unsigned kernels = 0;
    for (; kernels < 100 || Clock::now() < end; kernels += 10) {
        emu::Gpu gpu(GetParam());  // with the memory of its kernels
        for (unsigned i = 0; i < 10 && !HasFatalFailure(); ++i) run_random_kernel(gpu, target, first + kernels + i);
        if (HasFatalFailure()) return;
    }
    if (seconds) fmt::print("{}: {} random kernels in {} s\n", isa::info(GetParam()).name, kernels, seconds);
}

INSTANTIATE_TEST_SUITE_P(Archs, LoweredKernelsFuzz, testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
