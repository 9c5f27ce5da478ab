#pragma once
#include "strata/asm/dsl/typed.h"

namespace strata::isa {

namespace rdna3 {
#include "strata/asm/dsl/rdna3_dual.inc"
}  // namespace rdna3

/// The typed assembler of RDNA3: one method a mnemonic, with the vendor's name and LLVM's order of operands. An operand
/// that the instruction cannot encode does not compile. A value out of range, badly aligned or against the constant bus
/// is an error at the line of the call.
///
///     Rdna3 a;
///     Label loop = a.label("loop");
///     a.bind(loop);
///     a.global_load_b128(v.range<4>(4), v.range<2>(0), off, offset(16));
///     a.s_waitcnt({.vmcnt = 0});
///     a.dual(v_dual_add_f32(v[0], v[4], v[0]), v_dual_add_f32(v[1], v[5], v[1]));
///     a.s_cbranch_scc1(loop);
class Rdna3 : public RdnaAssembler {
  public:
    explicit Rdna3(int wave_size = 32, Arch arch = Arch::gfx1100) : RdnaAssembler(arch, wave_size) {}

    static constexpr Sgpr workgroup_id(int dim = 0) { return Sgpr(2 + dim); }  ///< needs KernelOptions::grid_dims > dim

    void s_waitcnt(const Waits& waits, const Location& here = std::source_location::current()) {
        emit("s_waitcnt", {DynOperand(static_cast<int>(wait_immediate(waits)))}, {}, here);
    }
#include "strata/asm/dsl/rdna3_methods.inc"
};

}  // namespace strata::isa
