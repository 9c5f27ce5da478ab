#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "../kernel.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/asm/object/code_object.h"

// Small kernels in assembly under strict mode.
namespace strata::emu::harness {

using isa::Arch;
using lint::Finding;
using lint::Kind;

struct Sizes {
    uint32_t lds = 0, scratch = 0;
    uint32_t block = 32;
    uint32_t grid = 1;   ///< workgroups
    bool races = false;  ///< between them are looked for
    int initial = -1;    ///< every element of `out`
    bool timed = false;  ///< those that are, the only one among them, are looked at instruction by instruction
};

/// A kernel k(int* out) with its argument's pointer in s[0:1] and workgroup x in s2.
inline std::vector<uint8_t> object(Arch arch, std::string_view text, const Sizes& sizes) {
    isa::KernelSpec kernel;
    kernel.name = "k";
    kernel.code = isa::assemble_instructions(text, arch).value();
    kernel.args = {{0, 8, "global_buffer", "out", "global"}};
    kernel.kernarg_size = 8;
    kernel.vgprs = 32;
    kernel.sgprs = 32;
    kernel.lds = sizes.lds;
    kernel.scratch = sizes.scratch;
    kernel.wave_size = isa::info(arch).wave_size;
    return isa::write_code_object(arch, std::span(&kernel, 1)).value();
}

struct Ran {
    Result<LaunchStats> stats = LaunchStats{};
    std::vector<Finding> findings = {};
    std::vector<int> out = {};
};

/// `counted`: someone else looks at the launch too, so that strict mode sees each instruction by itself.
inline Ran run_once(Arch arch, const std::vector<uint8_t>& code, const Sizes& sizes, Check check, bool counted) {
    Gpu gpu{arch};
    auto module = gpu.load(code).value();
    Buffer<int> out(gpu, std::vector<int>(258, sizes.initial));
    Ran ran;
    LaunchConfig launch = config({sizes.grid, 1, 1}, {sizes.block, 1, 1});
    launch.check = check;
    launch.check_races = sizes.races;
    launch.counted = counted;
    launch.timed = sizes.timed;
    launch.findings = &ran.findings;
    ran.stats = gpu.launch(*module, "k", launch, (Arguments() << out).bytes());
    ran.out = out.values();
    return ran;
}

/// All that is said of a finding.
inline std::string line(const Finding& finding) {
    std::string text =
        lint::name(finding.kind) + ": " + std::to_string(finding.pc) + ": " + finding.what + "; " + finding.fix;
    text += " " + std::to_string(finding.earlier.value_or(0)) + " " + std::to_string(finding.count) + " times";
    if (finding.witness) {
        text += " wave " + std::to_string(finding.witness->wave) + " lanes " + std::to_string(finding.witness->lanes);
        text += " address " + std::to_string(finding.witness->address.value_or(0));
    }
    return text + "\n";
}
inline std::string lines(const Ran& ran) {
    std::string all;
    for (const Finding& finding : ran.findings) all += line(finding);
    return all;
}

/// The findings of strict mode in straight runs at once, which must be those of each instruction.
inline Ran run_object(Arch arch, const std::vector<uint8_t>& code, std::string_view text, const Sizes& sizes,
                      Check check = Check::report) {
    Ran ran = run_once(arch, code, sizes, check, false);
    const Ran one_by_one = run_once(arch, code, sizes, check, true);
    EXPECT_EQ(lines(ran), lines(one_by_one)) << text;
    EXPECT_EQ(ran.out, one_by_one.out) << text;
    return ran;
}
inline Ran run(Arch arch, std::string_view text, const Sizes& sizes = {}, Check check = Check::report) {
    return run_object(arch, object(arch, text, sizes), text, sizes, check);
}

inline std::vector<Kind> kinds(const Ran& ran) {
    std::vector<Kind> kinds;
    for (const Finding& finding : ran.findings) kinds.push_back(finding.kind);
    return kinds;
}
inline std::string words(const Ran& ran) {
    std::string all;
    for (const Finding& finding : ran.findings)
        all += lint::name(finding.kind) + ": " + finding.what + "; " + finding.fix + "\n";
    return all;
}
inline void expect_one(const Ran& ran, Kind kind, std::string_view word) {
    ASSERT_TRUE(ran.stats) << ran.stats.error().message;
    ASSERT_EQ(ran.findings.size(), 1u) << words(ran);
    EXPECT_EQ(ran.findings[0].kind, kind) << words(ran);
    EXPECT_NE(words(ran).find(word), std::string::npos) << words(ran);
}
inline void expect_none(const Ran& ran) {
    ASSERT_TRUE(ran.stats) << ran.stats.error().message;
    EXPECT_TRUE(ran.findings.empty()) << words(ran);
}

inline constexpr std::string_view kStart =
    "s_load_b64 s[4:5], s[0:1], 0x0\n"
    "v_and_b32 v0, 0x3ff, v0\n"
    "v_lshlrev_b32 v1, 2, v0\n"
    "s_waitcnt lgkmcnt(0)\n";
inline std::string body(std::string_view text) { return std::string(kStart) + std::string(text) + "\ns_endpgm\n"; }

}  // namespace strata::emu::harness
