#include <cstdlib>
#include <iterator>

#include "strata/asm/isa/image.h"
#include "strata/asm/isa/names.h"
#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {

void Printer::memory() {
    switch (row_.format) {
        case Format::SMEM: smem(); break;
        case Format::DS: return ds();
        case Format::MUBUF:
        case Format::MTBUF: buffer(); break;
        default: flat(); break;
    }
    cache();
    if (inst_.tfe) word("tfe");
    if (inst_.lds && !stores_from_lds(row_)) word("lds");
}

void Printer::cache() {
    bool scopes = family_ == Family::cdna3 && row_.format != Format::SMEM;
    if (inst_.glc) word(scopes ? "sc0" : "glc");
    if (inst_.slc) word(scopes ? "nt" : "slc");
    if (inst_.sc1) word(scopes ? "sc1" : "scc");
    if (inst_.dlc) word("dlc");
    out_ += print_cache_control(inst_);
}

void Printer::smem() {
    std::string offset = fmt::format("{}{:#x}", inst_.offset < 0 ? "-" : "", std::abs(inst_.offset));
    if (row_.flags & kPrefetch) {
        if (row_.src_kind[1]) item(operand(inst_.src[0]));
        item(offset);
        item(operand(inst_.src[row_.src_kind[1] ? 1 : 0]));
        item(std::to_string(inst_.offset1));
        return;
    }
    if (row_.flags & kProbe)
        item(inst_.offset1 <= 64 ? std::to_string(inst_.offset1) : fmt::format("{:#x}", inst_.offset1));
    if (row_.src_kind[2] || row_.dst_kind[0]) item(operand(row_.src_kind[2] ? inst_.src[2] : inst_.dst[0]));
    if (!row_.src_kind[0]) return;
    item(operand(inst_.src[0]));
    bool has_soffset = inst_.src[1].present() && inst_.src[1].code != code::null;
    item(has_soffset ? operand(inst_.src[1]) : offset);
    if (has_soffset && (inst_.offset || family_ == Family::rdna4)) word("offset:" + offset);
}

void Printer::ds() {
    if (row_.dst_kind[0]) item(operand(inst_.dst[0]));
    for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(operand(inst_.src[i]));
    if (row_.modifiers & mod::two_offsets) {
        if (inst_.offset) word(fmt::format("offset0:{}", inst_.offset));
        if (inst_.offset1) word(fmt::format("offset1:{}", inst_.offset1));
    } else if (row_.mnemonic == "ds_swizzle_b32" && inst_.offset) {
        word("offset:" + print_swizzle(static_cast<uint16_t>(inst_.offset)));
    } else {
        offset();
    }
    if (inst_.gds) word("gds");
}

void Printer::flat() {
    if (!row_.src_kind[0]) return;  // cache control
    FlatShape shape = flat_shape(row_);
    if (inst_.dst[0].present()) item(operand(inst_.dst[0]));
    for (int8_t at : {shape.address, shape.data, shape.saddr})
        if (at >= 0) item(operand_or_off(inst_.src[static_cast<size_t>(at)]));
    offset();
}

void Printer::buffer_format() {
    static constexpr std::string_view names[] = {
#define BUFFER_FORMAT(number, name) "BUF_FMT_" #name,
#include "strata/asm/isa/rdna3_buffer_formats.def"
#undef BUFFER_FORMAT
    };
    if (inst_.buffer_format == 1) return;  // 8_UNORM goes without saying
    bool known = inst_.buffer_format < std::size(names);
    word(known ? fmt::format("format:[{}]", names[inst_.buffer_format])
               : fmt::format("format:{}", inst_.buffer_format));
}

/// CDNA3 ISA, 9.1: data format in bits 3:0, number format in bits 6:4.
void Printer::cdna_buffer_format() {
    uint32_t format = inst_.buffer_format & 15, number = inst_.buffer_format >> 4 & 7;
    std::string text;
    if (format != 1) text = fmt::format("BUF_DATA_FORMAT_{}", kDataFormats[format]);
    if (number) text += fmt::format("{}BUF_NUM_FORMAT_{}", text.empty() ? "" : ",", kNumberFormats[number]);
    if (!text.empty()) word("format:[" + text + "]");
}

void Printer::buffer() {
    if (!row_.src_kind[0]) return;
    const Operand& data = row_.src_kind[3] ? inst_.src[3] : inst_.dst[0];
    if (data.present()) item(print_register(rules_, data.code, rules_.span(data.type) + inst_.tfe));
    if (!stores_from_lds(row_)) item(operand_or_off(inst_.src[0]));
    item(operand(inst_.src[1]));
    item(operand(inst_.src[2]));
    if (row_.format == Format::MTBUF) cdna_ ? cdna_buffer_format() : buffer_format();
    if (inst_.idxen) word("idxen");
    if (inst_.offen) word("offen");
    offset();
    if (stores_from_lds(row_)) word("lds");
}

void Printer::image() {
    const ImageForm form = ImageForm::unpack(inst_.offset);
    std::string addresses = operand(inst_.src[3]);
    for (size_t i = 0; i < 2 && inst_.src_y[i].present(); ++i) addresses += ", " + operand(inst_.src_y[i]);
    if (inst_.src_y[0].present()) addresses = "[" + addresses + "]";
    item(operand(form.kind == ImageKind::store ? inst_.src[2] : inst_.dst[0]));
    item(addresses);
    item(operand(inst_.src[0]));
    if (form.has_sampler()) item(operand(inst_.src[1]));
    word(fmt::format("dmask:{:#x} dim:{}", form.components, info(form.dim).name));
    if (form.unnormalized) word("unorm");
    cache();
}

}  // namespace strata::isa
