// Random linear programs by clang and by direct lowering: every byte that they write is the same, but for the bits of a
// NaN. STRATA_FUZZ_SECONDS=s goes on for s seconds, STRATA_FUZZ_SEED=n starts elsewhere.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "../../core/support/environment.h"
#include "../linear/random_kernel.h"
#include "fixtures.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/lint/lint.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/lower/lower.h"
#include "strata/codegen/render/render.h"

namespace strata::codegen {
namespace {

class BothTargetsFuzz : public CompileTest, public testing::WithParamInterface<isa::Arch> {};

/// Numbers that floats of every type hold, and integers of any bits.
std::vector<uint8_t> values_of(UOp param) {
    const DType type = param.dtype();
    const ParamArg& arg = param.as<ParamArg>();
    const auto bytes = static_cast<size_t>(type.bytes());
    std::vector<uint8_t> out(static_cast<size_t>(arg.size) * bytes);
    for (size_t i = 0; i < static_cast<size_t>(arg.size); ++i) {
        const uint64_t random = (i * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(arg.slot) * 40503u) ^ i << 40;
        const uint64_t bits = type.is_float() ? encode_scalar(type, static_cast<double>(random >> 7 & 31) / 4 - 4)
                              : random & 64   ? random >> 3
                                              : random >> 9 & 15;
        std::memcpy(&out[i * bytes], &bits, bytes);
    }
    return out;
}

/// The contents of the program's first parameter, which it writes.
std::vector<uint8_t> run(emu::Gpu& gpu, const isa::Bytes& object, const LinearProgram& program, emu::Check check) {
    std::vector<emu::DeviceAddress> addresses;
    std::vector<uint8_t> out;
    emu::DeviceAddress written = 0;
    for (UOp param : program.params) {
        const std::vector<uint8_t> bytes = values_of(param);
        addresses.push_back(gpu.allocate(bytes.size()).value());
        EXPECT_TRUE(gpu.write(addresses.back(), bytes.data(), bytes.size()));
        if (param.as<ParamArg>().slot == 0) written = addresses.back(), out.resize(bytes.size());
    }
    std::vector<uint8_t> arguments(addresses.size() * 8);
    std::memcpy(arguments.data(), addresses.data(), arguments.size());
    auto module = gpu.load(object);
    EXPECT_TRUE(module) << module.error().message;
    if (module) {
        std::vector<lint::Finding> found;
        auto ran = gpu.launch(
            **module, program.name,
            {.grid = program.grid, .block = program.block, .timed = false, .check = check, .findings = &found},
            arguments);
        EXPECT_TRUE(ran) << ran.error().message;
        const isa::CodeObject& code = (*module)->object();
        EXPECT_TRUE(found.empty()) << lint::to_line(found[0], code, code.kernels[0]);
        EXPECT_TRUE(gpu.read(out.data(), written, out.size()));
    }
    for (emu::DeviceAddress address : addresses) EXPECT_TRUE(gpu.free(address));
    return out;
}

/// The first element that differs; the number of elements where none does.
size_t first_difference(DType type, std::span<const uint8_t> a, std::span<const uint8_t> b) {
    const auto bytes = static_cast<size_t>(type.bytes());
    const auto number = [&](std::span<const uint8_t> from, size_t i) {
        uint64_t bits = 0;
        std::memcpy(&bits, &from[i * bytes], bytes);
        return bits;
    };
    for (size_t i = 0; i < a.size() / bytes; ++i) {
        const uint64_t one = number(a, i), other = number(b, i);
        const bool nan =
            type.is_float() && std::isnan(decode_scalar(type, one)) && std::isnan(decode_scalar(type, other));
        if (one != other && !nan) return i;
    }
    return a.size() / bytes;
}

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
