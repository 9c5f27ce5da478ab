#include "strata/asm/isa/encode_cdna_p.h"
#include "strata/asm/isa/encode_p.h"

namespace strata::isa {
namespace {

constexpr std::string_view source_names[] = {"src0", "src1", "src2", "src3"};

std::string_view wanted(uint8_t kind) {
    if (kind == kVgpr) return "a VGPR";
    if (kind == kAgpr) return "an AGPR";
    if (kind == (kVgpr | kAgpr)) return "a VGPR or an AGPR";
    if (kind == kSgpr) return "an SGPR";
    if (!(kind & kVgpr)) return kind & kLiteralConstant ? "an SGPR or a constant" : "an SGPR or an inline constant";
    return kind & kSgpr ? "a register or an inline constant" : "a vector register or an inline constant";
}

uint32_t hardware_code(uint32_t code) {
    if (code == code::m0) return kCdnaM0;
    if (code == code::null) return 125;  // names nothing
    return code >= code::agpr0 ? code - code::agpr0 + code::vgpr0 : code;
}

}  // namespace

bool CdnaEncoder::run(Encoded& out) {
    if (row_.flags & kGraphics) return fail("graphics instructions are not encoded");
    if (inst_.dpp.kind != DppKind::none && inst_.sdwa.present) return fail("DPP and SDWA exclude each other");
    word_ = layout_.prefix | layout_.op.put(row_.opcode);
    bool ok = row_.format == Format::MFMA ? matrix() : is_memory(row_.format) ? memory() : alu();
    if (!ok) return false;
    out = {};
    auto add = [&](uint64_t word) { out.words[static_cast<size_t>(out.count++)] = static_cast<uint32_t>(word); };
    for (int i = 0; i < layout_.words; ++i) add(word_ >> 32 * i);
    bool extra = inst_.dpp.kind != DppKind::none || inst_.sdwa.present;
    if (extra && literal_) return fail("a literal cannot stand beside DPP or SDWA");
    if (extra) add(extra_word_);
    if (literal_) add(inst_.literal);
    return true;
}

/// Whether the operand's code may stand where `kind` and `type` are wanted.
bool CdnaEncoder::check(const Operand& operand, Type type, uint8_t kind, std::string_view name) {
    if (!operand.present()) return fail("{} is missing", name);
    int span = span_of(type) + (type == Type::lanes);
    if (operand.is_vector()) {
        if (!(kind & (operand.is_agpr() ? kAgpr : kVgpr))) return fail("{} must be {}", name, wanted(kind));
        char file = operand.is_agpr() ? 'a' : 'v';
        int first = operand.row() & 255;
        if (first + span > 256) return fail("{} needs registers past {}255", name, file);
        return span == 1 || first % 2 == 0 || fail("{} must start at an even register", name);
    }
    uint8_t have = kCdnaCodeKinds[hardware_code(operand.code)];
    if (have == 0) return fail("{} has operand code {}, which names nothing", name, operand.code);
    if (!(kind & have)) return fail("{} must be {}", name, wanted(kind));
    if (have != kSgpr) return literal_ |= have == kLiteralConstant, true;
    uint32_t code = operand.code, alignment = span == 1 ? 1 : span == 2 ? 2 : 4;
    if (code != code::m0 && (code - (code >= code::ttmp0 ? code::ttmp0 : 0)) % alignment)
        return fail("{} must start at a multiple of {} SGPRs", name, alignment);
    bool past = span > 2 && code < code::ttmp0 && code + static_cast<uint32_t>(span) > 102;
    return (cdna_scalar_fits(code, span) && !past) || fail("{} is not a group of {} SGPRs", name, span);
}

bool CdnaEncoder::reg(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name,
                      uint32_t scale) {
    if (!check(operand, type, kind, name)) return false;
    uint32_t code = hardware_code(operand.code);
    put(field, field.bits == 9 ? code : (code & 255) / scale);
    return true;
}

bool CdnaEncoder::alu() {
    if (!modifiers() || !destinations()) return false;
    size_t field = 0;
    for (size_t i = 0; i < 4; ++i) {
        const Operand& from = inst_.src[i];
        if (!row_.src_kind[i]) {
            if (from.present()) return fail("{} is not an operand of this instruction", source_names[i]);
        } else if (row_.src_kind[i] == kLiteralConstant) {
            if (from.present() && !from.is_literal()) return fail("{} must be a literal", source_names[i]);
            literal_ = true;
        } else if (field == 3 || layout_.src[field].bits == 0) {
            if (from.present() && from.code != code::vcc_lo) return fail("the mask must be vcc in this encoding");
        } else if (!source(i, layout_.src[field++])) {
            return false;
        }
    }
    return simm() && scalar_reads();
}

bool CdnaEncoder::destinations() {
    for (size_t i = 0; i < 2; ++i) {
        std::string_view name = i == 0 ? "dst" : "the second dst";
        const Operand& to = inst_.dst[i];
        const Field& field = i == 0 ? layout_.dst : layout_.sdst;
        if (!row_.dst_kind[i]) {
            if (to.present()) return fail("{} is not an operand of this instruction", name);
        } else if (field.bits) {
            if (!reg(to, field, row_.dst[i], row_.dst_kind[i], name)) return false;
        } else if (to.present() && to.code != code::vcc_lo && !inst_.sdwa.present) {
            return fail("{} must be vcc in this encoding", name);
        }
    }
    return true;
}

bool CdnaEncoder::source(size_t index, const Field& field) {
    const Operand& from = inst_.src[index];
    std::string_view name = source_names[index];
    if (index == 0 && inst_.dpp.kind != DppKind::none) {
        put(field, kDpp16Code);
        return check(from, row_.src[0], kVgpr, name) && dpp_word();
    }
    if (row_.src[index] == Type::lanes && from.code == code::exec_lo) return fail("{} cannot be exec", name);
    if (!inst_.sdwa.present) return reg(from, field, row_.src[index], row_.src_kind[index], name);
    if (!check(from, row_.src[index], kVgpr | kSgpr, name)) return false;
    if (index == 0) {
        put(field, kSdwaCode);
        return sdwa_word();
    }
    put(field, hardware_code(from.code) & 255);
    return true;
}

bool CdnaEncoder::dpp_word() {
    const Dpp& dpp = inst_.dpp;
    if (!(row_.modifiers & mod::dpp)) return fail("the instruction takes no DPP");
    if (dpp.kind != DppKind::dpp16 || dpp.fi) return fail("CDNA has neither DPP8 nor fi");
    if (!cdna_dpp_control(dpp.ctrl)) return fail("DPP control {:#x} names no lane pattern", dpp.ctrl);
    if (cdna_dpp_wide(row_) && !is_newbcast(dpp.ctrl)) return fail("64-bit operations take row_newbcast only");
    if (dpp.row_mask > 15 || dpp.bank_mask > 15) return fail("a DPP mask is more than four bits");
    extra_word_ = static_cast<uint32_t>(inst_.src[0].vgpr()) | uint32_t{dpp.ctrl} << 8 |
                  uint32_t{dpp.bound_ctrl} << 19 | uint32_t{dpp.bank_mask} << 24 | uint32_t{dpp.row_mask} << 28 |
                  (inst_.neg & 1u) << 20 | (inst_.abs & 1u) << 21 | (inst_.neg & 2u) << 21 | (inst_.abs & 2u) << 22;
    return true;
}

bool CdnaEncoder::sdwa_word() {
    const Sdwa& sdwa = inst_.sdwa;
    if (!(row_.modifiers & mod::sdwa)) return fail("the instruction takes no SDWA");
    if (sdwa.dst_sel > Sdwa::dword || sdwa.src_sel[0] > Sdwa::dword || sdwa.src_sel[1] > Sdwa::dword ||
        sdwa.dst_unused > Sdwa::preserve)
        return fail("no such SDWA selection");
    if (sdwa.sext & ~sext_sources(row_)) return fail("only integer sources are sign-extended");
    uint32_t word = (hardware_code(inst_.src[0].code) & 255) | uint32_t{sdwa.src_sel[0]} << 16 |
                    uint32_t{!inst_.src[0].is_vgpr()} << 23;
    word |= (sdwa.sext & 1u) << 19 | (inst_.neg & 1u) << 20 | (inst_.abs & 1u) << 21;
    if (row_.src_kind[1] && row_.src[1] != Type::lanes)
        word |= uint32_t{sdwa.src_sel[1]} << 24 | (sdwa.sext & 2u) << 26 | (inst_.neg & 2u) << 27 |
                (inst_.abs & 2u) << 28 | uint32_t{!inst_.src[1].is_vgpr()} << 31;
    if (row_.format == Format::VOPC) {
        const Operand& to = inst_.dst[0];
        if (!check(to, Type::lanes, kSgpr, "dst")) return false;
        if (to.code != code::vcc_lo) word |= uint32_t{1} << 15 | hardware_code(to.code) << 8;
    } else {
        bool whole = sdwa_whole_destination(row_);
        if (whole && (sdwa.dst_sel != Sdwa::dword || sdwa.dst_unused)) return fail("SDWA writes whole registers here");
        word |= uint32_t{sdwa.dst_sel} << 8 | uint32_t{sdwa.dst_unused} << 11 | uint32_t{inst_.clamp} << 13 |
                uint32_t{inst_.omod} << 14;
    }
    extra_word_ = word;
    return true;
}

bool CdnaEncoder::flag(uint32_t value, const Field& field, uint32_t modifier, const char* name) {
    if (!value) return true;
    if (!(row_.modifiers & modifier)) return fail("the instruction takes no {}", name);
    if (!field.bits && !(native() && inst_.sdwa.present)) return fail("{} needs the VOP3 encoding", name);
    put(field, value);
    return true;
}

bool CdnaEncoder::modifiers() {
    struct Group {
        uint32_t value, accepted;
        const Field& field;
        const char* name;
    };
    uint32_t takes = row_.modifiers;
    const Group groups[] = {{inst_.neg, takes & 7, layout_.neg, "neg"},
                            {inst_.abs, takes >> 3 & 7, layout_.abs, "abs"},
                            {inst_.op_sel, takes >> 6 & 15, layout_.op_sel, "op_sel"},
                            {inst_.op_sel_hi, (takes | row_.ignored) >> 10 & 7, layout_.op_sel_hi, "op_sel_hi"},
                            {inst_.neg_hi, takes >> 13 & 7, layout_.neg_hi, "neg_hi"}};
    bool extra = native() && (inst_.dpp.kind != DppKind::none || inst_.sdwa.present);
    for (const Group& group : groups) {
        if (group.value & ~group.accepted) return fail("the operands take no {}", group.name);
        if (group.value && !group.field.bits && !extra) return fail("{} needs the VOP3 encoding", group.name);
        put(group.field, group.value);
    }
    bool moves = row_.format == Format::VOP3P && !(takes & mod::op_sel_hi(7));  // v_accvgpr_*: as LLVM writes it
    uint32_t high = moves ? 7 : inst_.op_sel_hi;
    put(layout_.op_sel_hi, high);
    put(layout_.op_sel_hi2, high >> 2);
    if (inst_.omod > 3) return fail("omod is 0 to 3");
    return flag(inst_.clamp, layout_.clamp, mod::clamp, "clamp") && flag(inst_.omod, layout_.omod, mod::omod, "omod");
}

bool CdnaEncoder::simm() {
    bool takes = row_.modifiers & mod::simm;
    if (inst_.offset && !takes) return fail("the instruction has no immediate");
    if (!takes) return true;
    int32_t low = layout_.simm.bits == 16 ? -32768 : 0, high = (1 << layout_.simm.bits) - 1;
    if (inst_.offset < low || inst_.offset > high)
        return fail("immediate {} does not fit {} bits", inst_.offset, layout_.simm.bits);
    put(layout_.simm, static_cast<uint32_t>(inst_.offset));
    return true;
}

/// A vector instruction reads one scalar register or literal at most (CDNA3 ISA, 6.2).
bool CdnaEncoder::scalar_reads() {
    if (row_.format <= Format::SMEM) return true;
    ScalarReads reads;
    for (size_t i = 0; i < 4; ++i)
        if (row_.src_kind[i] && !inst_.src[i].is_agpr()) reads.add(inst_.src[i]);
    if (row_.flags & kReadsVcc) reads.add({code::vcc_lo, Type::lanes});
    bool lane_select = row_.mnemonic == "v_writelane_b32";  // its lane number does not use the bus
    return reads.count <= (lane_select ? 2u : 1u) ||
           fail("reads {} scalar registers and literals; 1 at most (constant bus limit)", reads.count);
}

bool CdnaEncoder::matrix() {
    bool sparse = row_.src[2] == Type::b32;
    if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "dst")) return false;
    for (size_t i = 0; i < 3; ++i)
        if (!reg(inst_.src[i], layout_.src[i], row_.src[i], row_.src_kind[i], source_names[i])) return false;
    bool accumulator = inst_.dst[0].is_agpr();
    if (!sparse && inst_.src[2].is_vector() && inst_.src[2].is_agpr() != accumulator)
        return fail("src2 must be in the register file of dst");
    put(layout_.acc_cd, accumulator);
    put(layout_.acc, uint32_t{inst_.src[0].is_agpr()} | uint32_t{inst_.src[1].is_agpr()} << 1);
    uint32_t permutation = blgp_negates(row_) ? inst_.neg : inst_.blgp;
    if (inst_.cbsz > 7 || inst_.abid > 15 || permutation > 7) return fail("cbsz is 0 to 7, abid 0 to 15, blgp 0 to 7");
    if (sparse && permutation) return fail("sparse products take no blgp");
    if (blgp_negates(row_) ? inst_.blgp : inst_.neg) return fail("the instruction takes no such modifier");
    put(layout_.cbsz, inst_.cbsz);
    put(layout_.abid, inst_.abid);
    put(layout_.blgp, permutation);
    return true;
}

}  // namespace strata::isa
