#include "strata/asm/isa/encode_p.h"

#include <algorithm>

#include "strata/asm/isa/encode_cdna_p.h"

namespace strata::isa {
namespace {

constexpr std::string_view source_names[] = {"src0", "src1", "src2", "src3"};

bool native_vector(Format format) { return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC; }

std::string_view wanted(uint8_t kind) {
    if (kind == kVgpr) return "a VGPR";
    if (kind == kSgpr) return "an SGPR";
    if (!(kind & kVgpr)) return kind & kLiteralConstant ? "an SGPR or a constant" : "an SGPR or an inline constant";
    return kind & kSgpr ? "a register or an inline constant" : "a VGPR or an inline constant";
}

}  // namespace

bool Encoder::run(Encoded& out) {
    if (row_.flags & kGraphics) return fail("graphics instructions are not encoded");
    names_halves_ = has_half_registers(row_.format);
    word_ = layout_.prefix | layout_.op.put(row_.opcode) | layout_.written;
    bool ok = row_.format == Format::VOPD ? encode_vopd() : is_memory(row_.format) ? encode_memory() : encode_alu();
    if (!ok) return false;
    out = {};
    for (int i = 0; i < layout_.words; ++i)
        out.words[static_cast<size_t>(out.count++)] = i == 2 ? third_ : static_cast<uint32_t>(word_ >> 32 * i);
    if (inst_.dpp.kind != DppKind::none) out.words[static_cast<size_t>(out.count++)] = dpp_word_;
    if (literal_) out.words[static_cast<size_t>(out.count++)] = inst_.literal;
    return true;
}

/// Whether the operand's code may stand where `kind` and `type` are wanted.
bool Encoder::check_operand(const Operand& operand, Type type, uint8_t kind, std::string_view name) {
    uint32_t code = operand.code;
    int span = span_of(type);
    if (operand.is_vgpr()) {
        if (!(kind & kVgpr)) return fail("{} must be {}", name, wanted(kind));
        int limit = names_halves_ && is_half(type) ? 128 : 256;
        if (operand.vgpr() + span > limit) return fail("{} needs registers past v{}", name, limit - 1);
        return true;
    }
    uint8_t have = kCodeKinds[code & 511];
    if (have == 0) return fail("{} has operand code {}, which names nothing", name, code);
    if (!(kind & have)) return fail("{} must be {}", name, wanted(kind));
    if (have != kSgpr) return literal_ |= have == kLiteralConstant, true;
    uint32_t alignment = span == 1 ? 1 : span == 2 ? 2 : 4;
    if (code != code::null && (code - (code >= code::ttmp0 ? code::ttmp0 : 0)) % alignment)
        return fail("{} must start at a multiple of {} SGPRs", name, alignment);
    return scalar_fits(code, span) || fail("{} is not a group of {} SGPRs", name, span);
}

bool Encoder::reg(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name,
                  uint32_t scale) {
    if (!operand.present()) return fail("{} is missing", name);
    if (!check_operand(operand, type, kind, name)) return false;
    uint32_t code = operand.code;
    put(field, field.bits == 9 ? code : (code & 255) / scale);
    return true;
}

bool Encoder::absent(const Operand& operand, std::string_view name) {
    return !operand.present() || fail("{} is not an operand of this instruction", name);
}

bool Encoder::implicit(const Operand& operand, uint16_t code, const char* name) {
    if (!operand.present() || operand.code == code) return true;
    return fail("{} must be {} in this encoding", name, code == code::vcc_lo ? "vcc" : "exec");
}

bool Encoder::encode_alu() {
    if (!modifiers() || !destinations()) return false;
    size_t field = 0;
    for (size_t i = 0; i < 4; ++i) {
        if (!row_.src_kind[i]) {
            if (!absent(inst_.src[i], source_names[i])) return false;
        } else if (row_.src_kind[i] == kLiteralConstant) {
            if (!inst_.src[i].is_literal()) return fail("{} must be a literal", source_names[i]);
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
        bool exec = row_.flags & kWritesExec && row_.dst[i] == Type::lanes;
        if (exec || field.bits == 0) {
            if (!implicit(inst_.dst[i], exec ? code::exec_lo : code::vcc_lo, "dst")) return false;
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
    bool dpp = index == 0 && inst_.dpp.kind != DppKind::none;
    if (row_.src[index] == Type::lanes && is_exec(operand.code)) return fail("the mask cannot be exec");
    if (inst_.dpp.kind != DppKind::none && !operand.is_vgpr() && !dpp_takes_scalar(row_, index))
        return fail("{} must be a VGPR with DPP", source_names[index]);
    if (!dpp) {
        if (!reg(operand, field, row_.src[index], row_.src_kind[index], source_names[index])) return false;
        if (!upper_half(row_.src[index], index)) return true;
        if (!operand.is_vgpr()) return fail("the upper half of {} needs the VOP3 encoding", source_names[index]);
        put(field, 128);
        return true;
    }
    if (!check_operand(operand, row_.src[0], kVgpr, "src0")) return false;
    put(field, inst_.dpp.kind == DppKind::dpp16 ? kDpp16Code : inst_.dpp.fi ? kDpp8FiCode : kDpp8Code);
    return dpp_word();
}

bool Encoder::dpp_word() {
    const Dpp& dpp = inst_.dpp;
    auto low = static_cast<uint32_t>(inst_.src[0].vgpr());
    if (upper_half(row_.src[0], 0)) low |= 128;
    if (!(row_.modifiers & mod::dpp)) return fail("the instruction takes no DPP");
    for (size_t i = 1; i < 4; ++i)
        if (inst_.src[i].is_literal()) return fail("{} cannot be a literal with DPP", source_names[i]);
    if (dpp.kind == DppKind::dpp8) {
        if (dpp.select >> 24) return fail("DPP8 selects are eight times three bits");
        dpp_word_ = low | dpp.select << 8;
        return true;
    }
    if (!valid_dpp_control(dpp.ctrl)) return fail("DPP control {:#x} names no lane pattern", dpp.ctrl);
    if (dpp.row_mask > 15 || dpp.bank_mask > 15) return fail("a DPP mask is more than four bits");
    dpp_word_ = low | dpp.ctrl << 8 | uint32_t{dpp.fi} << 18 | uint32_t{dpp.bound_ctrl} << 19 |
                uint32_t{dpp.bank_mask} << 24 | uint32_t{dpp.row_mask} << 28;
    if (layout_.words == 1)
        dpp_word_ |= (inst_.neg & 1u) << 20 | (inst_.abs & 1u) << 21 | (inst_.neg & 2u) << 21 | (inst_.abs & 2u) << 22;
    return true;
}

bool Encoder::flag(uint32_t value, const Field& field, uint32_t modifier, const char* name) {
    if (!value) return true;
    if (!(row_.modifiers & modifier)) return fail("the instruction takes no {}", name);
    if (!field.bits) return fail("{} needs the VOP3 encoding", name);
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
        uint32_t value, accepted, width;
        const Field& field;
        const char* name;
        bool in_dpp_word;
    };
    uint32_t takes = row_.modifiers, either = takes | row_.ignored;
    uint64_t ones = table_.row_ones[static_cast<size_t>(&row_ - table_.rows.data())];
    const Group groups[] = {
        {inst_.neg, takes, 7, layout_.neg, "neg", true},
        {inst_.abs, takes >> 3, 7, layout_.abs, "abs", true},
        {inst_.op_sel & ~register_halves(), either >> 6, 15, layout_.op_sel, "op_sel", false},
        {inst_.op_sel_hi, ones ? 7 : either >> 10, 7, layout_.op_sel_hi, "op_sel_hi", false},
        {inst_.neg_hi, takes >> 13, 7, layout_.neg_hi, "neg_hi", false},
    };
    bool dpp16 = inst_.dpp.kind == DppKind::dpp16 && layout_.words == 1;
    for (const Group& group : groups) {
        if (group.value & ~(group.accepted & group.width)) return fail("the operands take no {}", group.name);
        if (group.value && !group.field.bits && !(dpp16 && group.in_dpp_word))
            return fail("{} needs the VOP3 encoding", group.name);
        put(group.field, group.value);
    }
    put(layout_.op_sel_hi2, inst_.op_sel_hi >> 2);
    word_ |= ones;
    if (inst_.omod > 3) return fail("omod is 0 to 3");
    return flag(inst_.clamp, layout_.clamp, mod::clamp, "clamp") && flag(inst_.omod, layout_.omod, mod::omod, "omod");
}

bool Encoder::simm() {
    if (row_.modifiers & mod::message) {
        if (inst_.offset < 0 || inst_.offset > 255) return fail("message {} does not fit 8 bits", inst_.offset);
        put(layout_.src[0], static_cast<uint32_t>(inst_.offset));
    }
    if (!layout_.simm.bits) return true;
    if (inst_.offset && !(row_.modifiers & mod::simm)) return fail("the instruction has no immediate");
    if (inst_.offset < -32768 || inst_.offset > 65535) return fail("immediate {} does not fit 16 bits", inst_.offset);
    put(layout_.simm, static_cast<uint16_t>(inst_.offset));
    return true;
}

/// A vector instruction reads at most two scalar registers and literals together, 64-bit shifts one (RDNA3 ISA, 7.2).
bool Encoder::scalar_reads() {
    bool scalar = row_.format <= Format::SMEM;
    if (scalar) return true;
    ScalarReads reads;
    for (const Operand& operand : inst_.src) reads.add(operand);
    if (row_.flags & kReadsVcc) reads.add({code::vcc_lo, Type::lanes});
    size_t limit = row_.flags & kOneScalar ? 1 : 2;
    return reads.count <= limit ||
           fail("reads {} scalar registers and literals; {} at most (constant bus limit)", reads.count, limit);
}

namespace {

/// The row to encode with: that of inst.encoding.
const Row* row_for(const FamilyTable& family, const Inst& inst) {
    bool promoted = inst.encoding == Format::VOP3 || inst.encoding == Format::VOP3SD;
    return promoted && native_vector(inst.row->format) ? family.vop3_form(*inst.row) : inst.row;
}

}  // namespace

namespace {

/// Encodes with the row asked for; a native row that cannot hold the operands gives way to its VOP3 form.
template <class AnyEncoder>
Result<Encoded> encode_as(const FamilyTable& family, const Row& row, const Inst& inst) {
    Encoded out;
    AnyEncoder encoder(family, row, inst);
    if (encoder.run(out)) return out;
    std::string failure = std::move(encoder.failure());
    const Row* wide = native_vector(row.format) && !inst.sdwa.present ? family.vop3_form(row) : nullptr;
    if (wide) {
        AnyEncoder promoted(family, *wide, inst);
        if (promoted.run(out)) return out;
        bool keeps_literal = std::ranges::any_of(inst.src, &Operand::is_literal) && is_cdna(family.family());
        if (!keeps_literal) failure = std::move(promoted.failure());  // CDNA's VOP3 takes none: that would be no news
    }
    return make_error(ErrorKind::Assembly, "{}: {}", row.mnemonic, failure);
}

}  // namespace

Result<Encoded> encode(Arch arch, const Inst& inst) {
    Family name = info(arch).family;
    const FamilyTable& family = table(name);
    if (!inst.row) return make_error(ErrorKind::Assembly, "no instruction row is set; take one from find_row()");
    const Row* row = row_for(family, inst);
    if (!row) return make_error(ErrorKind::Assembly, "{} has no VOP3 encoding", inst.row->mnemonic);
    return is_cdna(name) ? encode_as<CdnaEncoder>(family, *row, inst) : encode_as<Encoder>(family, *row, inst);
}

}  // namespace strata::isa
