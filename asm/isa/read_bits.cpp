#include "strata/asm/isa/image_p.h"

// Which bits of an instruction its form reads. A field is read where the row has its operand or modifier. One whose
// operand the row does not have may hold anything: LLVM 19 writes zeros there, later ones inline constant 0. Reserved
// bits, and flags and modifiers that the row refuses, keep one value.
namespace strata::isa {
namespace {

/// Bits of the first two words and of the third.
struct Bits {
    uint64_t low = 0;
    uint32_t third = 0;

    void add(const Field& field) {
        low |= field.mask();
        if (field.shift >= 64) third |= ((uint32_t{1} << field.bits) - 1) << (field.shift - 64);
    }
    void add(std::initializer_list<Field> fields) {
        for (const Field& field : fields) add(field);
    }
};

size_t count_fields(const Row& row) {
    size_t count = 0;
    for (uint8_t kind : row.src_kind) count += kind != 0 && kind != kLiteralConstant;
    return std::min<size_t>(count, 3);
}

/// EXEC, which v_cmpx of RDNA writes whatever the field says.
bool implies_destination(const Row& row, const Rules& rules) {
    return rules.cmpx_has_exec && row.flags & kWritesExec && row.dst[0] == Type::lanes;
}

void add_operands(Bits& bits, const Layout& layout, const Row& row) {
    for (size_t i = 0; i < count_fields(row); ++i) bits.add(layout.src[i]);
    if (row.modifiers & mod::message) bits.add(layout.src[0]);
    if (row.dst_kind[0]) bits.add(layout.dst);
    if (row.dst_kind[1]) bits.add(layout.sdst);
}

/// The fields of absent sources and destinations, and the modifiers of these.
void add_absent_operands(Bits& bits, const Layout& layout, const Row& row, const Rules& rules) {
    const size_t present = count_fields(row);
    const auto absent = static_cast<uint64_t>(7 << present & 7);
    for (size_t i = present; i < 3; ++i) bits.add(layout.src[i]);
    bits.low |= layout.neg.put(absent) | layout.abs.put(absent) | layout.op_sel.put(absent) |
                layout.op_sel_hi.put(absent) | layout.op_sel_hi2.put(absent >> 2) | layout.neg_hi.put(absent);
    if (!row.dst_kind[0]) {
        bits.add({layout.dst, layout.clamp, layout.omod});
        bits.low |= layout.op_sel.put(8);
    }
    if (implies_destination(row, rules)) bits.add(layout.dst);
    if (!row.dst_kind[1]) bits.add(layout.sdst);
    if (!(row.modifiers & mod::simm)) bits.add(layout.simm);
}

bool moves_data(const Layout& layout, const Row& row) {
    if (is_buffer(layout.format)) return row.dst_kind[0] || row.src_kind[3];
    // SMEM: what is stored, the length of a prefetch or the mode of a probe.
    if (layout.format == Format::SMEM) return row.dst_kind[0] || row.src_kind[0];
    return row.dst_kind[0];
}

/// Address and data fields of the memory formats are not in operand order.
void add_memory_operands(Bits& bits, const Layout& layout, const Row& row) {
    if (moves_data(layout, row)) bits.add(layout.dst);
    if (layout.format == Format::DS) {
        for (size_t i = 0, field = first_ds_field(row); i < 3 && row.src_kind[i]; ++i) bits.add(layout.src[field++]);
        return;
    }
    bits.add(layout.segment);
    if (!row.src_kind[0]) return;
    bits.add({layout.sve, layout.buffer_format, layout.offen, layout.idxen, layout.soffset_en, layout.imm});
    const bool flat = is_flat(layout.format), relative = layout.format == Format::SMEM && !row.src_kind[1];
    const FlatShape shape = flat ? flat_shape(row) : FlatShape{0, 0, 0};
    if (shape.address >= 0 && !relative) bits.add(layout.src[0]);
    if (shape.data >= 0) bits.add(layout.src[1]);
    bits.add(layout.src[2]);
}

void add_absent_memory_operands(Bits& bits, const Layout& layout, const Row& row) {
    bits.add({layout.dst, layout.src[0], layout.src[1], layout.src[2]});
    if (!row.src_kind[0])
        bits.add({layout.offset, layout.sve, layout.buffer_format, layout.offen, layout.idxen, layout.soffset_en,
                  layout.imm});
}

uint64_t modifier_bits(const Layout& layout, uint32_t modifiers) {
    auto group = [&](const Field& field, uint32_t first) { return field.put(modifiers >> first & 15); };
    auto single = [&](const Field& field, uint32_t bit) { return modifiers & bit ? field.mask() : 0; };
    return group({layout.neg.shift, layout.neg.bits}, 0) | group(layout.abs, 3) | group(layout.op_sel, 6) |
           group(layout.op_sel_hi, 10) | layout.op_sel_hi2.put(modifiers >> 12) | group(layout.neg_hi, 13) |
           single(layout.clamp, mod::clamp) | single(layout.simm, mod::simm) | single(layout.omod, mod::omod) |
           single(layout.offset, mod::offset) | single(layout.glc, mod::glc) | single(layout.slc, mod::slc) |
           single(layout.dlc, mod::dlc) | single(layout.tfe, mod::tfe) | single(layout.gds, mod::gds | mod::gds_only) |
           single(layout.th, mod::cache) | single(layout.scope, mod::cache) | single(layout.sc1, mod::sc1) |
           single(layout.lds, mod::lds) | single(layout.cbsz, mod::matrix) | single(layout.abid, mod::matrix);
}

/// Bits that choose the accumulation file, and the lane permutation of MFMA's B, which sparse forms do not have.
uint64_t accumulation_bits(const Layout& layout, const Row& row) {
    uint8_t kinds = row.dst_kind[0];
    for (uint8_t kind : row.src_kind) kinds |= kind;
    bool either = kinds & kAgpr && kinds & kVgpr, sparse = row.src[2] == Type::b32;
    return (either ? layout.acc.mask() | layout.acc_cd.mask() : 0) | (sparse ? 0 : layout.blgp.mask());
}

/// Bits that the way to the row has checked; a prefix of more than nine bits runs into the opcode that led there.
uint64_t known_bits(const Layout& layout) {
    return layout.prefix_bits > 9 ? 0xfc000000u | layout.prefix
                                  : ~uint64_t{0} << (32 - layout.prefix_bits) & 0xffffffff;
}

/// The halves that op_sel chooses. LLVM 19 knows them of few instructions; RDNA's hardware has them for every 16-bit
/// operand of VOP3.
uint8_t op_sel_bits(const Rules& rules, const Row& row) {
    uint32_t halves = 0;
    for (size_t i = 0; i < 3; ++i) halves |= uint32_t{rules.half_registers && is_half(row.src[i])} << i;
    halves |= uint32_t{rules.half_registers && is_half(row.dst[0])} << 3;
    return static_cast<uint8_t>((row.modifiers | (row.ignored & mod::op_sel(halves))) >> 6 & 15);
}

/// The bits of op_sel_hi that stand in `bits`.
uint8_t op_sel_hi_in(const Layout& layout, uint64_t bits) {
    return static_cast<uint8_t>(layout.op_sel_hi.get(bits) | layout.op_sel_hi2.get(bits) << 2);
}

uint32_t unread_in_extra_word(const Rules& rules, const Inst& inst) {
    const Row& row = *inst.row;
    constexpr uint32_t kReserved = 1 << 17, kFetchInvalid = 1 << 18, kSigns = 0xf << 20, kSecondSigns = 0xc << 20;
    const bool second = row.src_kind[1] && row.src[1] != Type::lanes;
    if (inst.sdwa.present) return second ? 0 : 0xff000000;
    if (inst.dpp.kind != DppKind::dpp16) return 0;
    return kReserved | (rules.dpp8 ? 0 : kFetchInvalid) |
           (!has_half_registers(inst.encoding) ? kSigns
            : row.src_kind[1]                  ? 0
                                               : kSecondSigns);
}

Unread unread_of_image(Family family, const Inst& inst) {
    const ImageLayout& layout = image_layout(family, *inst.row);
    const ImageForm form = ImageForm::unpack(inst.offset);
    Unread unread{.low = layout.fifth.mask() | (form.has_sampler() ? 0 : layout.sampler.mask())};
    const uint32_t first = family == Family::rdna4 ? 0 : 1;  // address in the third word
    if (form.separate && form.addresses < first + 4)
        unread.third = ~uint32_t{0} << 8 * (form.addresses - std::min<uint32_t>(form.addresses, first));
    return unread;
}

}  // namespace

RowBits bits_of(const Layout& layout, const Row& row, const Rules& rules) {
    if (row.flags & kGraphics || layout.format == Format::VOPD) return {};
    Bits read, unread;
    if (is_memory(layout.format)) {
        add_memory_operands(read, layout, row);
        add_absent_memory_operands(unread, layout, row);
    } else {
        add_operands(read, layout, row);
        add_absent_operands(unread, layout, row, rules);
        if (implies_destination(row, rules)) read.low &= ~layout.dst.mask();
    }
    RowBits bits{.op_sel = op_sel_bits(rules, row)};
    const uint64_t ignored = modifier_bits(layout, row.ignored);
    read.low |= known_bits(layout) | layout.op.mask() | modifier_bits(layout, row.modifiers) |
                layout.op_sel.put(bits.op_sel) | accumulation_bits(layout, row);
    bits.unread = (unread.low | ignored | layout.ignored) & ~read.low;
    bits.third_unread = unread.third & ~read.third;
    if (row.modifiers & mod::offset && layout.offset.shift >= 64) bits.third_unread &= 0xff;
    bits.fixed = ~(read.low | bits.unread);
    bits.ones = layout.ones & ~read.low & ~ignored;
    const uint8_t op_sel_hi = op_sel_hi_in(layout, bits.unread);
    bits.op_sel_hi_read = static_cast<uint8_t>(7 & ~op_sel_hi);
    bits.op_sel_hi_default = op_sel_hi & op_sel_hi_in(layout, ignored | bits.ones);
    return bits;
}

Unread unread_bits(Family family, const Inst& inst) {
    const FamilyTable& known = table(family);
    if (inst.encoding == Format::MIMG) return unread_of_image(family, inst);
    const Layout& layout = known.layout(inst.encoding);
    if (inst.encoding == Format::VOPD)
        return {.low = (inst.src[1].present() ? 0 : layout.src[1].mask()) |
                       (inst.src_y[1].present() ? 0 : layout.src_y[1].mask())};
    const RowBits& bits = known.bits_of(*inst.row);
    const uint64_t halves = layout.op_sel_hi.put(bits.op_sel_hi_default) |
                            layout.op_sel_hi2.put(static_cast<uint64_t>(bits.op_sel_hi_default) >> 2);
    const uint64_t exec = implies_destination(*inst.row, known.rules) ? layout.dst.put(code::exec_lo) : 0;
    const uint64_t off = is_flat(layout.format) ? layout.src[2].put(known.rules.saddr_off) : 0;
    return {.low = bits.unread,
            .third = bits.third_unread,
            .extra = unread_in_extra_word(known.rules, inst),
            .written = (layout.written | bits.ones | halves | exec | off) & bits.unread};
}

}  // namespace strata::isa
