#include <gtest/gtest.h>

#include <random>

#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/run_wave.h"
#include "strata/asm/isa/inst.h"

// transfers.def: the value is the emulator's, and what counts as known is what no unknown bit changes.
namespace strata::emu {
namespace {

using isa::Arch;
using isa::Operand;

struct Named {
    const char* name;
    Transfer transfer;
};
std::vector<Named> rows() {
    return {
#define TRANSFER(name, result) {#name, transfer_of(#name)},
#include "strata/asm/emu/check/transfers.def"
#undef TRANSFER
    };
}

class Transfers : public ::testing::TestWithParam<Named> {};

uint64_t random_word(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0: return random();
        case 1: return random() % 64;
        case 2: return 0;
        default: return random() & random() & random();
    }
}

TEST_P(Transfers, KnowOnlyWhatNoUnknownBitChanges) {
    std::mt19937_64 random(7);
    const Transfer transfer = GetParam().transfer;
    for (int round = 0; round < 2000; ++round) {
        Known source[3];
        for (Known& one : source) one = {random_word(random), ~(random_word(random) & random_word(random))};
        if (round % 3 == 0) source[2].bits = source[1].bits = ~0ull;
        const Known claimed = transfer(source[0], source[1], source[2]);
        for (int completion = 0; completion < 8; ++completion) {
            Known whole[3];
            for (int i = 0; i < 3; ++i)
                whole[i] = known((source[i].value & source[i].bits) | (random() & ~source[i].bits));
            const Known result = transfer(whole[0], whole[1], whole[2]);
            ASSERT_TRUE(result.whole());
            const Known base = transfer(known(source[0].value), known(source[1].value), known(source[2].value));
            ASSERT_EQ((result.value ^ base.value) & claimed.bits, 0u) << std::hex << claimed.bits;
        }
    }
}

/// Two dwords of the result of an RDNA3 instruction on registers.
struct Machine {
    explicit Machine(const isa::Row& row) : row_(row) {
        scalar_ = isa::kFormats[static_cast<size_t>(row.format)].unit == isa::FormatUnit::scalar;
        inst_.row = &row;
        inst_.encoding = row.format;
        const uint16_t base = scalar_ ? 0 : isa::code::vgpr0;
        inst_.dst[0] = {static_cast<uint16_t>(base + 20), row.dst[0]};
        if (row.dst[1] != isa::Type::none) inst_.dst[1] = {isa::code::vcc_lo, row.dst[1]};
        for (size_t i = 0; i < 3 && row.src[i] != isa::Type::none; ++i)
            inst_.src[i] = row.src[i] == isa::Type::lanes
                               ? Operand{isa::code::vcc_lo, row.src[i]}
                               : Operand{static_cast<uint16_t>(base + 2 + 2 * i), row.src[i]};
        inst_.op_sel_hi = 0;
    }
    uint64_t run(const std::array<uint64_t, 3>& values) const {
        WaveRun wave;
        wave.vgpr.assign(size_t{64} * 32, 0);
        for (size_t i = 0; i < 3; ++i) {
            const auto low = static_cast<uint32_t>(values[i]), high = static_cast<uint32_t>(values[i] >> 32);
            wave.sgpr[2 + 2 * i] = low, wave.sgpr[3 + 2 * i] = high;
            wave.vgpr[(2 + 2 * i) * 32] = low, wave.vgpr[(3 + 2 * i) * 32] = high;
        }
        wave.vcc = values[2] & 1;
        const isa::Encoded words = isa::encode(Arch::gfx1100, inst_).value();
        const auto* const bytes = reinterpret_cast<const uint8_t*>(words.words.data());
        run_wave(Arch::gfx1100, std::span(bytes, static_cast<size_t>(words.count) * 4), wave).value();
        return scalar_ ? wave.sgpr[20] | uint64_t{wave.sgpr[21]} << 32
                       : wave.vgpr[size_t{20} * 32] | uint64_t{wave.vgpr[size_t{21} * 32]} << 32;
    }
    isa::Inst inst_{};
    const isa::Row& row_;
    bool scalar_ = false;
};

class TransfersOfRdna3 : public Transfers {};
TEST_P(TransfersOfRdna3, HaveTheEmulatorsValue) {
    const isa::Row* const row = isa::find_row(isa::Family::rdna3, GetParam().name);
    const Machine machine(*row);
    const auto width = [&](isa::Type type) {
        return isa::is_half(type) ? 0xffffull : isa::span_of(type) == 2 ? ~0ull : 0xffffffffull;
    };
    std::mt19937_64 random(11);
    for (int round = 0; round < 200; ++round) {
        std::array<uint64_t, 3> values{};
        Known source[3];
        for (size_t i = 0; i < 3; ++i) {
            values[i] = random_word(random);
            if (row->src[i] == isa::Type::lanes) values[i] &= 1;
            source[i] = known(row->src[i] == isa::Type::none
                                  ? 0
                                  : values[i] & (isa::is_half(row->src[i]) ? 0xffffffffull : width(row->src[i])));
        }
        const uint64_t mask = width(row->dst[0]);
        ASSERT_EQ(GetParam().transfer(source[0], source[1], source[2]).value & mask, machine.run(values) & mask)
            << std::hex << values[0] << " " << values[1] << " " << values[2];
    }
}

/// Those that RDNA3 has, one to an instruction; conversions know all or nothing, and EXEC is not among run_wave's
/// results.
std::vector<Named> comparable() {
    std::vector<Named> all = rows();
    std::erase_if(all, [](const Named& named) {
        const isa::Row* const row = isa::find_row(isa::Family::rdna3, named.name);
        return !row || row->format == isa::Format::VOPD || row->flags & isa::kWritesExec ||
               std::string_view(named.name).starts_with("v_cvt_f32_ubyte");
    });
    return all;
}
INSTANTIATE_TEST_SUITE_P(Rows, TransfersOfRdna3, ::testing::ValuesIn(comparable()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Rows, Transfers, ::testing::ValuesIn(rows()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace strata::emu
