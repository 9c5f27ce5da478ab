#include <algorithm>

#include "strata/asm/emu/program/build.h"

// Whether the order of the workgroups decides what a kernel leaves in memory.
namespace strata::emu {
namespace {

using isa::Inst;

/// Operations that give the same memory in any order, as long as nobody asks for the value before.
constexpr std::string_view kCommuting[] = {"_add", "_sub", "min", "max", "_and", "_or", "_xor"};
// Names that hold one of these and do not commute.
constexpr std::string_view kOthers[] = {"cond_sub", "csub", "sub_clamp", "ordered_add", "rsub"};

bool contains_any(std::string_view name, std::span<const std::string_view> parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != name.npos; });
}

bool of_floats(std::string_view name) {
    return name.ends_with("f16") || name.ends_with("f32") || name.ends_with("f64") || name.ends_with("_flt");
}

}  // namespace

Order order_of(const Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    if (name == "ds_gws_sema_p") return Order::decides;
    if (!(inst.row->flags & isa::kAtomic)) return Order::free;
    if (inst.row->format == isa::Format::DS && !inst.gds) return Order::free;  // of one workgroup
    if (of_floats(name)) return Order::decides_floats;
    const bool commutes = contains_any(name, kCommuting) && !contains_any(name, kOthers);
    return commutes && !inst.dst[0].present() ? Order::free : Order::decides;
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
            order = std::max(order, order_of(*inst));
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
