#include <mutex>

#include "strata/asm/isa/names.h"
#include "strata/asm/lint/hazards_p.h"

// The classes of an instruction for the rules of hazards.def.
namespace strata::lint {
namespace {

using isa::Format;
using isa::Inst;
namespace code = isa::code;

constexpr int kModeRegister = 1, kTrapStatus = 3, kSkipBit = 28;  // numbers of hardware registers, a bit of MODE

uint64_t bit(classes::Bit bit, bool set = true) { return uint64_t{set} << bit; }

/// Classes that an instruction's name tells.
struct Named {
    std::string_view start;
    classes::Bit bit;
};
constexpr Named kNamed[] = {
    {"v_dot", classes::dot_bit},
    {"v_readlane", classes::lane_read_bit},
    {"v_readfirstlane", classes::lane_read_bit},
    {"v_readlane", classes::lane_index_bit},
    {"v_writelane", classes::lane_index_bit},
    {"v_readlane", classes::lane_access_bit},
    {"v_readfirstlane", classes::lane_access_bit},
    {"v_writelane", classes::lane_access_bit},
    {"v_div_fmas", classes::div_fmas_bit},
    {"v_fma_f64", classes::fma_f64_bit},
    {"v_fmac_f64", classes::fma_f64_bit},
    {"v_cmpx", classes::cmpx_bit},
    {"v_permlane", classes::permlane_bit},
    {"v_cndmask", classes::masked_bit},
    {"v_div_fmas", classes::masked_bit},
    {"v_add_co_ci", classes::masked_bit},
    {"v_sub_co_ci", classes::masked_bit},
    {"v_subrev_co_ci", classes::masked_bit},
    {"v_nop", classes::vector_nop_bit},
    {"s_setreg", classes::setreg_bit},
    {"s_getreg", classes::getreg_bit},
    {"s_rfe", classes::rfe_bit},
    {"s_setvskip", classes::sets_skip_bit},
    {"s_sendmsg", classes::uses_m0_bit},
    {"s_ttracedata", classes::uses_m0_bit},
    {"s_nop", classes::nop_bit},
    {"s_waitcnt_depctr", classes::waits_alu_bit},
    {"s_wait_alu", classes::waits_alu_bit},
};

bool is_valu(Format format) { return isa::kFormats[static_cast<size_t>(format)].unit == isa::FormatUnit::vector; }
bool is_vector_memory(Format format) {
    return isa::is_buffer(format) || isa::is_flat(format) || format == Format::MIMG;
}

/// M0 is also read by what moves scalar registers by it, GDS, LDS without an address, and loads into LDS.
bool takes_m0(const Inst& inst, const Access& access) {
    if (inst.gds || inst.row->modifiers & isa::mod::gds_only) return true;
    const bool reads = std::ranges::any_of(
        access.all_reads(), [](const Read& read) { return read.source < 0 && read.registers.first == code::m0; });
    return reads && !inst.row->mnemonic.starts_with("s_set_gpr_idx");
}

bool overwrites_source(const Access& access) {
    return std::ranges::any_of(access.all_writes(), [&](const Write& write) {
        return std::ranges::any_of(access.all_reads(),
                                   [&](const Read& read) { return read.registers.overlaps(write.registers); });
    });
}

bool is_shifted(const Inst& inst) {
    if (inst.sdwa.present) return inst.dst[0].is_vector() && inst.sdwa.dst_sel != isa::Sdwa::dword;
    return inst.row->format != Format::VOP3P && inst.op_sel & 8;
}

bool reads_zero_flag(const Inst& inst) {
    return std::ranges::any_of(inst.src, [](const isa::Operand& operand) {
        return operand.present() && (operand.code == code::vccz || operand.code == code::execz);
    });
}

/// The operand of s_getreg and s_setreg is a register's number, a first bit and a count of bits less one.
uint64_t hardware_register_classes(const Inst& inst, bool gets, bool sets) {
    const int number = inst.offset & 63, first = inst.offset >> 6 & 31, last = first + (inst.offset >> 11 & 31);
    return bit(classes::gets_mode_bit, gets && number == kModeRegister) |
           bit(classes::sets_trap_status_bit, sets && number == kTrapStatus) |
           bit(classes::sets_mode_skip_bit, sets && number == kModeRegister && first <= kSkipBit && kSkipBit <= last);
}

/// The factors of CDNA3's products outside of the XDL units are f32, in whose names the type stands last.
uint64_t matrix_classes(isa::Family family, const isa::Row& row) {
    const bool doubles = row.mnemonic.starts_with("v_mfma_f64");
    const bool singles = row.mnemonic.ends_with("_f32") && !row.mnemonic.ends_with("_xf32");
    return bit(classes::matrix_bit) | bit(classes::doubles_bit, doubles) |
           bit(classes::xdl_bit, !doubles && (family == isa::Family::cdna2 || !singles)) |
           bit(classes::narrow_bit, doubles && isa::matrix_passes(family, isa::facts(family, row)) == 4);
}

/// The classes that all instructions of a row have.
uint64_t classes_of(isa::Family family, const isa::Row& row) {
    using namespace classes;
    const bool valu = is_valu(row.format),
               salu = isa::kFormats[static_cast<size_t>(row.format)].unit == isa::FormatUnit::scalar;
    const bool vector_memory = is_vector_memory(row.format), memory = vector_memory || row.format == Format::DS;
    uint64_t is = bit(valu_bit, valu) | bit(salu_bit, salu) | bit(computes_bit, valu || salu) |
                  bit(smem_bit, row.format == Format::SMEM) | bit(vector_memory_bit, vector_memory) |
                  bit(memory_bit, memory) | bit(vector_bit, valu || memory || row.format == Format::EXP) |
                  bit(stores_bit, row.flags & (isa::kStore | isa::kAtomic)) |
                  bit(trans_bit, valu && row.flags & isa::kTrans);
    for (const Named& named : kNamed)
        if (row.mnemonic.starts_with(named.start)) is |= bit(named.bit);
    return row.flags & isa::kMatrix ? is | matrix_classes(family, row) : is;
}

/// The same for each row of a family.
const std::vector<uint64_t>& row_classes(isa::Family family) {
    static std::array<std::vector<uint64_t>, isa::kFamilyCount> tables;
    static std::array<std::once_flag, isa::kFamilyCount> made;
    const auto i = static_cast<size_t>(family);
    std::call_once(made[i], [&] {
        for (const isa::Row& row : isa::rows(family)) tables[i].push_back(classes_of(family, row));
    });
    return tables[i];
}

}  // namespace

uint64_t classes_of(isa::Arch arch, const Inst& inst, const Access& access) {
    using namespace classes;
    const isa::Family family = isa::info(arch).family;
    const uint64_t is = row_classes(family)[static_cast<size_t>(inst.row - isa::rows(family).data())];
    const auto has = [&](Bit one) { return is >> one & 1; };
    if (has(salu_bit))
        return is | bit(uses_m0_bit, takes_m0(inst, access)) | bit(releases_bit, releases_registers(family, inst)) |
               hardware_register_classes(inst, has(getreg_bit), has(setreg_bit));
    if (has(valu_bit))
        return is | bit(dpp_bit, inst.dpp.kind != isa::DppKind::none) | bit(shifted_bit, is_shifted(inst)) |
               bit(zero_flag_bit, reads_zero_flag(inst));
    return is | bit(uses_m0_bit, takes_m0(inst, access)) | bit(loads_bit, access.write_count) |
           bit(loses_address_bit, overwrites_source(access));
}

uint8_t events_of(const Inst& inst, const Access& access, uint64_t is) {
    using namespace classes;
    unsigned events = 0;
    const auto has = [&](Bit one) { return is >> one & 1; };
    if (has(vector_bit) && !has(valu_bit)) events |= vdst;
    if (!has(smem_bit)) events |= not_scalar_memory;
    if (!has(vector_memory_bit)) events |= not_vector_memory;
    if (has(waits_alu_bit))
        for (const isa::CounterField& field : isa::kDepctrCounters) {
            if (inst.offset >> field.shift & ((1 << field.bits) - 1)) continue;
            if (field.name == "depctr_va_vdst") events |= vdst;
            if (field.name == "depctr_sa_sdst") events |= sdst;
        }
    if (!has(valu_bit)) return static_cast<uint8_t>(events);
    if (!has(vector_nop_bit)) events |= moves;
    const bool literal = inst.row->flags & isa::kLiteral || std::ranges::any_of(inst.src, [](const isa::Operand& one) {
                             return one.present() && one.is_literal();
                         });
    const bool scalar = std::ranges::any_of(access.all_reads(), [](const Read& read) {
        const uint16_t first = read.registers.first;
        return first < kScc && (first | 1) != code::exec_hi && (read.source >= 0 || (first | 1) == code::vcc_hi);
    });
    if (literal || scalar) events |= scalar_operands;
    return static_cast<uint8_t>(events);
}

int states_of(const Inst& inst, uint64_t is) { return classes::nop.has(is) ? (inst.offset & 15) + 1 : 1; }

}  // namespace strata::lint
