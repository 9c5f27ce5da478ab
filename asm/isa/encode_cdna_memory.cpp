#include "strata/asm/isa/decode_p.h"
#include "strata/asm/isa/encode_cdna_p.h"

namespace strata::isa {

bool CdnaEncoder::offset(int32_t low, int32_t high) {
    if (inst_.offset < low || inst_.offset > high)
        return fail("offset {} is not within {} to {}", inst_.offset, low, high);
    put(layout_.offset, static_cast<uint32_t>(inst_.offset));
    return true;
}

/// A data register; one bit says for all of them which file they are in.
bool CdnaEncoder::data(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name) {
    if (!reg(operand, field, type, kind, name)) return false;
    if (has_data_ && accumulator_ != operand.is_agpr()) return fail("data must all be VGPRs or all AGPRs");
    has_data_ = true;
    accumulator_ = operand.is_agpr();
    put(layout_.acc, accumulator_);
    return true;
}

bool CdnaEncoder::memory() {
    bool ok = flag(inst_.glc, layout_.glc, mod::glc, "glc") && flag(inst_.slc, layout_.slc, mod::slc, "slc") &&
              flag(inst_.sc1, layout_.sc1, mod::sc1, "sc1") && flag(inst_.lds, layout_.lds, mod::lds, "lds") &&
              flag(inst_.gds, layout_.gds, mod::gds_only, "gds");
    if (!ok) return false;
    if (row_.modifiers & mod::gds_only && !inst_.gds) return fail("the instruction exists with gds only");
    bool returns = row_.flags & kAtomic && row_.format != Format::DS;
    if (returns && inst_.glc != inst_.dst[0].present()) return fail("an atomic returns exactly when glc (sc0) is set");
    switch (row_.format) {
        case Format::SMEM: return smem();
        case Format::DS: return ds();
        case Format::MUBUF:
        case Format::MTBUF: return buffer();
        default: return flat();
    }
}

bool CdnaEncoder::smem() {
    bool stores = row_.src_kind[2];
    const Operand& sdata = stores ? inst_.src[2] : inst_.dst[0];
    if (stores || row_.dst_kind[0]) {
        if (!reg(sdata, layout_.dst, stores ? row_.src[2] : row_.dst[0], kSgpr, "sdata")) return false;
        if (sdata.code > 123) return fail("sdata must be an SGPR other than m0 and exec");
        if (stores && inst_.dst[0].present() && inst_.dst[0].code != sdata.code)
            return fail("an atomic returns to its data register");
    } else if (row_.mnemonic.starts_with("s_atc_probe")) {
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

bool CdnaEncoder::ds() {
    static constexpr std::string_view names[] = {"addr", "data0", "data1"};
    if (row_.dst_kind[0] && !data(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "vdst")) return false;
    for (size_t i = 0, field = first_ds_field(row_); i < 3 && row_.src_kind[i]; ++i, ++field) {
        bool ok = row_.src_kind[i] & kAgpr
                      ? data(inst_.src[i], layout_.src[field], row_.src[i], row_.src_kind[i], names[field])
                      : reg(inst_.src[i], layout_.src[field], row_.src[i], row_.src_kind[i], names[field]);
        if (!ok) return false;
    }
    if (!(row_.modifiers & mod::two_offsets))
        return inst_.offset == 0 || row_.modifiers & mod::offset ? offset(0, 65535)
                                                                 : fail("the instruction has no offset");
    if (!offset(0, 255)) return false;
    word_ |= uint64_t{inst_.offset1} << (layout_.offset.shift + 8);
    return true;
}

bool CdnaEncoder::flat() {
    FlatShape shape = flat_shape(row_);
    bool flat = row_.format == Format::FLAT, scratch = row_.format == Format::SCRATCH;
    bool loads = row_.dst_kind[0] && !(row_.flags & kAtomic) && !inst_.lds;
    if (loads && !inst_.dst[0].present()) return fail("vdst is missing");
    if (inst_.dst[0].present() && !data(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "vdst")) return false;
    if (shape.data >= 0) {
        auto at = static_cast<size_t>(shape.data);
        if (!data(inst_.src[at], layout_.src[1], row_.src[at], row_.src_kind[at], "vdata")) return false;
    }
    auto usable = [](const Operand& operand) { return operand.present() && operand.code != code::null; };
    bool off = flat || !usable(inst_.src[static_cast<size_t>(shape.saddr)]);
    if (!flat && off) put(layout_.src[2], kFlatOff);
    if (!off) {
        auto at = static_cast<size_t>(shape.saddr);
        if (!reg(inst_.src[at], layout_.src[2], row_.src[at], kSgpr, "saddr")) return false;
    }
    bool addressed = usable(inst_.src[0]), optional = scratch && (layout_.sve.bits || !off);
    if (scratch && !layout_.sve.bits && addressed && !off) return fail("scratch has one address: vaddr or saddr");
    Type type = row_.format == Format::GLOBAL && !off ? Type::u32 : row_.src[0];
    if ((addressed || !optional) && !reg(inst_.src[0], layout_.src[0], type, kVgpr, "vaddr")) return false;
    put(layout_.sve, addressed);
    return flat ? offset(0, 4095) : offset(-4096, 4095);
}

bool CdnaEncoder::buffer() {
    if (!row_.src_kind[0]) return true;
    bool stores = row_.src_kind[3];
    const Operand& vdata = stores ? inst_.src[3] : inst_.dst[0];
    bool has_data = (stores || row_.dst_kind[0]) && !inst_.lds;
    if (has_data && !data(vdata, layout_.dst, stores ? row_.src[3] : row_.dst[0],
                          stores ? row_.src_kind[3] : row_.dst_kind[0], "vdata"))
        return false;
    if (row_.flags & kAtomic && inst_.glc && inst_.dst[0].code != vdata.code)
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
    return reg(inst_.src[1], layout_.src[1], row_.src[1], kSgpr, "srsrc", 4) &&
           reg(inst_.src[2], layout_.src[2], row_.src[2], kSgpr | kInline, "soffset") &&
           offset(0, (1 << layout_.offset.bits) - 1);
}

}  // namespace strata::isa
