#pragma once
#include "strata/asm/dsl/typed.h"

namespace strata::isa {

namespace rdna4 {
#include "strata/asm/dsl/rdna4_dual.inc"
}  // namespace rdna4

/// The typed assembler of RDNA4: one method a mnemonic, as in Rdna3. Waits are instructions of their own, memory
/// instructions take a temporal hint and a scope, workgroup ids are in trap temporaries.
///
///     Rdna4 a;
///     a.global_load_b128(v.range<4>(4), v.range<2>(0), off, offset(16) | th(TH_LOAD_NT) | scope(SCOPE_DEV));
///     a.s_wait_loadcnt(0);
///     a.v_lshl_add_u32(v[1], a.workgroup_id(), 8, v[0]);
class Rdna4 : public RdnaAssembler {
  public:
    explicit Rdna4(int wave_size = 32, Arch arch = Arch::gfx1201) : RdnaAssembler(arch, wave_size) {}

    static constexpr Sgpr workgroup_id() { return rdna4::ttmp[9]; }
    static constexpr Sgpr workgroup_ids_yz() { return rdna4::ttmp[7]; }  ///< y in bits 15:0, z in 31:16

#include "strata/asm/dsl/rdna4_methods.inc"
};

}  // namespace strata::isa
