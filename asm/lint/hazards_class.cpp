#include "strata/asm/isa/names.h"
#include "strata/asm/lint/hazards_p.h"

// What an instruction is to the rules of hazards.def.
namespace strata::lint {
namespace {

using isa::Format;
using isa::Inst;
namespace code = isa::code;

constexpr int kTrapStatus = 3;  // a hardware register

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
    return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

/// A class that an instruction's name tells.
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
    {"s_setreg", classes::setreg_bit},
    {"s_getreg", classes::getreg_bit},
    {"s_rfe", classes::rfe_bit},
    {"v_cmpx", classes::cmpx_bit},
    {"v_permlane", classes::permlane_bit},
    {"v_cndmask", classes::masked_bit},
    {"v_div_fmas", classes::masked_bit},
    {"v_add_co_ci", classes::masked_bit},
    {"v_sub_co_ci", classes::masked_bit},
    {"v_subrev_co_ci", classes::masked_bit},
};

bool is_valu(Format format) {
    return isa::kFormats[static_cast<size_t>(format)].unit == isa::FormatUnit::vector || format == Format::VINTERP;
}
bool is_vector_memory(Format format) {
    return isa::is_buffer(format) || isa::is_flat(format) || format == Format::MIMG;
}

/// M0 is read by what moves scalar registers by it, messages, GDS, LDS without an address, and loads into LDS.
bool takes_m0(const Inst& inst, const Access& access) {
    if (inst.gds || inst.row->modifiers & isa::mod::gds_only) return true;
    if (starts_with_any(inst.row->mnemonic, {"s_sendmsg", "s_ttracedata"})) return true;
    const bool reads = std::ranges::any_of(
        access.all_reads(), [](const Read& read) { return read.source < 0 && read.registers.first == code::m0; });
    return reads && !inst.row->mnemonic.starts_with("s_set_gpr_idx");
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

uint64_t bit(classes::Bit bit, bool set = true) { return uint64_t{set} << bit; }

/// The factors of CDNA3's products outside of the XDL units are f32, in whose names the type stands last.
uint64_t matrix_classes(isa::Family family, const Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    const bool doubles = name.starts_with("v_mfma_f64");
    const bool xdl = !doubles && (family == isa::Family::cdna2 || !name.ends_with("_f32") || name.ends_with("_xf32"));
    return bit(classes::matrix_bit) | bit(classes::doubles_bit, doubles) | bit(classes::xdl_bit, xdl) |
           bit(classes::narrow_bit, doubles && isa::matrix_passes(family, isa::facts(family, *inst.row)) == 4);
}

}  // namespace

uint64_t classes_of(isa::Arch arch, const Inst& inst, const Access& access) {
    using namespace classes;
    const isa::Row& row = *inst.row;
    const Format format = row.format;
    const bool valu = is_valu(format),
               salu = isa::kFormats[static_cast<size_t>(format)].unit == isa::FormatUnit::scalar;
    const bool vector_memory = is_vector_memory(format), memory = vector_memory || format == Format::DS;
    uint64_t is = bit(valu_bit, valu) | bit(salu_bit, salu) | bit(computes_bit, valu || salu) |
                  bit(smem_bit, format == Format::SMEM) | bit(vector_memory_bit, vector_memory) |
                  bit(memory_bit, memory) | bit(vector_bit, valu || memory || format == Format::EXP) |
                  bit(loads_bit, row.flags & isa::kMemory && access.write_count) |
                  bit(stores_bit, row.flags & (isa::kStore | isa::kAtomic)) |
                  bit(trans_bit, valu && row.flags & isa::kTrans) | bit(dpp_bit, inst.dpp.kind != isa::DppKind::none) |
                  bit(shifted_bit, valu && is_shifted(inst)) | bit(zero_flag_bit, valu && reads_zero_flag(inst)) |
                  bit(uses_m0_bit, takes_m0(inst, access));
    for (const Named& named : kNamed)
        if (row.mnemonic.starts_with(named.start)) is |= bit(named.bit);
    if (row.flags & isa::kMatrix) is |= matrix_classes(isa::info(arch).family, inst);
    constexpr int kReleaseMessage = 3;
    if (row.mnemonic == "s_nop") is |= bit(nop_bit);
    if (row.mnemonic == "s_sendmsg" && inst.offset == kReleaseMessage) is |= bit(releases_bit);
    if (is & bit(setreg_bit) && (inst.offset & 63) == kTrapStatus) is |= bit(sets_trap_status_bit);
    return is;
}

uint8_t events_of(const Inst& inst, const Access& access, uint64_t is) {
    using namespace classes;
    unsigned events = 0;
    const auto has = [&](Bit one) { return is >> one & 1; };
    if (has(vector_bit) && !has(valu_bit)) events |= vdst;
    if (!has(smem_bit)) events |= not_scalar_memory;
    if (!has(vector_memory_bit)) events |= not_vector_memory;
    if (inst.row->mnemonic == "s_waitcnt_depctr" || inst.row->mnemonic == "s_wait_alu")
        for (const isa::CounterField& field : isa::kDepctrCounters) {
            if (inst.offset >> field.shift & ((1 << field.bits) - 1)) continue;
            if (field.name == "depctr_va_vdst") events |= vdst;
            if (field.name == "depctr_sa_sdst") events |= sdst;
        }
    if (!has(valu_bit)) return static_cast<uint8_t>(events);
    if (inst.row->mnemonic != "v_nop") events |= moves;
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

int states_of(const Inst& inst) { return inst.row->mnemonic == "s_nop" ? (inst.offset & 15) + 1 : 1; }

}  // namespace strata::lint
