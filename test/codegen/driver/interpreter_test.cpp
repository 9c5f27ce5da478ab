// The interpreter and the emulator write the same bytes for random kernels. The bits of a NaN may differ.
// STRATA_FUZZ_SECONDS=s goes on for s seconds, STRATA_FUZZ_SEED=n starts elsewhere.
#include <fmt/format.h>

#include <chrono>

#include "../../core/support/environment.h"
#include "../linear/random_kernel.h"
#include "run_program.h"
#include "strata/codegen/interpret/kernel_list.h"
#include "strata/codegen/lower/lower.h"

namespace strata::codegen {
namespace {

class InterpreterFuzz : public testing::TestWithParam<isa::Arch> {};

/// The contents of the first parameter after a run.
std::vector<uint8_t> interpreted(std::span<const UOp> ops, const InterpretedLaunch& launch) {
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<InterpretedArgument> arguments;
    for (UOp param : ops) {  // a pass may drop some of a kernel's
        if (!param.is(Op::param) || param.as<ParamArg>().space != Space::global) continue;
        const auto slot = static_cast<size_t>(param.as<ParamArg>().slot);
        if (bytes.size() <= slot) bytes.resize(slot + 1), arguments.resize(slot + 1);
        bytes[slot] = values_of(param);
        arguments[slot].type = param.dtype();
    }
    for (size_t slot = 0; slot < bytes.size(); ++slot) arguments[slot].bytes = bytes[slot];
    const auto finding = interpret_in_two_orders(ops, launch, arguments);
    EXPECT_FALSE(finding) << finding->what << "\n" << to_string(finding->node);
    return bytes[0];
}

/// Of one type, whose sums are exact, the kernel as it is; of mixed types the linear program, whose order counts.
void judge(emu::Gpu& gpu, const Target& target, unsigned seed, RandomKernel::Types types) {
    GraphScope scope;
    const Kernel kernel = RandomKernel(seed, types).make();
    const LinearProgram program = linearize(kernel, target).value();
    std::vector<uint8_t> wanted;
    if (types == RandomKernel::Types::one) {
        KernelList list = list_kernel(kernel.sink).value();
        list.launch.wave_size = target.wave_size;
        wanted = interpreted(list.ops, list.launch);
    } else {
        const InterpretedLaunch launch{.grid = program.grid, .block = program.block, .wave_size = target.wave_size};
        wanted = interpreted(program.ops, launch);
    }
    const Lowered lowered = lower(program, target, Text::yes).value();
    const std::vector<uint8_t> got = run(gpu, lowered.object(target.arch).value(), program, emu::Check::report);
    const DType type = program.params.at(0).dtype();
    const size_t at = first_difference(type, wanted, got), bytes = static_cast<size_t>(type.bytes());
    if (testing::Test::HasFailure() || at * bytes < wanted.size())
        FAIL() << "seed " << seed << ", element " << at << " of " << wanted.size() / bytes << "\n"
               << to_string(kernel.sink) << "\n"
               << lowered.assembly;
}

TEST_P(InterpreterFuzz, RandomKernelsWriteWhatTheyMean) {
    using Clock = std::chrono::steady_clock;
    const Target target = target_of(GetParam(), Route::asm_);
    const auto first = static_cast<unsigned>(number_of("STRATA_FUZZ_SEED", 0));
    const uint64_t seconds = number_of("STRATA_FUZZ_SECONDS", 0) / 4;  // of each arch
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    unsigned kernels = 0;
    for (; kernels < 60 || Clock::now() < end; kernels += 10) {
        emu::Gpu gpu(GetParam());  // with the memory of its kernels
        for (unsigned i = 0; i < 10 && !HasFailure(); ++i)
            judge(gpu, target, first + kernels + i, i % 2 ? RandomKernel::Types::mixed : RandomKernel::Types::one);
        if (HasFailure()) return;
    }
    if (seconds) fmt::print("{}: {} random kernels in {} s\n", isa::info(GetParam()).name, kernels, seconds);
}

INSTANTIATE_TEST_SUITE_P(Archs, InterpreterFuzz,
                         testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
