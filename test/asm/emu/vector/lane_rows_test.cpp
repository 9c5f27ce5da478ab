#include <gtest/gtest.h>

#include "../rows/scalar_harness.h"

// The rows of the vector formats that read other lanes, or registers that an index names, on generated values. They run
// in every family and wave size, and are written from the operation descriptions of the RDNA3, RDNA4 and CDNA3
// documents.
namespace strata::emu::harness {
namespace {

namespace code = isa::code;
using isa::Row;

constexpr int kRows = 24;

/// One instruction's operands and the state before and after it.
struct LaneCase {
    LaneCase(isa::Arch arch, int lanes_, const Row& row, uint64_t seed)
        : lanes(lanes_), scalars(arch, lanes_), values(seed), inst(scalars.make(row)) {
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(kRows * lanes));
        for (uint32_t& v : wave.vgpr) v = static_cast<uint32_t>(values.any64() * 0x9e3779b97f4a7c15ull >> 32);
        for (uint32_t& s : wave.sgpr) s = values.any32();
        const uint64_t all = lanes == 32 ? 0xffffffffull : ~0ull, random = values.any64() * 0x9e3779b97f4a7c15ull;
        const uint64_t masks[] = {all, random, random | values.any64(),
                                  1ull << values.below(static_cast<uint32_t>(lanes)), 0};
        wave.exec = masks[values.below(5)] & all;
        wave.m0 = values.any32();
    }
    bool active(int lane) const { return wave.exec >> lane & 1; }
    uint32_t& at(std::vector<uint32_t>& registers, int row, int lane) const {
        return registers[static_cast<size_t>(row * lanes + lane)];
    }
    int vgpr(size_t source) {
        const auto row = static_cast<int>(values.below(kRows / 2));
        inst.src[source] = {static_cast<uint16_t>(code::vgpr0 + row), inst.row->src[source]};
        return row;
    }
    int vgpr_dst() {
        const auto row = static_cast<int>(values.below(kRows / 2));
        inst.dst[0] = {static_cast<uint16_t>(code::vgpr0 + row), isa::Type::b32};
        return row;
    }
    size_t sgpr_dst() {
        inst.dst[0] = {static_cast<uint16_t>(values.below(100)), isa::Type::b32};
        return inst.dst[0].code;
    }
    /// A scalar register, m0 or an inline constant; its value.
    uint32_t scalar(size_t source) {
        isa::Operand& to = inst.src[source];
        to.type = inst.row->src[source];
        const uint32_t kind = values.below(4);
        if (kind == 0) {
            const auto number = values.below(81);
            to.code = static_cast<uint16_t>(code::inline_zero + number);
            return number <= 64 ? number : 64 - number;
        }
        if (kind == 1 && !one_scalar_) return to.code = code::m0, one_scalar_ = true, wave.m0;
        // CDNA reads one scalar register at most.
        if (one_scalar_) return to.code = scalar_, scalar_ == code::m0 ? wave.m0 : wave.sgpr[scalar_];
        to.code = static_cast<uint16_t>(values.below(100));
        one_scalar_ = scalars.cdna(), scalar_ = to.code;
        return wave.sgpr[to.code];
    }
    void run(const std::vector<uint32_t>& registers, const std::array<uint32_t, 106>& sgprs) {
        const auto words = scalars.words({inst, scalars.make("s_endpgm")});
        const uint64_t exec = wave.exec;
        auto done = run_wave(scalars.arch(), {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4}, wave);
        const std::string what = std::string(isa::info(scalars.arch()).name) + ": " + std::string(inst.row->mnemonic) +
                                 " in wave" + std::to_string(lanes);
        ASSERT_TRUE(done) << what << ": " << done.error().message;
        for (size_t i = 0; i < registers.size(); ++i)
            ASSERT_EQ(wave.vgpr[i], registers[i]) << what << ": v" << i / static_cast<size_t>(lanes) << " of lane "
                                                  << i % static_cast<size_t>(lanes) << ", exec 0x" << std::hex << exec;
        for (size_t i = 0; i < static_cast<size_t>(scalars.registers()); ++i)
            ASSERT_EQ(wave.sgpr[i], sgprs[i]) << what << ": s" << i;
        ASSERT_EQ(wave.exec, exec) << what;
    }

    int lanes;
    ScalarRun scalars;
    ScalarValues values;
    isa::Inst inst;
    WaveRun wave;

  private:
    bool one_scalar_ = false;
    uint16_t scalar_ = code::m0;
};

void readlane(LaneCase& c) {
    const int from = c.vgpr(0);
    const uint32_t lane = c.scalar(1) % static_cast<uint32_t>(c.lanes);
    auto sgprs = c.wave.sgpr;
    sgprs[c.sgpr_dst()] = c.at(c.wave.vgpr, from, static_cast<int>(lane));
    c.run(c.wave.vgpr, sgprs);
}
void readfirstlane(LaneCase& c) {
    const int from = c.vgpr(0), lane = c.wave.exec ? std::countr_zero(c.wave.exec) : 0;
    auto sgprs = c.wave.sgpr;
    sgprs[c.sgpr_dst()] = c.at(c.wave.vgpr, from, lane);
    c.run(c.wave.vgpr, sgprs);
}
void writelane(LaneCase& c) {
    const uint32_t value = c.scalar(0);
    const uint32_t lane = c.scalar(1) % static_cast<uint32_t>(c.lanes);
    auto registers = c.wave.vgpr;
    c.at(registers, c.vgpr_dst(), static_cast<int>(lane)) = value;
    c.run(registers, c.wave.sgpr);
}

/// op_sel[0]: inactive lanes may be read; op_sel[1]: they give 0, where the result's register stays otherwise.
template <bool across, bool own_selector>
void permlane16(LaneCase& c) {
    const int from = c.vgpr(0), select = own_selector ? c.vgpr(1) : 0;
    const uint32_t low = own_selector ? 0 : c.scalar(1), high = own_selector ? 0 : c.scalar(2);
    const int to = c.vgpr_dst();
    c.inst.op_sel = static_cast<uint8_t>(c.values.below(4));
    auto registers = c.wave.vgpr;
    for (int lane = 0; lane < c.lanes; ++lane) {
        if (!c.active(lane)) continue;
        const int column = lane % 16;
        const uint32_t half = column < 8 ? low : high;
        const uint32_t chosen = own_selector ? c.at(c.wave.vgpr, select, lane) & 15 : half >> column % 8 * 4 & 15;
        const int source = ((across ? lane ^ 16 : lane) & ~15) + static_cast<int>(chosen);
        uint32_t& result = c.at(registers, to, lane);
        if (c.active(source) || c.inst.op_sel & 1)
            result = c.at(c.wave.vgpr, from, source);
        else if (c.inst.op_sel & 2)
            result = 0;
    }
    c.run(registers, c.wave.sgpr);
}

void permlane64(LaneCase& c) {
    const int from = c.vgpr(0), to = c.vgpr_dst();
    auto registers = c.wave.vgpr;
    for (int lane = 0; lane < c.lanes && c.lanes == 64; ++lane)
        if (c.active(lane)) c.at(registers, to, lane) = c.at(c.wave.vgpr, from, lane ^ 32);
    c.run(registers, c.wave.sgpr);
}

/// M0 moves the source's number, the destination's, both, or each by its own ten bits.
enum class Moves : uint8_t { source, destination, both, each };
template <Moves moves, bool swap = false>
void relative(LaneCase& c) {
    const uint32_t a = c.values.below(kRows / 2), b = c.values.below(kRows / 2);
    // Bits beside the two fields do not count.
    c.wave.m0 = moves == Moves::each ? a | b << 16 | (c.values.any32() & 0xfc00fc00u) : a;
    const int from = c.vgpr(0), to = c.vgpr_dst();
    const int source = from + (moves == Moves::destination ? 0 : static_cast<int>(a));
    const int target = to + (moves == Moves::source ? 0 : static_cast<int>(moves == Moves::each ? b : a));
    auto registers = c.wave.vgpr;
    for (int lane = 0; lane < c.lanes; ++lane) {
        if (!c.active(lane)) continue;
        c.at(registers, target, lane) = c.at(c.wave.vgpr, source, lane);
        if (swap) c.at(registers, source, lane) = c.at(c.wave.vgpr, target, lane);
    }
    c.run(registers, c.wave.sgpr);
}

constexpr std::pair<std::string_view, void (*)(LaneCase&)> kModels[] = {
    {"v_readlane_b32", readlane},
    {"v_readfirstlane_b32", readfirstlane},
    {"v_writelane_b32", writelane},
    {"v_permlane16_b32", permlane16<false, false>},
    {"v_permlanex16_b32", permlane16<true, false>},
    {"v_permlane16_var_b32", permlane16<false, true>},
    {"v_permlanex16_var_b32", permlane16<true, true>},
    {"v_permlane64_b32", permlane64},
    {"v_movrels_b32", relative<Moves::source>},
    {"v_movreld_b32", relative<Moves::destination>},
    {"v_movrelsd_b32", relative<Moves::both>},
    {"v_movrelsd_2_b32", relative<Moves::each>},
    {"v_swaprel_b32", relative<Moves::each, true>},
};

TEST(LaneRows, GiveTheModelsResultsInEveryFamily) {
    for (const isa::ArchInfo& info : isa::first_archs())
        for (const auto& [name, model] : kModels) {
            int rows = 0;
            for (const Row& row : isa::rows(info.family)) {
                if (row.mnemonic != name || row.flags & isa::kNotOnSilicon) continue;
                ++rows;
                for (int lanes : {32, 64}) {
                    if (lanes != info.wave_size && !(lanes == 64 && info.has_wave64)) continue;
                    for (uint64_t seed = 0; seed < 40; ++seed) {
                        LaneCase c(info.arch, lanes, row, seed * 977 + row.opcode);
                        model(c);
                        if (HasFatalFailure()) return;
                    }
                }
            }
            const bool everywhere = name.ends_with("lane_b32");  // readlane, readfirstlane, writelane
            EXPECT_EQ(rows > 0, everywhere || info.family == isa::Family::rdna4 ||
                                    (info.family == isa::Family::rdna3 && name.find("_var_") == name.npos))
                << info.name << " " << name;
        }
}

}  // namespace
}  // namespace strata::emu::harness
