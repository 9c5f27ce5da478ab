#include "strata/asm/isa/encode/encode_p.h"

namespace strata::isa {

bool Encoder::offset(int32_t low, int32_t high) {
    if (inst_.offset < low || inst_.offset > high)
        return fail("offset {} is not within {} to {}", inst_.offset, low, high);
    put(layout_.offset, static_cast<uint32_t>(inst_.offset));
    return true;
}

bool Encoder::cache_control() {
    if (!layout_.th.bits) return true;
    bool fits = inst_.th >> layout_.th.bits == 0 && inst_.scope >> layout_.scope.bits == 0;
    if (!fits) return fail("th {} or scope {} is out of range", inst_.th, inst_.scope);
    return flag(inst_.th, layout_.th, mod::cache, "temporal hint") &&
           flag(inst_.scope, layout_.scope, mod::cache, "scope");
}

/// An atomic has a destination exactly when the bit that asks for the old value is set; those of DS have no such bit.
bool Encoder::returns_where_asked() {
    bool wide = layout_.th.bits, asked = wide ? inst_.th & 1 : inst_.glc;
    if (!(row_.flags & kAtomic) || row_.format == Format::DS || asked == inst_.dst[0].present()) return true;
    return fail("an atomic returns exactly when {} is set", wide ? "bit 0 of th" : "glc");
}

/// A data register; one bit says for all of them which file they are in.
bool Encoder::data(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name) {
    if (!reg(operand, field, type, kind, name)) return false;
    if (!(kind & kAgpr)) return true;
    if (has_data_ && accumulator_ != operand.is_agpr()) return fail("data must all be VGPRs or all AGPRs");
    has_data_ = true;
    accumulator_ = operand.is_agpr();
    put(layout_.acc, accumulator_);
    return true;
}

bool Encoder::encode_memory() {
    bool ok = flag(inst_.glc, layout_.glc, mod::glc, "glc") && flag(inst_.slc, layout_.slc, mod::slc, "slc") &&
              flag(inst_.dlc, layout_.dlc, mod::dlc, "dlc") && flag(inst_.tfe, layout_.tfe, mod::tfe, "tfe") &&
              flag(inst_.sc1, layout_.sc1, mod::sc1, "sc1") && flag(inst_.lds, layout_.lds, mod::lds, "lds") &&
              flag(inst_.gds, layout_.gds, mod::gds | mod::gds_only, "gds") && cache_control() && returns_where_asked();
    if (!ok) return false;
    if (row_.modifiers & mod::gds_only && !inst_.gds) return fail("the instruction exists with gds only");
    switch (row_.format) {
        case Format::SMEM: return layout_.imm.bits ? encode_cdna_smem() : encode_smem();
        case Format::DS: return encode_ds();
        case Format::MUBUF:
        case Format::MTBUF: return encode_buffer();
        default: return encode_flat();
    }
}

bool Encoder::encode_smem() {
    if (!row_.src_kind[0]) return true;
    if (!row_.dst_kind[0]) {
        if (layout_.th.bits && inst_.offset1 > 31) return fail("the length {} does not fit 5 bits", inst_.offset1);
        put(layout_.dst, inst_.offset1);
    }
    if (row_.dst_kind[0]) {
        if (inst_.dst[0].code > code::null) return fail("sdata must be an SGPR other than m0 and exec");
        if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], kSgpr, "sdata")) return false;
    }
    bool relative = !row_.src_kind[1];  // s_prefetch_*_pc_rel
    const Operand& given = inst_.src[relative ? 0 : 1];
    Operand soffset = given.present() ? given : Operand{code::null, Type::u32};
    int32_t limit = 1 << (layout_.offset.bits - 1);
    bool buffer = row_.src[0] == Type::b128;  // their offset has no sign
    if (relative) return reg(soffset, layout_.src[1], Type::u32, kSgpr, "soffset") && offset(-limit, limit - 1);
    return reg(inst_.src[0], layout_.src[0], row_.src[0], kSgpr, "sbase", 2) &&
           reg(soffset, layout_.src[1], Type::u32, kSgpr, "soffset") && offset(buffer ? 0 : -limit, limit - 1);
}

bool Encoder::encode_cdna_smem() {
    bool stores = row_.src_kind[2];
    const Operand& sdata = stores ? inst_.src[2] : inst_.dst[0];
    if (stores || row_.dst_kind[0]) {
        if (!reg(sdata, layout_.dst, stores ? row_.src[2] : row_.dst[0], kSgpr, "sdata")) return false;
        if (sdata.code > 123) return fail("sdata must be an SGPR other than m0 and exec");
        if (stores && inst_.dst[0].present() && inst_.dst[0].code != sdata.code)
            return fail("an atomic returns to its data register");
    } else if (row_.flags & kProbe) {
        put(layout_.dst, inst_.offset1);
    }
    if (!row_.src_kind[0]) return true;
    bool relative = inst_.src[1].present() && inst_.src[1].code != code::null;
    if (!reg(inst_.src[0], layout_.src[0], row_.src[0], kSgpr, "sbase", 2)) return false;
    if (relative && !inst_.offset) return reg(inst_.src[1], {layout_.offset.shift, 7}, Type::u32, kSgpr, "soffset");
    if (relative && !reg(inst_.src[1], layout_.src[1], Type::u32, kSgpr, "soffset")) return false;
    put(layout_.imm, 1);
    put(layout_.soffset_en, relative);
    int32_t limit = 1 << (layout_.offset.bits - 1);
    return offset(-limit, limit - 1);
}

bool Encoder::encode_ds() {
    static constexpr std::string_view names[] = {"addr", "data0", "data1"};
    if (row_.dst_kind[0] && !data(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "vdst")) return false;
    for (size_t i = 0, field = first_ds_field(row_); i < 3 && row_.src_kind[i]; ++i, ++field)
        if (!data(inst_.src[i], layout_.src[field], row_.src[i], row_.src_kind[i], names[field])) return false;
    if (!(row_.modifiers & mod::two_offsets))
        return inst_.offset == 0 || row_.modifiers & mod::offset ? offset(0, 65535)
                                                                 : fail("the instruction has no offset");
    if (!offset(0, 255)) return false;
    word_ |= uint64_t{inst_.offset1} << (layout_.offset.shift + 8);
    return true;
}

bool Encoder::encode_flat() {
    FlatShape shape = flat_shape(row_);
    bool flat = row_.format == Format::FLAT, scratch = row_.format == Format::SCRATCH;
    auto usable = [](const Operand& operand) { return operand.present() && operand.code != code::null; };
    bool loads = row_.dst_kind[0] && !(row_.flags & kAtomic) && !inst_.lds;
    if (loads || inst_.dst[0].present()) {
        if (!data(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "vdst")) return false;
    }
    bool off = flat || !usable(inst_.src[static_cast<size_t>(shape.saddr)]);
    if (off) {
        put(layout_.src[2], rules_.saddr_off);
    } else {
        auto at = static_cast<size_t>(shape.saddr);
        if (!reg(inst_.src[at], layout_.src[2], row_.src[at], kSgpr, "saddr")) return false;
    }
    if (shape.address >= 0) {
        bool addressed = usable(inst_.src[0]), optional = scratch && (layout_.sve.bits || !off);
        if (scratch && !layout_.sve.bits && addressed && !off) return fail("scratch has one address: vaddr or saddr");
        Type type = row_.format == Format::GLOBAL && !off ? Type::u32 : row_.src[0];
        if ((addressed || !optional) && !reg(inst_.src[0], layout_.src[0], type, kVgpr, "vaddr")) return false;
        put(layout_.sve, addressed);
    }
    if (shape.data >= 0) {
        auto at = static_cast<size_t>(shape.data);
        if (!data(inst_.src[at], layout_.src[1], row_.src[at], row_.src_kind[at], "vdata")) return false;
    }
    if (!row_.src_kind[0]) return true;  // cache control
    int32_t limit = 1 << (layout_.offset.bits - 1);
    return flat && layout_.words == 2 ? offset(0, 2 * limit - 1) : offset(-limit, limit - 1);
}

bool Encoder::encode_buffer() {
    if (!row_.src_kind[0]) return true;
    bool stores = row_.src_kind[3];
    const Operand& vdata = stores ? inst_.src[3] : inst_.dst[0];
    bool has_data = (stores || row_.dst_kind[0]) && !inst_.lds;
    if (has_data && !data(vdata, layout_.dst, stores ? row_.src[3] : row_.dst[0],
                          stores ? row_.src_kind[3] : row_.dst_kind[0], "vdata"))
        return false;
    if (row_.flags & kAtomic && inst_.dst[0].present() && inst_.dst[0].code != vdata.code)
        return fail("an atomic returns to its data register");
    if (stores_from_lds(row_) && (!inst_.lds || inst_.offen || inst_.idxen))
        return fail("the store from LDS has lds and no address");
    put(layout_.offen, inst_.offen);
    put(layout_.idxen, inst_.idxen);
    if (inst_.offen || inst_.idxen) {
        Type type = inst_.offen && inst_.idxen ? Type::b64 : Type::u32;
        if (!reg(inst_.src[0], layout_.src[0], type, kVgpr, "vaddr")) return false;
    }
    if (inst_.buffer_format >> layout_.buffer_format.bits)
        return fail("buffer format {} is out of range", inst_.buffer_format);
    put(layout_.buffer_format, inst_.buffer_format);
    // RDNA4's 24 bits have a sign, which must not be set.
    int32_t limit = layout_.words == 3 ? 1 << (layout_.offset.bits - 1) : 1 << layout_.offset.bits;
    return reg(inst_.src[1], layout_.src[1], row_.src[1], kSgpr, "srsrc", layout_.src[1].bits == 5 ? 4 : 1) &&
           reg(inst_.src[2], layout_.src[2], row_.src[2], row_.src_kind[2], "soffset") && offset(0, limit - 1);
}

}  // namespace strata::isa
