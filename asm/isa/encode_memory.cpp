#include "strata/asm/isa/decode_p.h"
#include "strata/asm/isa/encode_p.h"

namespace strata::isa {

bool Encoder::offset(int32_t low, int32_t high) {
    if (inst_.offset < low || inst_.offset > high)
        return fail("offset {} is not within {} to {}", inst_.offset, low, high);
    put(layout_.offset, static_cast<uint32_t>(inst_.offset));
    return true;
}

bool Encoder::encode_memory() {
    bool ok = flag(inst_.glc, layout_.glc, mod::glc, "glc") && flag(inst_.slc, layout_.slc, mod::slc, "slc") &&
              flag(inst_.dlc, layout_.dlc, mod::dlc, "dlc") && flag(inst_.tfe, layout_.tfe, mod::tfe, "tfe") &&
              flag(inst_.gds, layout_.gds, mod::gds | mod::gds_only, "gds");
    if (row_.modifiers & mod::gds_only && !inst_.gds) return fail("the instruction exists with gds only");
    if (!ok) return false;
    switch (row_.format) {
        case Format::SMEM: return encode_smem();
        case Format::DS: return encode_ds();
        case Format::MUBUF:
        case Format::MTBUF: return encode_buffer();
        default: return encode_flat();
    }
}

bool Encoder::encode_smem() {
    if (!row_.src_kind[0]) return true;
    if (!row_.dst_kind[0]) put(layout_.dst, inst_.offset1);
    if (row_.dst_kind[0]) {
        if (inst_.dst[0].code > code::null) return fail("sdata must be an SGPR other than m0 and exec");
        if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], kSgpr, "sdata")) return false;
    }
    Operand soffset = inst_.src[1].present() ? inst_.src[1] : Operand{code::null, Type::u32};
    int32_t limit = 1 << (layout_.offset.bits - 1);
    bool buffer = row_.src[0] == Type::b128;  // their offset has no sign
    return reg(inst_.src[0], layout_.src[0], row_.src[0], kSgpr, "sbase", 2) &&
           reg(soffset, layout_.src[1], Type::u32, kSgpr, "soffset") && offset(buffer ? 0 : -limit, limit - 1);
}

bool Encoder::encode_ds() {
    static constexpr std::string_view names[] = {"addr", "data0", "data1"};
    if (row_.dst_kind[0] && !reg(inst_.dst[0], layout_.dst, row_.dst[0], kVgpr, "vdst")) return false;
    for (size_t i = 0, field = first_ds_field(row_); i < 3 && row_.src_kind[i]; ++i, ++field)
        if (!reg(inst_.src[i], layout_.src[field], row_.src[i], kVgpr, names[field])) return false;
    if (!(row_.modifiers & mod::two_offsets))
        return inst_.offset == 0 || row_.modifiers & mod::offset ? offset(0, 65535)
                                                                 : fail("the instruction has no offset");
    if (!offset(0, 255)) return false;
    word_ |= uint64_t{inst_.offset1} << (layout_.offset.shift + 8);
    return true;
}

bool Encoder::encode_flat() {
    FlatShape shape = flat_shape(row_);
    bool flat = row_.format == Format::FLAT;
    if (row_.flags & kAtomic && inst_.glc != inst_.dst[0].present())
        return fail("an atomic returns to vdst exactly when glc is set");
    if (row_.dst_kind[0] && inst_.dst[0].present() && !reg(inst_.dst[0], layout_.dst, row_.dst[0], kVgpr, "vdst"))
        return false;
    if (row_.dst_kind[0] && !(row_.flags & kAtomic) && !inst_.dst[0].present()) return fail("vdst is missing");
    Operand saddr = shape.saddr >= 0 ? inst_.src[static_cast<size_t>(shape.saddr)] : Operand{};
    bool off = !saddr.present() || saddr.code == code::null;
    if (off) saddr = {code::null, Type::b64};
    if (!reg(saddr, layout_.src[2], off ? Type::u32 : row_.src[static_cast<size_t>(shape.saddr)], kSgpr, "saddr"))
        return false;
    if (shape.address >= 0) {
        const Operand& address = inst_.src[static_cast<size_t>(shape.address)];
        bool present = address.present() && address.code != code::null;
        Type type = row_.format == Format::GLOBAL && !off ? Type::u32 : row_.src[0];
        if ((present || !layout_.sve.bits) && !reg(address, layout_.src[0], type, kVgpr, "vaddr")) return false;
        put(layout_.sve, present);
    }
    if (shape.data >= 0) {
        auto data = static_cast<size_t>(shape.data);
        if (!reg(inst_.src[data], layout_.src[1], row_.src[data], kVgpr, "vdata")) return false;
    }
    int32_t limit = 1 << (layout_.offset.bits - 1);
    return flat ? offset(0, 2 * limit - 1) : offset(-limit, limit - 1);
}

bool Encoder::encode_buffer() {
    if (!row_.src_kind[0]) return true;
    if (row_.flags & kAtomic && inst_.glc != inst_.dst[0].present())
        return fail("an atomic returns to its data register exactly when glc is set");
    const Operand& data = row_.src_kind[3] ? inst_.src[3] : inst_.dst[0];
    bool has_data = row_.src_kind[3] || row_.dst_kind[0];
    if (has_data && !reg(data, layout_.dst, row_.src_kind[3] ? row_.src[3] : row_.dst[0], kVgpr, "vdata")) return false;
    if (row_.flags & kAtomic && inst_.glc && inst_.dst[0].code != data.code)
        return fail("an atomic returns to its data register");
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
