#pragma once
#include "strata/asm/dsl/typed.h"

namespace strata::isa {

namespace rdna3 {
using DualHalf = isa::DualHalf;
using V1 = OperandTypes::V1;
inline constexpr int kAnySource = OperandTypes::kAnySource;
#include "strata/asm/dsl/rdna3_dual.inc"
}  // namespace rdna3

/// The typed assembler of RDNA3: one method a mnemonic, with the vendor's name and LLVM's order of operands. What the
/// instruction cannot encode does not compile; what only values decide (ranges, alignment, the constant bus) is an
/// error at the line of the call.
///
///     Rdna3 a;
///     Label loop = a.label("loop");
///     a.bind(loop);
///     a.global_load_b128(v.range<4>(4), v.range<2>(0), off, offset(16));
///     a.s_waitcnt({.vmcnt = 0});
///     a.dual(v_dual_add_f32(v[0], v[4], v[0]), v_dual_add_f32(v[1], v[5], v[1]));
///     a.s_cbranch_scc1(loop);
class Rdna3 : public TypedAssembler {
  public:
    explicit Rdna3(int wave_size = 32, Arch arch = Arch::gfx1100) : TypedAssembler(arch, wave_size) {}

    static constexpr Sgpr workgroup_id(int dim = 0) { return Sgpr(2 + dim); }  ///< needs KernelOptions::grid_dims > dim

    /// Two operations in one instruction (RDNA3 ISA, "Dual issue VALU").
    void dual(const DualHalf& x, const DualHalf& y, const Location& here = std::source_location::current()) {
        emit_dual(x.mnemonic, x.span(), y.mnemonic, y.span(), here);
    }
    using Assembler::emit;

    void s_waitcnt(const Waits& waits, const Location& here = std::source_location::current()) {
        emit("s_waitcnt", {DynOperand(static_cast<int>(wait_immediate(waits)))}, {}, here);
    }
    /// Frees the wave's vector registers; only s_endpgm may follow (RDNA3 ISA, "S_SENDMSG").
    void dealloc_vgprs(const Location& here = std::source_location::current()) {
        s_nop(0, here);  // the message must not follow a vector memory instruction directly
        s_sendmsg(kMessageDeallocVgprs, here);
    }

#define MODIFIERS const Modifiers& m = {}
#define HERE const Location& here = std::source_location::current()
#include "strata/asm/dsl/rdna3_methods.inc"
#undef HERE
#undef MODIFIERS
};

}  // namespace strata::isa
