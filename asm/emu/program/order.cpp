#include <algorithm>

#include "strata/asm/emu/memory/choose.h"
#include "strata/asm/emu/program/build.h"

// Whether the order of the workgroups decides what a kernel leaves in memory.
namespace strata::emu {

using isa::Inst;

Order order_of(isa::Family family, const Inst& inst) {
    if (inst.row->mnemonic == "ds_gws_sema_p" || inst.row->mnemonic == "ds_gws_barrier") return Order::decides;
    if (!(inst.row->flags & isa::kAtomic)) return Order::free;
    if (inst.row->format == isa::Format::DS && !inst.gds) return Order::free;  // of one workgroup
    const Order order = order_of_atomic(handler_name(family, inst.row->mnemonic));
    return order == Order::free && inst.dst[0].present() ? Order::decides : order;
}

bool leaves_known_code(const Inst& inst) {
    if (inst.row->format > isa::Format::SOPP) return false;
    const std::string_view name = inst.row->mnemonic;
    return name == "s_swappc_b64" || name == "s_setpc_b64" || name.starts_with("s_rfe_") || name.ends_with("_fork") ||
           name == "s_cbranch_join";
}

/// Anything that may be an instruction counts, wherever it starts: data between functions must not hide one.
Order Program::order_in_text() const {
    Order order = Order::free;
    for (uint64_t at = 0; at < text_.size() && order != Order::decides; at += 4)
        if (Result<Inst> inst = isa::decode(arch_, words(at)); inst && !(inst->row->flags & isa::kNotOnSilicon))
            order = std::max(order, order_of(isa::info(arch_).family, *inst));
    return order;
}

Order Program::order() {
    std::lock_guard lock(mutex_);
    if (leaves_known_code_ && !text_was_read_) {
        text_was_read_ = true;
        order_ = std::max(order_, order_in_text());
    }
    return order_;
}

}  // namespace strata::emu
