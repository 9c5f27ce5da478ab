#include <algorithm>

#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/memory/ops.h"

// Fills the memory fields of an Op from a decoded instruction.
namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

uint32_t place_of(const Operand& operand, int wave_size) {
    if (operand.present() && operand.is_vector()) return Wave::vector_place(operand.row(), wave_size);
    return Wave::scalar_place(operand.present() && operand.code < isa::code::inline_zero ? operand.code
                                                                                         : isa::code::null);
}

void prepare_ds(const Choice& choice) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    op.neg = static_cast<uint8_t>(inst.gds ? Space::gds : Space::local);
    bool data_only = choice.name.starts_with("ds_store_addtid");
    op.src[0] = place_of(data_only ? Operand{} : inst.src[0], choice.wave_size);
    op.src[2] = place_of(inst.src[data_only ? 0 : 1], choice.wave_size);
    op.value[1] = place_of(inst.src[2], choice.wave_size);
}

/// Global, flat and scratch: src holds [address] [data] [saddr] in this order, each where the form has it.
bool prepare_flat(const Choice& choice) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    bool addtid = choice.name.find("addtid") != std::string_view::npos;
    bool has_data = inst.row->flags & (isa::kStore | isa::kAtomic);
    size_t at = addtid ? 0 : 1;
    op.src[0] = addtid ? Wave::scalar_place(isa::code::null) : place_of(inst.src[0], choice.wave_size);
    op.uniform = addtid || !inst.src[0].present();
    if (has_data) op.src[2] = place_of(inst.src[at++], choice.wave_size);
    const Operand& saddr = inst.src[at];
    bool scalar_base = inst.row->format != Format::FLAT && saddr.present() && saddr.code != isa::code::null;
    if (scalar_base && !saddr.is_sgpr()) return false;
    op.src[1] = place_of(scalar_base ? saddr : Operand{}, choice.wave_size);
    Space space = inst.row->format == Format::FLAT      ? Space::flat
                  : inst.row->format == Format::SCRATCH ? Space::scratch
                  : scalar_base || addtid               ? Space::global_saddr
                                                        : Space::global_vaddr;
    op.neg = static_cast<uint8_t>(space);
    return true;
}

bool prepare_buffer(const Choice& choice) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    op.neg = static_cast<uint8_t>(Space::buffer);
    op.src[0] = place_of(inst.src[0], choice.wave_size);
    op.src[1] = place_of(inst.src[1], choice.wave_size);
    const Operand& soffset = inst.src[2];
    op.op_sel_hi =
        static_cast<uint8_t>((inst.offen ? kOffen : 0) | (inst.idxen ? kIdxen : 0) | (inst.tfe ? kStatus : 0));
    if (choice.family() == isa::Family::cdna2 || choice.family() == isa::Family::cdna3) op.op_sel_hi |= kGfx9Resource;
    if (choice.family() == isa::Family::rdna4) op.op_sel_hi |= kScaledStride;
    if (soffset.present() && soffset.code >= isa::code::inline_zero) {
        op.op_sel_hi |= kConstantSoffset;
        op.value[3] = static_cast<uint32_t>(constant_value(soffset, inst.literal, inst.row->mnemonic));
    } else {
        op.value[2] = place_of(soffset, choice.wave_size);
    }
    op.src[2] = place_of(inst.src[3], choice.wave_size);
    return true;
}

}  // namespace

bool prepare_memory(const Choice& choice) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    op.uniform = op.constant = op.abs = op.op_sel = op.op_sel_hi = op.neg_hi = op.omod_clamp = 0;
    std::ranges::fill(op.value, 0u);
    op.imm = static_cast<uint32_t>(inst.offset);
    op.dst = destination_place(inst.dst[0], choice.wave_size);
    if (inst.row->flags & isa::kStore) op.op_sel |= kIsStore;
    if (inst.row->flags & isa::kAtomic) op.op_sel |= kIsAtomic;
    if (inst.dst[0].present()) op.op_sel |= kReturns;
    Item item;
    bool store;
    if (plain_item(choice.name, item, store)) op.abs = static_cast<uint8_t>(item_bytes(item));
    switch (inst.row->format) {
        case Format::DS: prepare_ds(choice); return true;
        case Format::FLAT:
        case Format::GLOBAL:
        case Format::SCRATCH: return prepare_flat(choice);
        case Format::MUBUF:
        case Format::MTBUF: return prepare_buffer(choice);
        default: return false;
    }
}

}  // namespace strata::emu
