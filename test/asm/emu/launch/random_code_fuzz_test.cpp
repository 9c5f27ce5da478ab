// Random instructions as whole programs, one wave alone and as launches. Whatever they do, each ends in time with a
// result or an error that says why, and leaves no memory. STRATA_FUZZ_SECONDS=s goes on for s seconds,
// STRATA_FUZZ_SEED=n starts elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>

#include "../../../core/support/environment.h"
#include "../../isa/random_words.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/emu/run_wave.h"

namespace strata::emu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kBudget = 2000;            // instructions of a wave
constexpr uint64_t kMapped = 0x10'0000'0000;  // where a lone wave has memory
constexpr size_t kMappedBytes = 1 << 16;
constexpr int kProgramsOfALaunch = 40;  // a launch takes that much longer than a lone wave
constexpr double kLongest = 10;         // seconds that one of them may take
constexpr uint64_t kWarm = 150'000;     // programs after which what is kept is full

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

size_t resident_mib() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) >> 20;
}

class RandomCode {
  public:
    RandomCode(isa::Arch arch, int lanes, uint64_t seed)
        : arch_(arch), lanes_(lanes), engine_(seed), words_(isa::info(arch).family, static_cast<uint32_t>(seed)) {}

    /// Instructions of the arch, in any order; branches stay near.
    std::vector<uint32_t> next() {
        std::vector<uint32_t> code;
        const size_t size = 4 + random() % 60;
        while (code.size() < size) {
            isa::Words words = words_.next();
            const auto inst = isa::decode(arch_, words, lanes_);
            if (!inst || inst->row->flags & isa::kGraphics) continue;
            if (inst->row->flags & isa::kMemory && random() % 4) continue;  // most of them end the program
            if (inst->encoding == isa::Format::SOPP && inst->row->flags & isa::kBranch)
                words[0] = (words[0] & ~0xffffu) | static_cast<uint16_t>(static_cast<int>(random() % 24) - 12);
            code.insert(code.end(), words.begin(), words.begin() + inst->size / 4);
        }
        const bool cdna = isa::is_cdna(isa::info(arch_).family);
        code.insert(code.end(), 32, cdna ? 0xbf810000 : 0xbfb00000);  // s_endpgm, as far as branches go
        return code;
    }
    uint32_t random() { return static_cast<uint32_t>(engine_()); }

  private:
    isa::Arch arch_;
    int lanes_;
    std::mt19937_64 engine_;
    isa::RandomWords words_;
};

class RandomCodeFuzz : public ::testing::TestWithParam<std::pair<isa::Arch, int>> {
  protected:
    isa::Arch arch() const { return GetParam().first; }
    int lanes() const { return GetParam().second; }

    /// One wave, with registers that point into its memory as often as not.
    void run_alone(RandomCode& source) {
        const std::vector<uint32_t> code = source.next();
        WaveRun run;
        run.wave_size = lanes();
        run.max_instructions = kBudget;
        run.scratch = 64;
        run.lds.assign(4096, static_cast<uint8_t>(source.random()));
        run.memory.push_back({kMapped, memory_});
        run.exec = source.random() % 4 ? ~0ull : source.random();
        run.vgpr.resize(static_cast<size_t>(32 * lanes()));
        for (size_t i = 0; i < run.vgpr.size(); ++i) {
            const bool high = i / static_cast<size_t>(lanes()) % 2;
            run.vgpr[i] = source.random() % 4 == 0 ? source.random() : high ? kMapped >> 32 : source.random() % 8192;
        }
        for (size_t i = 0; i < run.sgpr.size(); ++i)
            run.sgpr[i] = source.random() % 4 == 0 ? source.random() : i % 2 ? kMapped >> 32 : source.random() % 8192;
        const Result<void> end =
            run_wave(arch(), {reinterpret_cast<const uint8_t*>(code.data()), code.size() * sizeof(uint32_t)}, run);
        instructions_ += run.instructions;
        count(end ? nullptr : &end.error());
    }

    /// A few workgroups of several waves, timed or not.
    void launch(Gpu& gpu, RandomCode& source) {
        isa::KernelSpec kernel{.name = "random", .code = source.next(), .kernarg_size = 8};
        kernel.args.push_back({0, 8, "global_buffer", "x"});
        kernel.lds = 1024, kernel.scratch = 32, kernel.vgprs = 256, kernel.sgprs = 100, kernel.wave_size = lanes();
        const isa::Bytes image = isa::write_code_object(arch(), std::span(&kernel, 1)).value();
        Result<std::shared_ptr<Module>> module = gpu.load(image);
        if (!module) return count(&module.error());
        LaunchConfig config{.grid = {3, 1, 1}, .block = {160, 1, 1}, .max_instructions = kBudget};
        config.seed = source.random(), config.timed = source.random() % 4 == 0;
        std::array<uint8_t, 8> arguments;
        std::memcpy(arguments.data(), &buffer_, sizeof buffer_);
        const Result<LaunchStats> end = gpu.launch(**module, "random", config, arguments);
        if (end) instructions_ += end->wave_instructions;
        count(end ? nullptr : &end.error());
    }

    void count(const Error* error) {
        ++ends_[error ? name(error->kind) : "result"];
        if (error) {
            EXPECT_NE(error->kind, ErrorKind::Internal) << error->message;
            EXPECT_FALSE(error->message.empty());
        }
    }

    std::vector<uint8_t> memory_ = std::vector<uint8_t>(kMappedBytes);
    DeviceAddress buffer_ = 0;
    uint64_t instructions_ = 0;
    std::map<std::string_view, uint64_t> ends_;
};

TEST_P(RandomCodeFuzz, EndsWithAResultOrAnErrorInTimeAndKeepsNoMemory) {
    const auto seconds = static_cast<double>(number_of("STRATA_FUZZ_SECONDS", 0)) / 6;  // of each parameter
    const uint64_t first = number_of("STRATA_FUZZ_SEED", 1);
    Gpu gpu(arch());
    buffer_ = gpu.allocate(kMappedBytes).value();
    for (int i = 0; i < 40; ++i) {  // freed memory that rests is there from the start
        const DeviceAddress block = gpu.allocate(4 << 20).value();
        gpu.fill(block, 1, 4 << 20).value();
        gpu.free(block).value();
    }
    const Clock::time_point start = Clock::now();
    size_t early = 0;
    uint64_t programs = 0;
    for (; programs < 2000 || seconds_since(start) < seconds; ++programs) {
        RandomCode source(arch(), lanes(), first + programs);
        const Clock::time_point begin = Clock::now();
        SCOPED_TRACE(fmt::format("program {} of {}, waves of {}", first + programs, isa::info(arch()).name, lanes()));
        if (programs % kProgramsOfALaunch)
            run_alone(source);
        else
            launch(gpu, source);
        ASSERT_LT(seconds_since(begin), kLongest);
        if (programs == kWarm) early = resident_mib();
        if (HasFailure()) return;
    }
    const size_t end = resident_mib();
    if (programs > 2 * kWarm) EXPECT_LE(end, early + 32) << early << " MiB after " << kWarm << " programs";
    EXPECT_GT(ends_["result"], programs / 10);
    EXPECT_GT(instructions_, programs * 10);
    std::string ends;
    for (const auto& [name, n] : ends_) ends += fmt::format(", {} {}", n, name);
    if (seconds > 0)
        fmt::print("{} waves of {}: {} random programs, {} wave instructions in {:.0f} s{}; {} MiB, {} at the end\n",
                   isa::info(arch()).name, lanes(), programs, instructions_, seconds_since(start), ends, early, end);
}

constexpr std::pair<isa::Arch, int> kWaves[] = {{isa::Arch::gfx1100, 32}, {isa::Arch::gfx1100, 64},
                                                {isa::Arch::gfx1201, 32}, {isa::Arch::gfx1201, 64},
                                                {isa::Arch::gfx942, 64},  {isa::Arch::gfx90a, 64}};
INSTANTIATE_TEST_SUITE_P(Waves, RandomCodeFuzz, ::testing::ValuesIn(kWaves), [](const auto& which) {
    return fmt::format("{}_{}", isa::info(which.param.first).name, which.param.second);
});

}  // namespace
}  // namespace strata::emu
