#include <fmt/format.h>

#include <random>

#include "../one_wave.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/isa/table_p.h"

// Upper halves of registers in short encodings: an instruction on them does what it does on lower halves.
namespace strata::emu::harness {
namespace {

using isa::Operand;
using isa::Row;

class UpperHalves : public OneWave, public ::testing::WithParamInterface<isa::Arch> {
  protected:
    UpperHalves() : OneWave(GetParam(), 32) {}
};
INSTANTIATE_TEST_SUITE_P(Archs, UpperHalves, ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201),
                         [](const auto& which) { return std::string(isa::info(which.param).name); });

constexpr int kResult = 1, kFirstSource = 2;

/// v1 and sources v2, v3, v4; 16-bit operands are upper halves where `halves` has their bit.
isa::Inst instance(const Row& row, uint8_t halves) {
    isa::Inst inst;
    inst.row = &row;
    inst.encoding = row.format;
    inst.literal = 0x3c01;
    for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
        const bool lanes = row.dst[i] == isa::Type::lanes;
        const int exec = row.flags & isa::kWritesExec ? isa::code::exec_lo : isa::code::vcc_lo;
        inst.dst[i] = {static_cast<uint16_t>(lanes ? exec : isa::code::vgpr0 + kResult), row.dst[i]};
    }
    for (size_t i = 0; i < 4 && row.src_kind[i]; ++i) {
        const int number = isa::code::vgpr0 + kFirstSource + static_cast<int>(i);
        const bool literal = row.src_kind[i] == isa::kLiteralConstant, lanes = row.src[i] == isa::Type::lanes;
        inst.src[i] = {static_cast<uint16_t>(literal ? isa::code::literal
                                             : lanes ? isa::code::vcc_lo
                                                     : number),
                       row.src[i]};
        if (!lanes && !literal && isa::is_half(row.src[i])) inst.op_sel |= halves & 1 << i;
    }
    if (isa::is_half(row.dst[0])) inst.op_sel |= halves & 8;
    return inst;
}

bool has_halves(const Row& row) {
    bool any = isa::is_half(row.dst[0]);
    for (isa::Type type : row.src) any |= isa::is_half(type);
    return any && isa::has_half_registers(row.format) && !(row.flags & isa::kGraphics);
}

}  // namespace

TEST_P(UpperHalves, ComputeWhatLowerHalvesDoAndLeaveTheOtherHalfAlone) {
    std::mt19937 random(7);
    const WaveRun fresh = wave;
    auto swapped = [](uint32_t value) { return value << 16 | value >> 16; };
    size_t compared = 0;
    for (const Row& row : isa::rows(isa::info(arch).family)) {
        if (!has_halves(row)) continue;
        for (uint8_t halves : {1, 2, 4, 8, 15}) {
            const isa::Inst upper = instance(row, halves), lower = instance(row, 0);
            if (upper.op_sel == 0) continue;
            WaveRun runs[2] = {fresh, fresh};
            for (int lane = 0; lane < lanes; ++lane)
                for (int reg = kResult; reg < kFirstSource + 3; ++reg) {
                    const bool result = reg == kResult;
                    const int bit = result ? 3 : reg - kFirstSource;
                    const uint32_t value = static_cast<uint32_t>(random());
                    const auto at = static_cast<size_t>(reg * lanes + lane);
                    runs[0].vgpr[at] = value;
                    runs[1].vgpr[at] = upper.op_sel >> bit & 1 ? swapped(value) : value;
                }
            for (int i = 0; i < 2; ++i) {
                auto words = isa::encode(arch, i ? upper : lower);
                ASSERT_TRUE(words) << words.error().message;
                Code code(words->words.begin(), words->words.begin() + words->count);
                code.push_back(0xbfb00000);  // s_endpgm
                wave = runs[i];
                run(code);
                runs[i] = wave;
            }
            const std::string text = isa::print(upper, arch);
            for (int lane = 0; lane < lanes; ++lane) {
                const auto at = static_cast<size_t>(kResult * lanes + lane);
                const uint32_t want = upper.op_sel & 8 ? swapped(runs[0].vgpr[at]) : runs[0].vgpr[at];
                ASSERT_EQ(runs[1].vgpr[at], want) << text << " lane " << lane;
            }
            EXPECT_EQ(runs[1].vcc, runs[0].vcc) << text;
            EXPECT_EQ(runs[1].exec, runs[0].exec) << text;
            ++compared;
        }
    }
    EXPECT_GT(compared, 200u);
}

TEST_P(UpperHalves, TwoNaNGiveTheFirst) {
    constexpr uint32_t first = 0xfe027e01, second = 0x7c03fd04;  // quiet and signalling, of both signs
    for (const char* operation : {"v_pk_add_f16", "v_pk_mul_f16"}) {
        set_row(kFirstSource, [](int) { return first; });
        set_row(kFirstSource + 1, [](int) { return second; });
        run(fmt::format("{} v1, v2, v3\n{} v4, v3, v2", operation, operation));
        for (int lane = 0; lane < lanes; ++lane) {
            EXPECT_EQ(v(kResult, lane), first) << operation << " lane " << lane;
            EXPECT_EQ(v(4, lane), second | 0x02000200) << operation << " lane " << lane;
        }
    }
}

}  // namespace strata::emu::harness
