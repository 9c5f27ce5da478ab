#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../rows/local_memory.h"
#include "../rows/scalar_access.h"
#include "../rows/vector_memory.h"
#include "strata/asm/emu/coverage.h"

// Every memory row of every family against rows/memory_model.h. A row that neither the model nor the list below knows
// fails by name.
namespace strata::emu::harness {
namespace {

using isa::Format;
using isa::Row;

constexpr uint64_t kTries = 12;

/// Rows that the model has no part in, and the tests that have them.
const std::map<std::string, std::string, std::less<>>& rows_of_other_tests() {
    static const char kBlocks[] = "Blocks.MoveTheRegistersWhoseBitIsSetInM0";
    static const char kShare[] = "GlobalShare.SemaphoresAndBarriersLetWavesPassOrWait";
    static const char kBulk[] = "GlobalSync.ABulkReleaseLetsAsManyWavesPassAsTheFirstActiveLaneSays";
    static const char kReleaseAll[] = "GlobalSync.ReleasingAllLetsEveryWaitingWavePass";
    static const char kTranspose[] = "TransposingLoads.GiveLanesTheColumnsOfAMatrixInMemory";
    static const char kClocks[] = "Gfx9Scalars.HardwareRegistersAndClocks";
    static const std::map<std::string, std::string, std::less<>> all = {
        {"global_load_block", kBlocks},
        {"global_store_block", kBlocks},
        {"scratch_load_block", kBlocks},
        {"scratch_store_block", kBlocks},
        {"ds_gws_init", kShare},
        {"ds_gws_barrier", kShare},
        {"ds_gws_sema_v", kShare},
        {"ds_gws_sema_p", kShare},
        {"ds_gws_sema_br", kBulk},
        {"ds_gws_sema_release_all", kReleaseAll},
        {"s_memtime", kClocks},
        {"s_memrealtime", kClocks},
        {"global_load_tr_b64", kTranspose},
        {"global_load_tr_b128", kTranspose},
    };
    return all;
}

/// Conversions by a format: BufferFormatRows has all of them.
bool converts(std::string_view name) { return name.find("_format_") != name.npos; }

/// The part of a mnemonic after its unit.
std::string_view without_unit(std::string_view name) {
    for (std::string_view unit : {"s_buffer_", "s_scratch_", "s_", "ds_", "global_", "flat_", "scratch_", "buffer_"})
        if (name.starts_with(unit)) return name.substr(unit.size());
    return name;
}

void check(isa::Arch arch, const Row& row, uint64_t seed) {
    const auto access = parse_access(without_unit(row.mnemonic), row.format == Format::DS);
    switch (row.format) {
        case Format::FLAT:
        case Format::GLOBAL: return check_global(arch, row, *access, seed);
        case Format::SCRATCH: return check_scratch(arch, row, *access, seed);
        case Format::MUBUF: return check_buffer(arch, row, *access, seed);
        case Format::SMEM: return check_scalar_access(arch, row, *access, seed);
        default: return check_local(arch, row, *access, seed);
    }
}

class MemoryRows : public ::testing::TestWithParam<std::tuple<isa::Arch, Format>> {};

TEST_P(MemoryRows, DoWhatTheDocumentsSay) {
    const auto [arch, format] = GetParam();
    std::set<std::string_view> refused;
    for (const FormatCoverage& all : coverage(arch))
        if (all.format == format) refused.insert(all.missing.begin(), all.missing.end());
    for (const Row& row : isa::rows(isa::info(arch).family)) {
        if (row.format != format || row.flags & (isa::kNotOnSilicon | isa::kGraphics)) continue;
        if (refused.count(row.mnemonic) || converts(row.mnemonic)) continue;
        const std::string name(row.mnemonic);
        if (const auto special = local_checks().find(name); special != local_checks().end()) {
            for (uint64_t seed = 0; seed < kTries; ++seed) special->second(arch, row, seed);
        } else if (name == "buffer_store_lds_dword") {
            for (uint64_t seed = 0; seed < kTries; ++seed) store_from_local(arch, row, seed);
        } else if (!(row.modifiers & isa::mod::gds_only) && !row.dst_kind[0] && (!row.src_kind[0] || is_hint(name))) {
            check_hint(arch, row);
        } else if (parse_access(without_unit(name), format == Format::DS)) {
            for (uint64_t seed = 0; seed < kTries; ++seed)
                check(arch, row, seed * 977 + std::hash<std::string_view>{}(name) % 1009);
        } else {
            EXPECT_TRUE(rows_of_other_tests().count(name)) << name << " has no model and no test of its own";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Archs, MemoryRows,
                         ::testing::Combine(::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942,
                                                              isa::Arch::gfx90a),
                                            ::testing::Values(Format::SMEM, Format::DS, Format::MUBUF, Format::FLAT,
                                                              Format::GLOBAL, Format::SCRATCH)),
                         [](const auto& param) {
                             return std::string(isa::info(std::get<0>(param.param)).name) + "_" +
                                    std::string(isa::name(std::get<1>(param.param)));
                         });

TEST(MemoryRowsList, OfOtherTestsHasNoRowThatTheModelKnows) {
    for (const auto& [name, test] : rows_of_other_tests()) {
        EXPECT_FALSE(parse_access(without_unit(name), name.starts_with("ds_"))) << name;
        EXPECT_FALSE(local_checks().count(name)) << name;
        bool is_row = false;
        for (isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a})
            is_row = is_row || isa::find_row(isa::info(arch).family, name);
        EXPECT_TRUE(is_row) << name << " is no row of any family; its test is " << test;
    }
}

}  // namespace
}  // namespace strata::emu::harness
