#include "strata/asm/lint/access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../isa/families.h"
#include "../isa/maker.h"
#include "../isa/maker_cdna.h"
#include "aim.h"
#include "strata/asm/emu/coverage.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/llvm/assemble.h"

// The access that the tables give an instruction, against its accesses when it runs with registers full of random
// numbers.
namespace strata::lint {
namespace {

using harness::any_state;
using harness::WaveState;
using isa::Arch;
using isa::Inst;
using isa::Row;

constexpr int kMostTries = 6;
#if __has_feature(address_sanitizer)
constexpr int kTries = 3;  // of a row that runs: one of a wave64, too
#else
constexpr int kTries = kMostTries;
#endif

/// Instructions that a wave cannot run by itself.
const std::set<std::string_view> kNotAlone = {"ds_gws_sema_p", "s_sendmsghalt", "s_trap", "s_barrier_wait"};

bool names(std::span<const Read> reads, uint16_t number) {
    return std::ranges::any_of(reads, [&](const Read& read) { return read.registers.overlaps({number, 1}); });
}

/// One run of an instruction, and others of it from states that differ.
class Trial {
  public:
    Trial(Arch arch, const Inst& inst, int wave_size, WaveState before)
        : arch_(arch), access_(access_of(arch, inst, wave_size)), before_(std::move(before)), after_(before_) {
        const auto encoded = isa::encode(arch, inst);
        if (!encoded) return;
        words_.assign(encoded->words.begin(), encoded->words.begin() + encoded->count);
        ran_ = bool(after_.run(arch, words_));
    }
    bool ran() const { return ran_; }
    const Access& access() const { return access_; }

    /// A register that changed without being written, else "".
    std::string unsaid_write() {
        for (uint16_t number : harness::scalar_numbers())
            if (after_.scalar(number) != before_.scalar(number) && !written(number))
                return name({number, 1}) + " changes";
        const size_t lanes = after_.lanes();
        for (size_t first = 0; first < after_.wave.vgpr.size(); first += lanes) {
            const uint32_t *after = &after_.wave.vgpr[first], *before = &before_.wave.vgpr[first];
            if (std::equal(after, after + lanes, before)) continue;
            const auto number = static_cast<uint16_t>(kVectors + first / lanes);
            const Write* write = written(number);
            if (!write) return name({number, 1}) + " changes";
            for (size_t lane = 0; lane < lanes; ++lane)
                if (after[lane] != before[lane] && !write->every_lane && !before_.active(lane))
                    return name({number, 1}) + " changes in a lane that is not active";
        }
        return "";
    }

    /// The difference when everything differs that is not read, else "".
    std::string unsaid_read(uint64_t seed) {
        harness::Numbers numbers(seed);
        WaveState other = before_;
        for (uint16_t number : harness::scalar_numbers())
            if (!names(access_.all_reads(), number)) other.set_scalar(number, numbers.value());
        const size_t lanes = other.lanes();
        for (size_t first = 0; first < other.wave.vgpr.size(); first += lanes) {
            const auto number = static_cast<uint16_t>(kVectors + first / lanes);
            const bool is_read = names(access_.all_reads(), number);
            uint32_t value = numbers.value();
            for (size_t lane = 0; lane < lanes; ++lane)
                if (!is_read || !read_in(number, lane)) other.wave.vgpr[first + lane] = value += 0x9e3779b9;
        }
        if (!other.run(arch_, words_)) return "the instruction fails";
        return difference(other);
    }

  private:
    const Write* written(uint16_t number) const {
        for (const Write& write : access_.all_writes())
            if (write.registers.overlaps({number, 1})) return &write;
        return nullptr;
    }
    bool read_in(uint16_t number, size_t lane) const {
        return std::ranges::any_of(access_.all_reads(), [&](const Read& read) {
            return read.registers.overlaps({number, 1}) && (read.every_lane || before_.active(lane));
        });
    }
    std::string difference(WaveState& other) {
        for (const Write& write : access_.all_writes()) {
            for (uint16_t i = 0; i < write.registers.count; ++i) {
                const auto number = static_cast<uint16_t>(write.registers.first + i);
                if (number < kVectors && after_.scalar(number) != other.scalar(number))
                    return name({number, 1}) + " differs";
                for (size_t lane = 0; lane < after_.lanes() && number >= kVectors; ++lane)
                    if ((write.every_lane || before_.active(lane)) &&
                        after_.vector(number, lane) != other.vector(number, lane))
                        return name({number, 1}) + " differs in lane " + std::to_string(lane);
            }
        }
        if (after_.memory != other.memory) return "memory differs";
        return after_.wave.lds != other.wave.lds ? "local memory differs" : "";
    }

    Arch arch_;
    Access access_;
    WaveState before_, after_;
    std::vector<uint32_t> words_;
    bool ran_ = false;
};

/// Random instructions of every row that runs alone, and what was learned of each row.
class Rows {
  public:
    explicit Rows(Arch arch) : arch_(arch), family_(isa::info(arch).family) {
        for (const emu::FormatCoverage& format : emu::coverage(arch))
            refused_.insert(format.missing.begin(), format.missing.end());
    }

    template <class Check>
    void each(const Check& check) {
        for (const Row& row : isa::rows(family_)) {
            if (row.flags & (isa::kGraphics | isa::kNotOnSilicon | isa::kBranch) || refused_.contains(row.mnemonic))
                continue;
            int ran = 0;
            for (int i = 0; i < kMostTries && (i < kTries || !ran); ++i) {
                const uint64_t seed = static_cast<uint64_t>(i) * 7919 + std::hash<std::string_view>{}(row.mnemonic);
                const int wave_size = wave_of(row, i);
                Inst inst = made(row, seed);
                WaveState state = any_state(arch_, wave_size, seed);
                if (row.flags & isa::kMemory) harness::Aim(arch_, inst, state, seed).take();
                if (row.mnemonic.starts_with("global_load_tr")) state.wave.exec = wave_size == 64 ? ~0ull : 0xffffffff;
                if (access_of(arch_, inst, wave_size).indexed) state.wave.m0 = 0;
                Trial trial(arch_, inst, wave_size, std::move(state));
                if (!trial.ran()) continue;
                ++ran;
                check(row, inst, trial, seed);
            }
            if (!ran) unrun.insert(row.mnemonic);
        }
    }
    std::set<std::string_view> unrun;  ///< rows of which no instruction runs to its end

  private:
    Inst made(const Row& row, uint64_t seed) const {
        if (isa::is_cdna(family_)) {
            Inst inst = isa::CdnaMaker(family_, static_cast<uint32_t>(seed)).make(row);
            if (row.flags & isa::kMatrix && seed & 1)
                inst.cbsz = inst.abid = inst.blgp = 0;  // most values mean nothing
            return inst;
        }
        return isa::Maker(family_, static_cast<uint32_t>(seed), true).make(row);
    }
    /// Every third instruction of a family that has both is one of a wave64.
    int wave_of(const Row& row, int i) const {
        const bool both = !isa::is_cdna(family_) && !(row.flags & isa::kMatrix);
        return both && i % 3 == 2 ? 64 : isa::wave_size(arch_, row);
    }

    Arch arch_;
    isa::Family family_;
    std::set<std::string_view> refused_;
};

class AccessOfRows : public ::testing::TestWithParam<Arch> {};

TEST_P(AccessOfRows, SaysWhichRegistersChangeAndWhichMatter) {
    Rows rows(GetParam());
    std::set<std::string> reported;
    size_t instructions = 0;
    rows.each([&](const Row& row, const Inst& inst, Trial& trial, uint64_t seed) {
        ++instructions;
        for (const std::string& found : {trial.unsaid_write(), trial.unsaid_read(seed + 1)})
            if (!found.empty() && reported.insert(std::string(row.mnemonic)).second)
                ADD_FAILURE() << isa::print(inst, GetParam()) << ": " << found << ", seed " << seed;
    });
    EXPECT_GT(instructions, 7000u / kMostTries * kTries);
    for (std::string_view mnemonic : rows.unrun)
        EXPECT_TRUE(kNotAlone.contains(mnemonic)) << mnemonic << " ran in no form";
}

/// "v2=value v3=copied -> v1, vcc" of one instruction; "!" marks what is every lane's, "~" what is filled late.
std::string described(Arch arch, std::string_view text, int wave_size) {
    const auto words = isa::assemble_instructions(text, arch, wave_size);
    EXPECT_TRUE(words) << text;
    if (!words) return "";
    const auto inst = isa::decode(arch, *words, wave_size);
    EXPECT_TRUE(inst) << text;
    constexpr std::string_view uses[] = {"value", "copied", "address", "stored", "control", "mask", "kept"};
    std::string all;
    const Access access = access_of(arch, *inst, wave_size);
    for (const Read& read : access.all_reads())
        if (read.registers.first != kMode)
            all += name(read.registers) + "=" + std::string(uses[static_cast<size_t>(read.use)]) +
                   (read.every_lane ? "! " : " ");
    all += "->";
    for (const Write& write : access.all_writes())
        all += " " + name(write.registers) + (write.late ? "~" : "") + (write.every_lane ? "!" : "") +
               (write.partly ? " in part" : "");
    return all;
}

struct Case {
    Arch arch;
    std::string_view text, touches;
    int wave_size = isa::info(arch).wave_size;
};
const Case kCases[] = {
    {Arch::gfx1100, "v_mov_b32 v1, v2", "v2=copied exec_lo=mask -> v1"},
    {Arch::gfx1100, "v_add_f32 v1, s2, v3", "s2=value v3=value exec_lo=mask -> v1"},
    {Arch::gfx1100, "v_cndmask_b32 v1, v2, v3, vcc_lo", "v2=copied v3=copied vcc_lo=mask exec_lo=mask -> v1"},
    {Arch::gfx1100, "v_cndmask_b32 v1, v2, v3, vcc", "v2=copied v3=copied vcc=mask exec=mask -> v1", 64},
    {Arch::gfx1100, "v_fmac_f32 v1, v2, v3", "v2=value v3=value v1=value exec_lo=mask -> v1"},
    {Arch::gfx1100, "v_cmpx_lt_i32 v2, v3", "v2=value v3=value exec_lo=mask -> exec_lo"},
    {Arch::gfx1100, "v_readlane_b32 s1, v2, s3", "v2=copied! s3=value -> s1"},
    {Arch::gfx1100, "v_writelane_b32 v1, s2, s3", "s2=copied s3=value v1=kept! -> v1! in part"},
    {Arch::gfx1100, "v_swap_b32 v1, v2", "v2=copied v1=copied exec_lo=mask -> v1 v2"},
    {Arch::gfx1100, "v_dual_fmac_f32 v1, v2, v3 :: v_dual_cndmask_b32 v4, v5, v6",
     "v2=value v3=value v5=copied v6=copied v1=value vcc_lo=mask exec_lo=mask -> v1 v4"},
    {Arch::gfx1100, "v_dual_mov_b32 v1, v2 :: v_dual_fmac_f32 v4, v5, v7",
     "v2=copied v5=value v7=value v4=value exec_lo=mask -> v1 v4"},
    {Arch::gfx1100, "s_and_saveexec_b32 s1, vcc_lo", "vcc_lo=control exec_lo=mask -> s1 scc exec_lo"},
    {Arch::gfx1100, "s_mov_b32 exec_lo, s1", "s1=control -> exec_lo"},
    {Arch::gfx1100, "s_cselect_b32 s1, s2, s3", "s2=copied s3=copied scc=mask -> s1"},
    {Arch::gfx1100, "s_cbranch_vccz 1", "vcc_lo=control ->"},
    {Arch::gfx1100, "s_cbranch_execz 1", "exec_lo=control ->"},
    {Arch::gfx1100, "s_setpc_b64 s[30:31]", "s[30:31]=control ->"},
    {Arch::gfx1100, "s_swappc_b64 s[30:31], s[16:17]", "s[16:17]=control -> s[30:31]"},
    {Arch::gfx1100, "s_load_b128 s[4:7], s[0:1], null", "s[0:1]=address -> s[4:7]~"},
    {Arch::gfx1100, "s_buffer_load_b32 s4, s[8:11], s3", "s[8:11]=address s3=address -> s4~"},
    {Arch::gfx1100, "s_sendmsg_rtn_b32 s1, sendmsg(MSG_RTN_GET_TMA)", "-> s1~"},
    {Arch::gfx1100, "global_load_b64 v[1:2], v3, s[4:5]", "v3=address s[4:5]=address exec_lo=mask -> v[1:2]~"},
    {Arch::gfx1100, "global_load_d16_b16 v1, v[2:3], off", "v[2:3]=address v1=kept exec_lo=mask -> v1~ in part"},
    {Arch::gfx1100, "global_store_b96 v[1:2], v[4:6], off", "v[1:2]=address v[4:6]=stored exec_lo=mask ->"},
    {Arch::gfx1100, "global_atomic_cmpswap_b32 v1, v2, v[3:4], s[6:7] glc",
     "v2=address v[3:4]=stored s[6:7]=address exec_lo=mask -> v1~"},
    {Arch::gfx1100, "buffer_load_b32 v[1:2], v[2:3], s[4:7], s8 idxen offen tfe",
     "v[2:3]=address s[4:7]=address s8=address exec_lo=mask -> v[1:2]~"},
    {Arch::gfx1100, "ds_store_2addr_b64 v1, v[2:3], v[4:5]", "v1=address v[2:3]=stored v[4:5]=stored exec_lo=mask ->"},
    {Arch::gfx1100, "ds_bpermute_b32 v1, v2, v3", "v2=address v3=copied exec_lo=mask -> v1~"},
    {Arch::gfx1100, "s_sendmsg sendmsg(MSG_INTERRUPT)", "m0=stored ->"},
    {Arch::gfx1201, "s_load_b96 s[4:6], s[0:1], 0x0", "s[0:1]=address -> s[4:6]~"},
    {Arch::gfx1201, "global_atomic_add_u32 v1, v[2:3], v4, off th:TH_ATOMIC_RETURN",
     "v[2:3]=address v4=stored exec_lo=mask -> v1~"},
    {Arch::gfx942, "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
     "v[0:1]=value! v[2:3]=value! a[0:15]=value! -> a[0:15]!"},
    {Arch::gfx942, "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10",
     "v[4:5]=value! v[6:9]=value! v10=value! v[0:3]=value! -> v[0:3]!"},
    {Arch::gfx942, "v_accvgpr_read_b32 v1, a2", "a2=copied exec=mask -> v1"},
    {Arch::gfx942, "v_cmpx_lt_i32 vcc, v2, v3", "v2=value v3=value exec=mask -> vcc exec"},
    {Arch::gfx942, "v_mov_b32_sdwa v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
     "v2=copied v1=kept exec=mask -> v1 in part"},
    {Arch::gfx942, "v_div_fmas_f32 v1, v2, v3, v4", "v2=value v3=value v4=value vcc=mask exec=mask -> v1"},
    {Arch::gfx90a, "buffer_load_dword v1, s[4:7], 0 offen lds", "v1=address s[4:7]=address m0=address exec=mask ->"},
    {Arch::gfx90a, "scratch_load_dword v1, v2, off", "v2=address s[102:103]=address exec=mask -> v1~"},
};

TEST(AccessOf, TellsWhatARegisterIsReadFor) {
    for (const Case& c : kCases) EXPECT_EQ(described(c.arch, c.text, c.wave_size), c.touches) << c.text;
}

INSTANTIATE_TEST_SUITE_P(Archs, AccessOfRows, isa::tested_archs(), isa::arch_name);

}  // namespace
}  // namespace strata::lint
