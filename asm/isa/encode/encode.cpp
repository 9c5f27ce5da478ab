#include "strata/asm/isa/encode/encode_p.h"

#include <algorithm>

namespace strata::isa {
namespace {

constexpr std::string_view kSourceNames[] = {"src0", "src1", "src2", "src3"};

std::string_view wanted(uint8_t kind) {
    if (kind == kVgpr) return "a VGPR";
    if (kind == kAgpr) return "an AGPR";
    if (kind == (kVgpr | kAgpr)) return "a VGPR or an AGPR";
    if (kind == kSgpr) return "an SGPR";
    if (!(kind & kVgpr)) return kind & kLiteralConstant ? "an SGPR or a constant" : "an SGPR or an inline constant";
    if (kind & kSgpr) return "a register or an inline constant";
    return kind & kAgpr ? "a vector register or an inline constant" : "a VGPR or an inline constant";
}

}  // namespace

bool Encoder::run(Encoded& out) {
    const bool image = row_.format == Format::MIMG;
    if (row_.flags & kGraphics && !image) return fail("graphics instructions are not encoded");
    if (has_extra_word() && !takes_extra_word()) return false;
    names_halves_ = rules_.half_registers && has_half_registers(row_.format);
    word_ = layout_.prefix | layout_.op.put(row_.opcode) | layout_.written | ones();
    bool ok = row_.format == Format::VOPD   ? encode_vopd()
              : row_.format == Format::MFMA ? encode_matrix()
              : image                       ? encode_image()
              : is_memory(row_.format)      ? encode_memory()
                                            : encode_alu();
    if (!ok) return false;
    if (has_extra_word() && literal_) return fail("a literal cannot stand beside DPP or SDWA");
    out = {};
    auto add = [&](uint32_t word) { out.words[static_cast<size_t>(out.count++)] = word; };
    for (int i = 0; i < layout_.words + has_third_; ++i) add(i == 2 ? third_ : static_cast<uint32_t>(word_ >> 32 * i));
    if (has_extra_word()) add(extra_word_);
    if (literal_) add(inst_.literal);
    return true;
}

/// True if the operand's code may stand where `kind` and `type` are wanted.
bool Encoder::check(const Operand& operand, Type type, uint8_t kind, std::string_view name) {
    if (!operand.present()) return fail("{} is missing", name);
    if (!kind) return absent(operand, name);
    if (operand.is_vector()) return check_vector(operand, type, kind, name);
    uint32_t code = operand.code;
    auto span = static_cast<uint32_t>(rules_.span(type));
    uint8_t have = rules_.kinds[hardware_code(operand)] & ~(kAnnounces | kRenamed);
    if (have == 0) return fail("{} has operand code {}, which names nothing", name, code);
    if (!(kind & have)) return fail("{} must be {}", name, wanted(kind));
    if (have != kSgpr) return literal_ |= have == kLiteralConstant, true;
    uint32_t alignment = span == 1 ? 1 : span == 2 ? 2 : 4;
    if (code != code::null && (code - (code >= code::ttmp0 ? code::ttmp0 : 0)) % alignment)
        return fail("{} must start at a multiple of {} SGPRs", name, alignment);
    bool past = span > 2 && code < code::ttmp0 && code + span > rules_.sgprs;
    return (rules_.scalar_fits(code, span) && !past) || fail("{} is not a group of {} SGPRs", name, span);
}

bool Encoder::check_vector(const Operand& operand, Type type, uint8_t kind, std::string_view name) {
    bool accumulator = operand.is_agpr();
    if (!(kind & (accumulator ? kAgpr : kVgpr))) return fail("{} must be {}", name, wanted(kind));
    int first = operand.row() & 255, span = span_of(type), limit = names_halves_ && is_half(type) ? 128 : 256;
    if (first + span > limit) return fail("{} needs registers past {}{}", name, accumulator ? 'a' : 'v', limit - 1);
    return span == 1 || first % 2 == 0 || !rules_.even_groups || fail("{} must start at an even register", name);
}

bool Encoder::reg(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name,
                  uint32_t scale) {
    if (!check(operand, type, kind, name)) return false;
    uint32_t code = hardware_code(operand);
    put(field, field.bits == 9 ? code : (code & 255) / scale);
    return true;
}

bool Encoder::absent(const Operand& operand, std::string_view name) {
    return !operand.present() || fail("{} is not an operand of this instruction", name);
}

bool Encoder::implicit(const Operand& operand, uint16_t code, std::string_view name) {
    if (!operand.present() || operand.code == code) return true;
    return fail("{} must be {} in this encoding", name, code == code::vcc_lo ? "vcc" : "exec");
}

bool Encoder::encode_alu() {
    if (!modifiers() || !destinations()) return false;
    size_t field = 0;
    for (size_t i = 0; i < 4; ++i) {
        if (!row_.src_kind[i]) {
            if (!absent(inst_.src[i], kSourceNames[i])) return false;
        } else if (row_.src_kind[i] == kLiteralConstant) {
            if (!inst_.src[i].is_literal()) return fail("{} must be a literal", kSourceNames[i]);
            literal_ = true;
        } else if (field == 3 || layout_.src[field].bits == 0) {
            if (!implicit(inst_.src[i], code::vcc_lo, "the mask")) return false;
        } else if (!source(i, layout_.src[field++])) {
            return false;
        }
    }
    return simm() && scalar_reads();
}

bool Encoder::destinations() {
    for (size_t i = 0; i < 2; ++i) {
        std::string_view name = i == 0 ? "dst" : "the second dst";
        if (!row_.dst_kind[i]) {
            if (!absent(inst_.dst[i], name)) return false;
            continue;
        }
        const Field& field = i == 0 ? layout_.dst : layout_.sdst;
        bool exec = rules_.cmpx_has_exec && row_.flags & kWritesExec && row_.dst[i] == Type::lanes;
        if (exec || field.bits == 0) {
            bool in_sdwa_word = inst_.sdwa.present;
            if (!in_sdwa_word && !implicit(inst_.dst[i], exec ? code::exec_lo : code::vcc_lo, name)) return false;
            if (exec) put(field, code::exec_lo);
            continue;
        }
        if (!reg(inst_.dst[i], field, row_.dst[i], row_.dst_kind[i], name)) return false;
        if (row_.flags & kTrans && is_exec(inst_.dst[i].code)) return fail("{} cannot be exec", name);
        if (upper_half(row_.dst[i], 3)) put(field, 128);
    }
    return true;
}

bool Encoder::source(size_t index, const Field& field) {
    const Operand& operand = inst_.src[index];
    const std::string_view name = kSourceNames[index];
    const Dpp& dpp = inst_.dpp;
    uint8_t kind = row_.src_kind[index];
    if (row_.src[index] == Type::lanes && is_exec(operand.code)) return fail("the mask cannot be exec");
    if (dpp.kind != DppKind::none && !operand.is_vgpr() && !dpp_takes_scalar(row_, index))
        return fail("{} must be a VGPR with DPP", name);
    if (inst_.sdwa.present) kind = kVgpr | kSgpr;  // whichever the SDWA word says
    if (!check(operand, row_.src[index], kind, name)) return false;
    if (index == 0 && has_extra_word()) {
        put(field, inst_.sdwa.present           ? kSdwaCode
                   : dpp.kind == DppKind::dpp16 ? kDpp16Code
                   : dpp.fi                     ? kDpp8FiCode
                                                : kDpp8Code);
        return inst_.sdwa.present ? sdwa_word() : dpp_word();
    }
    put(field, field.bits == 9 ? hardware_code(operand) : hardware_code(operand) & 255);
    if (!upper_half(row_.src[index], index)) return true;
    if (!operand.is_vgpr()) return fail("the upper half of {} needs the VOP3 encoding", name);
    put(field, 128);
    return true;
}

bool Encoder::takes_extra_word() {
    bool dpp = inst_.dpp.kind != DppKind::none;
    if (dpp && inst_.sdwa.present) return fail("DPP and SDWA exclude each other");
    return row_.modifiers & (dpp ? mod::dpp : mod::sdwa) || fail("the instruction takes no {}", dpp ? "DPP" : "SDWA");
}

bool Encoder::dpp_word() {
    const Dpp& dpp = inst_.dpp;
    auto low = static_cast<uint32_t>(inst_.src[0].vgpr());
    if (upper_half(row_.src[0], 0)) low |= 128;
    if (!rules_.dpp8 && (dpp.kind == DppKind::dpp8 || dpp.fi)) return fail("CDNA has neither DPP8 nor fi");
    if (dpp.kind == DppKind::dpp8) {
        if (dpp.select >> 24) return fail("DPP8 selects are eight times three bits");
        extra_word_ = low | dpp.select << 8;
        return true;
    }
    if (!rules_.knows_dpp16(row_, dpp.ctrl))
        return fail("DPP control {:#x} names no lane pattern of the operation", dpp.ctrl);
    if (dpp.row_mask > 15 || dpp.bank_mask > 15) return fail("a DPP mask is more than four bits");
    extra_word_ = low | dpp.ctrl << 8 | uint32_t{dpp.fi} << 18 | uint32_t{dpp.bound_ctrl} << 19 |
                  uint32_t{dpp.bank_mask} << 24 | uint32_t{dpp.row_mask} << 28;
    if (layout_.words == 1)
        extra_word_ |=
            (inst_.neg & 1u) << 20 | (inst_.abs & 1u) << 21 | (inst_.neg & 2u) << 21 | (inst_.abs & 2u) << 22;
    return true;
}

bool Encoder::flag(uint32_t value, const Field& field, uint32_t modifier, const char* name) {
    if (!value) return true;
    if (!(row_.modifiers & modifier)) return fail("the instruction takes no {}", name);
    if (!field.bits && !inst_.sdwa.present) return fail("{} needs the VOP3 encoding", name);
    put(field, value);
    return true;
}

/// The bits of op_sel that go into the register numbers of 16-bit operands.
uint32_t Encoder::register_halves() const {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits |= uint32_t{upper_half(row_.src[i], i)} << i;
    return bits | uint32_t{upper_half(row_.dst[0], 3)} << 3;
}

bool Encoder::modifiers() {
    struct Group {
        uint32_t value, accepted;
        const Field& field;
        const char* name;
    };
    uint32_t takes = row_.modifiers, either = takes | row_.ignored, op_sel = table_.bits_of(row_).op_sel;
    const Group groups[] = {{inst_.neg, takes & 7, layout_.neg, "neg"},
                            {inst_.abs, takes >> 3 & 7, layout_.abs, "abs"},
                            {inst_.op_sel & ~register_halves(), op_sel, layout_.op_sel, "op_sel"},
                            {inst_.op_sel_hi, ones() ? 7 : either >> 10 & 7, layout_.op_sel_hi, "op_sel_hi"},
                            {inst_.neg_hi, takes >> 13 & 7, layout_.neg_hi, "neg_hi"}};
    bool in_extra_word = inst_.sdwa.present || (inst_.dpp.kind == DppKind::dpp16 && layout_.words == 1);
    for (const Group& group : groups) {
        if (group.value & ~group.accepted) return fail("the operands take no {}", group.name);
        if (group.value && !group.field.bits && !in_extra_word) return fail("{} needs the VOP3 encoding", group.name);
        put(group.field, group.value);
    }
    put(layout_.op_sel_hi2, inst_.op_sel_hi >> 2);
    if (inst_.omod > 3) return fail("omod is 0 to 3");
    return flag(inst_.clamp, layout_.clamp, mod::clamp, "clamp") && flag(inst_.omod, layout_.omod, mod::omod, "omod");
}

bool Encoder::simm() {
    if (row_.modifiers & mod::message) {
        if (inst_.offset < 0 || inst_.offset > 255) return fail("message {} does not fit 8 bits", inst_.offset);
        put(layout_.src[0], static_cast<uint32_t>(inst_.offset));
        return true;
    }
    if (!(row_.modifiers & mod::simm)) return inst_.offset == 0 || fail("the instruction has no immediate");
    int32_t low = layout_.simm.bits == 16 ? -32768 : 0, high = (1 << layout_.simm.bits) - 1;
    if (inst_.offset < low || inst_.offset > high)
        return fail("immediate {} does not fit {} bits", inst_.offset, layout_.simm.bits);
    put(layout_.simm, static_cast<uint32_t>(inst_.offset));
    return true;
}

/// A vector instruction reads at most two scalar registers and literals together, 64-bit shifts one (RDNA3 ISA, 7.2).
/// In CDNA it reads one; the lane number of v_writelane does not count (CDNA3 ISA, 6.2).
bool Encoder::scalar_reads() {
    bool scalar = row_.format <= Format::SMEM;
    if (scalar) return true;
    ScalarReads reads;
    for (const Operand& operand : inst_.src) reads.add(operand);
    if (row_.flags & kReadsVcc) reads.add({code::vcc_lo, Type::lanes});
    size_t limit = row_.flags & kOneScalar ? 1 : row_.mnemonic == "v_writelane_b32" ? 2 : rules_.constant_bus;
    return reads.count <= limit ||
           fail("reads {} scalar registers and literals; {} at most (constant bus limit)", reads.count, limit);
}

namespace {

/// The row to encode with: that of inst.encoding.
const Row* row_for(const FamilyTable& family, const Inst& inst) {
    bool promoted = inst.encoding == Format::VOP3 || inst.encoding == Format::VOP3SD;
    return promoted && has_half_registers(inst.row->format) ? family.vop3_form(*inst.row) : inst.row;
}

/// Encodes with the row asked for; a native row that cannot hold the operands gives way to its VOP3 form.
Result<Encoded> encode_as(const FamilyTable& family, const Row& row, const Inst& inst) {
    Encoded out;
    Encoder encoder(family, row, inst);
    if (encoder.run(out)) return out;
    std::string failure = std::move(encoder.failure());
    const Row* wide = has_half_registers(row.format) && !inst.sdwa.present ? family.vop3_form(row) : nullptr;
    const bool dpp = inst.dpp.kind != DppKind::none;  // which CDNA's VOP3 does not have
    if (wide && (!dpp || wide->modifiers & mod::dpp)) {
        Encoder promoted(family, *wide, inst);
        if (promoted.run(out)) return out;
        // That a VOP3 form which takes no literal refuses one would be no news.
        bool literal = std::ranges::any_of(inst.src, &Operand::is_literal);
        if (!literal || wide->src_kind[0] & kLiteralConstant) failure = std::move(promoted.failure());
    }
    return make_error(ErrorKind::Assembly, "{}: {}", row.mnemonic, failure);
}

}  // namespace

Result<Encoded> encode(Arch arch, const Inst& inst) {
    const FamilyTable& family = table(info(arch).family);
    if (!inst.row) return make_error(ErrorKind::Assembly, "no instruction row is set; take one from find_row()");
    const Row* row = row_for(family, inst);
    if (!row) return make_error(ErrorKind::Assembly, "{} has no VOP3 encoding", inst.row->mnemonic);
    if (!has_row(arch, *row))
        return make_error(ErrorKind::Assembly, "{} has no instruction '{}'", info(arch).name, row->mnemonic);
    return encode_as(family, *row, inst);
}

}  // namespace strata::isa
