#pragma once
#include "strata/asm/dsl/typed.h"

namespace strata::isa {

/// The typed assembler of CDNA3, and of what CDNA2 has of it: one method a mnemonic, as in Rdna3. Data of memory
/// instructions and the operands of matrix products may be accumulation registers.
///
///     Cdna3 a;
///     a.global_load_dwordx4(v.range<4>(4), v[0], s.range<2>(4), offset(16) | sc1() | nt());
///     a.v_mfma_f32_32x32x8_f16(acc.range<16>(0), v.range<2>(4), v.range<2>(6), 0);
///     a.v_accvgpr_read_b32(v[8], acc[3]);
///     a.v_add_u32(v[1], v[2], sext(v[3]), sdwa({.src0_sel = BYTE_0, .src1_sel = WORD_1}));
class Cdna3 : public TypedAssembler {
  public:
    explicit Cdna3(Arch arch = Arch::gfx942) : TypedAssembler(arch, 64) {}

    static constexpr Sgpr workgroup_id(int dim = 0) { return Sgpr(2 + dim); }  ///< needs KernelOptions::grid_dims > dim

    void s_waitcnt(const Waits& waits, const Location& here = std::source_location::current()) {
        emit("s_waitcnt", {DynOperand(static_cast<int>(wait_immediate(waits, info(arch()).family)))}, {}, here);
    }

#include "strata/asm/dsl/cdna3_methods.inc"
};

}  // namespace strata::isa
