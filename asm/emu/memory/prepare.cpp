#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/memory/ops.h"

// The memory fields that a decoded instruction tells by itself.
namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

Place place_of(const Operand& operand, int wave_size) {
    if (operand.present() && operand.is_vector()) return Wave::vector_place(operand.row(), wave_size);
    return Wave::scalar_place(operand.present() && operand.code < isa::code::inline_zero ? operand.code
                                                                                         : isa::code::null);
}

void prepare_ds(const Decoded& decoded, MemoryFields& fields) {
    const Inst& inst = decoded.inst;
    auto place = [&](const Operand& operand) { return place_of(operand, decoded.wave_size); };
    fields.space = inst.gds ? Space::gds : Space::local;
    const bool data_only = decoded.name.starts_with("ds_store_addtid");
    fields.address = place(data_only ? Operand{} : inst.src[0]);
    fields.data = place(inst.src[data_only ? 0 : 1]);
    fields.local().data2 = place(inst.src[2]);
}

/// Global, flat and scratch: src holds [address] [data] [saddr] in this order, each where the form has it.
bool prepare_flat(const Decoded& decoded, MemoryFields& fields) {
    const Inst& inst = decoded.inst;
    auto place = [&](const Operand& operand) { return place_of(operand, decoded.wave_size); };
    const bool addtid = decoded.name.find("addtid") != std::string_view::npos;
    size_t at = addtid ? 0 : 1;
    fields.address = place(addtid ? Operand{} : inst.src[0]);
    if (addtid || !inst.src[0].present()) fields.flags |= kNoAddress;
    if (inst.row->flags & (isa::kStore | isa::kAtomic)) fields.data = place(inst.src[at++]);
    const Operand& saddr = inst.src[at];
    const bool scalar_base = inst.row->format != Format::FLAT && saddr.present() && saddr.code != isa::code::null;
    if (scalar_base && !saddr.is_sgpr()) return false;
    fields.base = place(scalar_base ? saddr : Operand{});
    fields.space = inst.row->format == Format::FLAT      ? Space::flat
                   : inst.row->format == Format::SCRATCH ? Space::scratch
                   : scalar_base || addtid               ? Space::global_saddr
                                                         : Space::global_vaddr;
    return true;
}

void prepare_buffer(const Decoded& decoded, MemoryFields& fields) {
    const Inst& inst = decoded.inst;
    auto place = [&](const Operand& operand) { return place_of(operand, decoded.wave_size); };
    fields.space = Space::buffer;
    fields.address = place(inst.src[0]);
    fields.base = place(inst.src[1]);
    fields.data = place(inst.src[3]);
    BufferFields buffer;
    buffer.modes =
        static_cast<uint8_t>((inst.offen ? kOffen : 0) | (inst.idxen ? kIdxen : 0) | (inst.tfe ? kStatus : 0));
    if (is_cdna(decoded.family())) buffer.modes |= kGfx9Resource;
    if (decoded.family() == isa::Family::rdna4) buffer.modes |= kScaledStride;
    const Operand& soffset = inst.src[2];
    if (soffset.present() && soffset.code >= isa::code::inline_zero) {
        buffer.modes |= kConstantSoffset;
        buffer.soffset = static_cast<uint32_t>(constant_value(soffset, inst.literal));
    } else {
        buffer.soffset = place(soffset);
    }
    fields.set(buffer);
}

}  // namespace

std::optional<MemoryFields> prepare_memory(const Decoded& decoded) {
    const Inst& inst = decoded.inst;
    MemoryFields fields;
    fields.hit = decoded.hit;
    fields.offset = static_cast<uint32_t>(inst.offset);
    fields.dst = destination_place(inst.dst[0], decoded.wave_size);
    if (inst.row->flags & isa::kStore) fields.flags |= kIsStore;
    if (inst.row->flags & isa::kAtomic) fields.flags |= kIsAtomic;
    if (inst.dst[0].present()) fields.flags |= kReturns;
    Item item;
    bool store;
    if (plain_item(decoded.name, item, store)) fields.bytes = static_cast<uint8_t>(item_bytes(item));
    switch (inst.row->format) {
        case Format::DS: prepare_ds(decoded, fields); return fields;
        case Format::FLAT:
        case Format::GLOBAL:
        case Format::SCRATCH: return prepare_flat(decoded, fields) ? std::optional(fields) : std::nullopt;
        case Format::MUBUF:
        case Format::MTBUF: prepare_buffer(decoded, fields); return fields;
        default: return {};
    }
}

}  // namespace strata::emu
