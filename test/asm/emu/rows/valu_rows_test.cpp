#include <gtest/gtest.h>

#include <set>

#include "valu_check.h"

// Every row of the vector formats against the scalar model, on generated values: as it stands, with modifiers, with DPP
// and with SDWA. A row without a model fails.
namespace strata::emu::rows {
namespace {

using isa::Arch;
using isa::Format;
using isa::Row;

/// Lanes of these read others, or registers that an index names: LaneRows.GiveTheModelsResultsInEveryFamily.
const std::set<std::string_view> kElsewhere = {
    "v_readlane_b32",   "v_readfirstlane_b32",  "v_writelane_b32",       "v_permlane16_b32", "v_permlanex16_b32",
    "v_permlane64_b32", "v_permlane16_var_b32", "v_permlanex16_var_b32", "v_movreld_b32",    "v_movrels_b32",
    "v_movrelsd_b32",   "v_movrelsd_2_b32",     "v_swaprel_b32"};

bool tested(const Row& row) {
    return !(row.flags & (isa::kGraphics | isa::kNotOnSilicon | isa::kMatrix)) && !kElsewhere.contains(row.mnemonic);
}

struct Shape {
    Arch arch;
    Format format;
};

class VectorRows : public testing::TestWithParam<Shape> {
  protected:
    std::vector<int> wave_sizes() const {
        const isa::ArchInfo& info = isa::info(GetParam().arch);
        if (GetParam().format == Format::VOPD) return {32};
        return info.has_wave64 && info.wave_size == 32 ? std::vector{32, 64} : std::vector{info.wave_size};
    }
    /// Calls `use` with every row of the format.
    template <class F>
    int each(F&& use) {
        int count = 0;
        for (const Row& row : isa::rows(isa::info(GetParam().arch).family)) {
            if (row.format != GetParam().format || !tested(row)) continue;
            ++count;
            use(row);
        }
        return count;
    }
    void check(const Row& row, Variant variant, int repeats, int rounds, int& used) {
        const Arch arch = GetParam().arch;
        if (variant == Variant::mode && !follows_mode(row) && !only_rounds(row)) return;
        Values values(std::hash<std::string_view>{}(row.mnemonic) + static_cast<uint64_t>(variant));
        for (const int lanes : wave_sizes()) {
            Check& at = lanes == 64 ? wide_ : narrow_;
            for (int n = 0; n < repeats; ++n) {
                const auto inst =
                    row.format == Format::VOPD ? dual_form(arch, row, n & 1, values) : form(arch, row, variant, values);
                if (!inst) continue;
                ++used;
                const std::string difference = at.differs(*inst, rounds, values, variant == Variant::mode);
                if (difference.empty()) continue;
                ADD_FAILURE() << isa::info(arch).name << " " << isa::name(row.format) << ": " << difference;
                return;
            }
        }
    }
    Check narrow_{GetParam().arch, 32}, wide_{GetParam().arch, 64};
};

class ModifiedRows : public VectorRows {};
class RoundedRows : public VectorRows {};

TEST_P(VectorRows, GiveTheModelsResults) {
    each([&](const Row& row) {
        int used = 0;
        check(row, Variant::plain, row.format == Format::VOPD ? 2 : 1, 8, used);
        EXPECT_GT(used, 0) << row.mnemonic << " cannot be encoded with plain operands";
    });
}

TEST_P(ModifiedRows, TakeModifiersDppAndSdwa) {
    int modified = 0, dpp = 0, sdwa = 0;
    each([&](const Row& row) {
        check(row, Variant::modifiers, 4, 2, modified);
        check(row, Variant::dpp, 2, 2, dpp);
        check(row, Variant::sdwa, 4, 2, sdwa);
    });
    const Format format = GetParam().format;
    const bool cdna = isa::is_cdna(isa::info(GetParam().arch).family);
    const bool native = format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
    EXPECT_EQ(modified > 0, !native);
    EXPECT_EQ(dpp > 0, cdna ? format == Format::VOP1 || format == Format::VOP2 : format != Format::VINTERP);
    EXPECT_EQ(sdwa > 0, cdna && native);
}

TEST_P(RoundedRows, RoundScaleAndFlushAsModeSays) {
    int used = 0;
    each([&](const Row& row) { check(row, Variant::mode, 4, 4, used); });
    EXPECT_GT(used, 0);
}

std::vector<Shape> shapes(std::initializer_list<Format> formats) {
    std::vector<Shape> all;
    for (const isa::ArchInfo& info : isa::first_archs())
        for (const Format format : formats)
            if ((format != Format::VOPD && format != Format::VINTERP) || !isa::is_cdna(info.family))
                all.push_back({info.arch, format});
    return all;
}
std::string title(const testing::TestParamInfo<Shape>& shape) {
    return std::string(isa::info(shape.param.arch).name) + "_" + std::string(isa::name(shape.param.format));
}
using enum Format;
INSTANTIATE_TEST_SUITE_P(All, VectorRows,
                         testing::ValuesIn(shapes({VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VOPD, VINTERP})), title);
INSTANTIATE_TEST_SUITE_P(All, ModifiedRows, testing::ValuesIn(shapes({VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VINTERP})),
                         title);
INSTANTIATE_TEST_SUITE_P(All, RoundedRows, testing::ValuesIn(shapes({VOP1, VOP2, VOP3, VOP3P, VOPD, VINTERP})), title);

}  // namespace
}  // namespace strata::emu::rows
