#pragma once
#include "strata/asm/dsl/typed.h"

namespace strata::isa {

namespace rdna4 {
using DualHalf = isa::DualHalf;
using V1 = OperandTypes::V1;
inline constexpr int kAnySource = OperandTypes::kAnySource;
#include "strata/asm/dsl/rdna4_dual.inc"
}  // namespace rdna4

/// The typed assembler of RDNA4: one method a mnemonic, as in Rdna3. Waits are instructions of their own, memory
/// instructions take a temporal hint and a scope, workgroup ids are in trap temporaries.
///
///     Rdna4 a;
///     a.global_load_b128(v.range<4>(4), v.range<2>(0), off, offset(16) | th(TH_LOAD_NT) | scope(SCOPE_DEV));
///     a.s_wait_loadcnt(0);
///     a.v_lshl_add_u32(v[1], a.workgroup_id(), 8, v[0]);
class Rdna4 : public TypedAssembler {
  public:
    explicit Rdna4(int wave_size = 32, Arch arch = Arch::gfx1201) : TypedAssembler(arch, wave_size) {}

    static constexpr Sgpr workgroup_id() { return rdna4::ttmp[9]; }
    static constexpr Sgpr workgroup_ids_yz() { return rdna4::ttmp[7]; }  ///< y in bits 15:0, z in 31:16

    /// Two operations in one instruction (RDNA4 ISA, "Dual issue VALU").
    void dual(const DualHalf& x, const DualHalf& y, const Location& here = std::source_location::current()) {
        emit_dual(x.mnemonic, x.span(), y.mnemonic, y.span(), here);
    }
    using Assembler::emit;

    /// Frees the wave's vector registers; only s_endpgm may follow (RDNA4 ISA, "S_SENDMSG").
    void dealloc_vgprs(const Location& here = std::source_location::current()) {
        s_nop(0, here);  // the message must not follow a vector memory instruction directly
        s_sendmsg(kMessageDeallocVgprs, here);
    }

#define MODIFIERS const Modifiers& m = {}
#define HERE const Location& here = std::source_location::current()
#include "strata/asm/dsl/rdna4_methods.inc"
#undef HERE
#undef MODIFIERS
};

}  // namespace strata::isa
