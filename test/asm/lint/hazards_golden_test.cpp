#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "path.h"

// Rules of distance against LLVM, which keeps them: hazards_golden.py has it guard random instructions.
namespace strata::lint {
namespace {

using harness::Path;
using isa::Arch;
using isa::Inst;

/// Instructions of which LLVM put in some.
struct Guarded {
    Path path;
    std::vector<size_t> guards = {};
};

std::vector<Guarded> golden() {
    std::ifstream file(STRATA_SOURCE_DIR "/test/asm/lint/hazards_golden.txt");
    std::vector<Guarded> all;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string arch, wave, hex;
        if (!(words >> arch >> wave) || arch == "//") continue;
        Guarded one{{isa::parse_arch(arch).value(), std::stoi(wave)}};
        for (words >> hex; words >> hex;) {
            if (hex[0] == '+') {
                one.guards.push_back(one.path.insts.size());
                hex.erase(0, 1);
            }
            std::vector<uint32_t> code;
            for (size_t at = 0; at < hex.size(); at += 8)
                code.push_back(__builtin_bswap32(static_cast<uint32_t>(std::stoul(hex.substr(at, 8), nullptr, 16))));
            one.path.insts.push_back(isa::decode(one.path.arch, code, one.path.wave_size).value());
        }
        all.push_back(std::move(one));
    }
    return all;
}

/// The path with a guard that lasts one state less, or is not there.
Path weakened(const Guarded& guarded, size_t guard) {
    Path path = guarded.path;
    Inst& inst = path.insts[guard];
    if (inst.row->mnemonic == "s_nop" && inst.offset > 0)
        --inst.offset;
    else
        path.insts.erase(path.insts.begin() + static_cast<ptrdiff_t>(guard));
    return path;
}

/// True if the document requires more than LLVM does. Of several matrix products whose results an instruction uses LLVM
/// looks at the nearest. A matrix product may follow a dot product at once, and no bit of the mode is special.
bool is_no_rule_of_llvm(const Path& path, const Finding& finding) {
    uint64_t pc = 0;
    std::string_view earlier;
    std::vector<Registers> results;
    for (const Inst& inst : path.insts) {
        const Access access = access_of(path.arch, inst, path.wave_size);
        const bool product = inst.row->flags & isa::kMatrix, scalar = inst.row->mnemonic.starts_with("s_");
        if (pc == *finding.earlier) earlier = inst.row->mnemonic;
        if (pc > *finding.earlier && pc < finding.pc && product) results.push_back(access.writes[0].registers);
        if (pc == finding.pc) {
            if (earlier.starts_with("v_dot") && product) return true;
            if (earlier.starts_with("s_setreg") && !scalar) return true;
            return std::ranges::any_of(results, [&](const Registers& result) {
                return std::ranges::any_of(access.all_reads(),
                                           [&](const Read& read) { return read.registers.overlaps(result); }) ||
                       std::ranges::any_of(access.all_writes(),
                                           [&](const Write& write) { return write.registers.overlaps(result); });
            });
        }
        pc += inst.size;
    }
    return false;
}

/// To LLVM every packed instruction of gfx942 moves its result within the register; the document speaks of op_sel
/// of the destination, which these have not.
bool guards_packed(const Guarded& guarded, size_t guard) {
    const Inst& before = guarded.path.insts[guard - 1];
    return guarded.path.arch == Arch::gfx942 && before.row->format == isa::Format::VOP3P;
}

/// LLVM puts s_waitcnt_depctr depctr_sa_sdst(0) after a write of a mask, whether or not the register is read.
bool guards_unread(const Guarded& guarded, size_t guard) {
    const Path& path = guarded.path;
    if (path.insts[guard].row->mnemonic != "s_waitcnt_depctr" || path.insts[guard].offset & 1) return false;
    const Registers written = access_of(path.arch, path.insts[guard - 1], path.wave_size).writes[0].registers;
    for (size_t i = guard + 1; i < path.insts.size(); ++i) {
        const Access access = access_of(path.arch, path.insts[i], path.wave_size);
        for (const Read& read : access.all_reads())
            if (read.registers.overlaps(written)) return false;
    }
    return true;
}

/// The v_mov_b32 that LLVM puts in front of v_permlane reads a register without regard to other rules.
bool is_guard(const Guarded& guarded, uint64_t at) {
    uint64_t pc = 0;
    for (size_t i = 0; i < guarded.path.insts.size(); pc += guarded.path.insts[i++].size)
        if (pc == at) return std::ranges::count(guarded.guards, i) != 0;
    return false;
}

TEST(HazardsOfLlvm, WhatLlvmMadeKeepsEveryRule) {
    int shown = 0, broken = 0;
    const auto all = golden();
    EXPECT_GT(all.size(), 2000u);
    for (const Guarded& one : all)
        for (const Finding& finding : one.path.hazards())
            if (!is_no_rule_of_llvm(one.path, finding) && !is_guard(one, finding.pc) && ++broken && ++shown <= 25)
                ADD_FAILURE() << one.path.text();
    EXPECT_EQ(broken, 0) << "of " << all.size();
}

TEST(HazardsOfLlvm, WithOneWaitStateLessThanLlvmPutsInARuleIsBroken) {
    int shown = 0, kept = 0, count = 0;
    for (const Guarded& one : golden())
        for (size_t guard : one.guards) {
            ++count;
            const Path path = weakened(one, guard);
            if (path.hazards().empty() && !guards_packed(one, guard) && !guards_unread(one, guard) && ++kept &&
                ++shown <= 40)
                ADD_FAILURE() << one.path.text() << "\n without " << guard;
        }
    EXPECT_EQ(kept, 0) << "of " << count;
    EXPECT_GT(count, 2500);
}

}  // namespace
}  // namespace strata::lint
