// Random linear programs by clang and by direct lowering: every byte that they write is the same, but for the bits of a
// NaN. STRATA_FUZZ_SECONDS=s goes on for s seconds, STRATA_FUZZ_SEED=n starts elsewhere.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "../../core/support/environment.h"
#include "../linear/random_kernel.h"
#include "fixtures.h"
#include "run_program.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/lint/lint.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/lower/lower.h"
#include "strata/codegen/render/render.h"

namespace strata::codegen {
namespace {

class BothTargetsFuzz : public CompileTest, public testing::WithParamInterface<isa::Arch> {};

void compare(emu::Gpu& gpu, const Target& target, unsigned seed) {
    GraphScope scope;
    const Kernel kernel = RandomKernel(seed, RandomKernel::Types::mixed).make();
    const LinearProgram program = linearize(kernel, target).value();
    const HipSource source = render_hip(program, target).value();
    const auto compiled = compile_hip(source, target.arch);
    if (!compiled && compiled.error().log.find("Illegal instruction detected") != std::string::npos)
        return;  // its fault
    ASSERT_TRUE(compiled) << "seed " << seed << ": " << compiled.error().log << source.text;
    const Lowered lowered = lower(program, target, Text::yes).value();
    const std::vector<uint8_t> wanted = run(gpu, compiled->code_object(), program, emu::Check::off),
                               got = run(gpu, lowered.object(target.arch).value(), program, emu::Check::report);
    const DType type = program.params.at(0).dtype();
    const size_t at = first_difference(type, wanted, got), bytes = static_cast<size_t>(type.bytes());
    if (testing::Test::HasFailure() || at * bytes < wanted.size()) {
        const auto text = [&](const std::vector<uint8_t>& from) {
            std::string hex;
            for (size_t i = bytes; i-- > 0 && (at + 1) * bytes <= from.size();)
                hex += fmt::format("{:02x}", from[at * bytes + i]);
            return hex;
        };
        FAIL() << "seed " << seed << ", element " << at << " of " << wanted.size() / bytes << ": clang " << text(wanted)
               << ", direct " << text(got) << "\n"
               << source.text << lowered.assembly;
    }
}

TEST_P(BothTargetsFuzz, RandomProgramsWriteTheSameBytes) {
    using Clock = std::chrono::steady_clock;
    const Target target = target_of(GetParam(), Route::asm_);
    const auto first = static_cast<unsigned>(number_of("STRATA_FUZZ_SEED", 0));
    const uint64_t seconds = number_of("STRATA_FUZZ_SECONDS", 0) / 4;  // of each arch
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    unsigned programs = 0;
    for (; programs < 40 || Clock::now() < end; programs += 10) {
        emu::Gpu gpu(GetParam());  // with the memory of its kernels
        for (unsigned i = 0; i < 10 && !HasFailure(); ++i) compare(gpu, target, first + programs + i);
        if (HasFailure()) return;
    }
    if (seconds) fmt::print("{}: {} random programs in {} s\n", isa::info(GetParam()).name, programs, seconds);
}

INSTANTIATE_TEST_SUITE_P(Archs, BothTargetsFuzz,
                         testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
