#include <gtest/gtest.h>

#include <set>

#include "../rows/scalar_control.h"
#include "../rows/scalar_harness.h"
#include "../rows/scalar_model.h"
#include "strata/asm/emu/coverage.h"

// Every scalar row of every family against rows/scalar_model.h. A row that neither the model nor a list below knows
// fails by name.
namespace strata::emu::harness {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;
using isa::Row;
using isa::Type;
namespace code = isa::code;

constexpr int kTries = 40;

bool wide(Type type) { return type == Type::b64 || type == Type::u64 || type == Type::i64; }
bool half(Type type) { return type == Type::f16; }

/// A source of the row: a register most times, else a constant. value() is the number that it reads.
class Sources {
  public:
    explicit Sources(ScalarValues& values) : values_(values) {}
    Operand pick(const Row& row, size_t i, Inst& inst, ScalarState& state) {
        const Type type = row.src[i];
        const uint8_t kind = row.src_kind[i];
        uint16_t number = static_cast<uint16_t>(values_.below(48) * 2 + (wide(type) ? 0 : values_.below(2)));
        if (values_.one_in(8)) number = values_.one_in(2) ? code::vcc_lo : code::exec_lo;
        if (!wide(type) && values_.one_in(16)) number = code::m0;
        if (kind & isa::kInline && values_.one_in(4))
            number = static_cast<uint16_t>(values_.one_in(3) ? code::inline_half + values_.below(9)
                                                             : code::inline_zero + values_.below(81));
        else if (kind & isa::kLiteralConstant && !wide(type) && values_.one_in(8)) {
            number = code::literal;
            if (!inst.literal) inst.literal = values_.any32() | 1;
        } else if (wide(type) && number < code::inline_zero) {
            state.set_pair(number, values_.any64());
        }
        if (!(kind & isa::kSgpr)) number = code::literal;
        return {number, type};
    }
    uint64_t value(Operand operand, const Inst& inst, const ScalarState& state) const {
        const int n = operand.code;
        if (n == code::literal) return inst.literal;
        if (n < code::inline_zero) return wide(operand.type) ? state.pair(operand.code) : state.s[operand.code];
        if (n < code::inline_half) {
            const int64_t number = n <= 192 ? n - 128 : 192 - n;
            return wide(operand.type) ? static_cast<uint64_t>(number) : static_cast<uint32_t>(number);
        }
        static constexpr double kConstants[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
        const double number = kConstants[n - code::inline_half];
        if (wide(operand.type)) return std::bit_cast<uint64_t>(number);
        return rounded(number, half(operand.type) ? kHalf : kSingle, Rounding::nearest);
    }

  private:
    ScalarValues& values_;
};

/// Values of `mode` that the row's rule allows.
uint32_t any_mode(ScalarValues& values, const ScalarRule& rule) {
    ScalarCase probe;
    rule(probe);
    return probe.float_mode && !values.one_in(3) ? values.below(256) | values.below(2) << 9 : 0xf0;
}

void write(ScalarState& state, Operand to, uint64_t value) {
    if (to.code == code::null) return;
    if (wide(to.type))
        state.set_pair(to.code, value);
    else
        state.s[to.code] = static_cast<uint32_t>(value);
}

bool same_but_for_nan(const ScalarState& got, ScalarState& want, Operand to) {
    const FloatFormat f = half(to.type) ? kHalf : kSingle;
    const uint32_t bits = got.s[to.code] & ~f.sign();
    if (bits <= f.infinity() || !(bits & f.quiet()) || bits > 2 * f.infinity()) return false;
    want.s[to.code] = got.s[to.code];
    return true;
}

void check_row(ScalarRun& run, const Row& row, const ScalarRule& rule) {
    ScalarValues values(std::hash<std::string_view>{}(row.mnemonic) * 31 + static_cast<uint64_t>(run.lanes()));
    Sources sources(values);
    for (int i = 0; i < kTries; ++i) {
        ScalarState state = values.state(run.registers());
        if (run.lanes() == 32) state.s[127] = 0;
        state.mode = any_mode(values, rule);
        Inst inst = run.make(row);
        for (size_t k = 0; k < 4; ++k)
            if (row.src_kind[k]) inst.src[k] = sources.pick(row, k, inst, state);
        if (row.dst_kind[0]) {
            const bool aside = values.one_in(6);
            inst.dst[0] = {static_cast<uint16_t>(aside ? code::vcc_lo : values.below(50) * 2), row.dst[0]};
            if (values.one_in(6) && inst.src[0].present() && inst.src[0].is_sgpr() && inst.src[0].code < 100)
                inst.dst[0].code = static_cast<uint16_t>(inst.src[0].code & ~1);
            if (!run.cdna() && values.one_in(12)) inst.dst[0].code = code::null;
        }
        if (row.modifiers & isa::mod::simm) inst.offset = static_cast<int16_t>(values.any32());
        // One literal for all sources that name it.
        ScalarCase c{.exec = state.pair(126), .scc = state.scc, .simm = inst.offset, .literal = inst.literal};
        c.mode = state.mode;
        size_t at = 0;
        for (size_t k = 0; k < 3; ++k) {
            if (!inst.src[k].present()) continue;
            if (row.flags & isa::kLiteral && row.src_kind[k] == isa::kLiteralConstant) continue;
            (at++ ? c.b : c.a) = sources.value(inst.src[k], inst, state);
        }
        if (inst.dst[0].present() && inst.dst[0].code != code::null)
            c.d = wide(row.dst[0]) ? state.pair(inst.dst[0].code) : state.s[inst.dst[0].code];
        rule(c);
        ScalarState want = state, got = state;
        want.set_pair(126, c.exec), want.scc = c.scc;
        if (inst.dst[0].present() && c.writes) write(want, inst.dst[0], c.d);
        auto done = run.run(std::vector{inst}, got);
        ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
        if (c.any_nan && inst.dst[0].code != code::null) {
            ASSERT_TRUE(same_but_for_nan(got, want, inst.dst[0])) << row.mnemonic << " gave no quiet NaN";
        }
        const std::string difference = run.difference(got, want);
        ASSERT_EQ(difference, "") << row.mnemonic << " in wave" << run.lanes() << ", mode " << state.mode << ", scc "
                                  << state.scc << ", a 0x" << std::hex << sources.value(inst.src[0], inst, state)
                                  << " (code " << inst.src[0].code << "), b 0x" << c.b << ", literal 0x" << inst.literal
                                  << ", simm " << inst.offset << ", dst code " << inst.dst[0].code;
    }
}

class ScalarRows : public ::testing::TestWithParam<std::tuple<isa::Arch, Format>> {};

TEST_P(ScalarRows, DoWhatTheDocumentsSay) {
    const auto [arch, format] = GetParam();
    const isa::ArchInfo& info = isa::info(arch);
    std::set<std::string_view> refused;
    for (const FormatCoverage& all : coverage(arch))
        if (all.format == format) refused.insert(all.missing.begin(), all.missing.end());
    int checked = 0;
    for (const Row& row : isa::rows(info.family)) {
        if (row.format != format || row.flags & (isa::kNotOnSilicon | isa::kGraphics)) continue;
        if (refused.count(row.mnemonic)) continue;
        const std::string name(row.mnemonic);
        const auto rule = scalar_rules().find(name);
        const auto control = control_checks().find(name);
        for (int lanes : {32, 64}) {
            if (lanes != info.wave_size && !(lanes == 64 && info.has_wave64)) continue;
            const bool whole_exec = row.flags & isa::kWritesExec && row.dst[0] == Type::b64;
            if (whole_exec && lanes == 32) continue;  // EXEC_HI is no part of a wave32's mask
            ScalarRun run(arch, lanes);
            if (rule != scalar_rules().end())
                check_row(run, row, rule->second);
            else if (control != control_checks().end())
                control->second(run, row);
            else
                EXPECT_TRUE(scalar_rows_of_other_tests().count(name)) << name << " has no model and no test of its own";
        }
        ++checked;
    }
    EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Archs, ScalarRows,
    ::testing::Combine(::testing::Values(isa::Arch::gfx1150, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a),
                       ::testing::Values(Format::SOP1, Format::SOP2, Format::SOPK, Format::SOPC, Format::SOPP)),
    [](const auto& param) {
        return std::string(isa::info(std::get<0>(param.param)).name) + "_" +
               std::string(isa::name(std::get<1>(param.param)));
    });

TEST(ScalarRowsList, OfOtherTestsHasNoRowThatTheModelKnows) {
    for (const auto& [name, test] : scalar_rows_of_other_tests()) {
        EXPECT_FALSE(scalar_rules().count(name)) << name;
        EXPECT_FALSE(control_checks().count(name)) << name;
        bool is_row = false;
        for (isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a})
            is_row = is_row || isa::find_row(isa::info(arch).family, name);
        EXPECT_TRUE(is_row) << name << " is no row of any family; its test is " << test;
    }
}

}  // namespace
}  // namespace strata::emu::harness
