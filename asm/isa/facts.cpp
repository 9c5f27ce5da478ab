#include "strata/asm/isa/facts.h"

namespace strata::isa {
namespace {

using namespace counter;
using namespace implicit;
using Entry = Facts;
#define INST(mnemonic, format, opcode, dst, src, flags, modifiers, ignored, counters, latency, issue, result, reads, \
             writes)                                                                                                 \
    {counters, LatencyClass::latency, issue, result, reads, writes},
#include "family_tables.inc"
#undef INST

constexpr std::span<const Facts> kAllFacts[] = {
#define FAMILY(name, ...) name##_entries,
#include "strata/asm/isa/families.def"
#undef FAMILY
};

constexpr struct {
    std::string_view name;
    uint16_t bit;
} kCounterNames[] = {{"vmcnt", vmcnt},     {"vscnt", vscnt},       {"lgkmcnt", lgkmcnt},     {"expcnt", expcnt},
                     {"loadcnt", loadcnt}, {"storecnt", storecnt}, {"samplecnt", samplecnt}, {"bvhcnt", bvhcnt},
                     {"dscnt", dscnt},     {"kmcnt", kmcnt}},
  kImplicitNames[] = {{"m0", m0},
                      {"vcc", vcc},
                      {"scc", scc},
                      {"exec", exec},
                      {"flat_scratch", flat_scratch},
                      {"mode", mode},
                      {"destination", destination}};

template <size_t N, class Name>
std::vector<std::string_view> names(const Name (&all)[N], uint16_t bits) {
    std::vector<std::string_view> found;
    for (const Name& one : all)
        if (bits & one.bit) found.push_back(one.name);
    return found;
}

/// True if lanes or bits of a vector destination stay as they were because of the instruction's modifiers.
bool keeps_destination(const Inst& inst) {
    if (!inst.dst[0].is_vector()) return false;
    const bool all_rows = inst.dpp.row_mask == 0xf && inst.dpp.bank_mask == 0xf;
    const bool dpp = inst.dpp.kind == DppKind::dpp16 && !(inst.dpp.bound_ctrl && all_rows);
    return dpp || inst.dpp.kind == DppKind::dpp8 || (inst.sdwa.present && inst.sdwa.dst_unused == Sdwa::preserve) ||
           inst.op_sel & 8;
}

/// v_permlane16 and its like give zero for lanes that do not run, where bit 1 of op_sel is set (RDNA3 ISA,
/// V_PERMLANE16_B32).
bool fills_destination(const Inst& inst) { return inst.op_sel & 2 && inst.row->mnemonic.starts_with("v_permlane"); }

}  // namespace

const Facts& facts(Family family, const Row& row) {
    static constexpr Facts none{};
    const std::span<const Row> all = rows(family);
    if (std::less<>()(&row, all.data()) || !std::less<>()(&row, all.data() + all.size())) return none;
    return kAllFacts[static_cast<size_t>(family)][static_cast<size_t>(&row - all.data())];
}

uint16_t counters(Family family, const Inst& inst) {
    const uint16_t issued = facts(family, *inst.row).counters;
    const bool returns = inst.row->flags & kAtomic && inst.dst[0].present();
    if (returns && issued & vscnt) return static_cast<uint16_t>((issued & ~vscnt) | vmcnt);
    if (returns && issued & storecnt) return static_cast<uint16_t>((issued & ~storecnt) | loadcnt);
    return issued;
}

uint8_t implicit_reads(Family family, const Inst& inst) {
    unsigned reads = facts(family, *inst.row).reads;
    if (inst.row_y) reads |= facts(family, *inst.row_y).reads;
    if (keeps_destination(inst)) reads |= destination;
    if (fills_destination(inst)) reads &= ~unsigned{destination};
    if (inst.lds) reads |= m0;
    return static_cast<uint8_t>(reads);
}

uint8_t implicit_writes(Family family, const Inst& inst) {
    unsigned writes = facts(family, *inst.row).writes;
    if (inst.row_y) writes |= facts(family, *inst.row_y).writes;
    return static_cast<uint8_t>(writes);
}

int issue_cycles(Family family, const Facts& facts, int wave_size) {
    return !is_cdna(family) && info(facts.latency).halves && wave_size == 64 ? facts.issue * 2 : facts.issue;
}

int matrix_passes(Family family, const Facts& facts) {
    return is_cdna(family) && facts.latency == LatencyClass::matrix ? facts.issue / 4 : 0;
}

std::vector<std::string_view> counter_names(uint16_t counters) { return names(kCounterNames, counters); }
std::vector<std::string_view> implicit_names(uint8_t registers) { return names(kImplicitNames, registers); }

}  // namespace strata::isa
