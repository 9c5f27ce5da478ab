#pragma once
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/dsl/modifiers.h"

namespace strata::isa {

namespace rdna3 {

inline constexpr int kAnySource = kVgpr | kSgpr | kInline | kLiteralConstant;
inline constexpr int kScalarSource = kSgpr | kInline | kLiteralConstant;
using V1 = VgprRange<1>;
using V2 = VgprRange<2>;
using V3 = VgprRange<3>;
using V4 = VgprRange<4>;
using V8 = VgprRange<8>;
using S1 = SgprRange<1>;
using S2 = SgprRange<2>;
using S4 = SgprRange<4>;
using S8 = SgprRange<8>;
using S16 = SgprRange<16>;

/// One half of a dual-issue instruction: v_dual_add_f32(v[0], v[1], v[2]) and the like make them for Rdna3::dual().
struct DualHalf {
    std::string_view mnemonic;
    std::array<DynOperand, 4> operands;
    size_t count;
    std::span<const DynOperand> span() const { return {operands.data(), count}; }
};
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
class Rdna3 : public Assembler {
  public:
    explicit Rdna3(int wave_size = 32, Arch arch = Arch::gfx1100) : Assembler(arch, wave_size) {}

    /// What the hardware leaves in registers when a wave starts.
    static constexpr SgprRange<2> kernarg() { return SgprRange<2>(0); }
    static constexpr Sgpr workgroup_id(int dim = 0) { return Sgpr(2 + dim); }  ///< needs KernelOptions::grid_dims > dim
    static constexpr Vgpr work_item_id() { return Vgpr(0); }  ///< x in bits 9:0, y in 19:10, z in 29:20

    /// Two operations in one instruction (RDNA3 ISA, "Dual issue VALU").
    void dual(const rdna3::DualHalf& x, const rdna3::DualHalf& y,
              const Location& here = std::source_location::current()) {
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

  private:
    using V1 = rdna3::V1;
    using V2 = rdna3::V2;
    using V3 = rdna3::V3;
    using V4 = rdna3::V4;
    using V8 = rdna3::V8;
    using S1 = rdna3::S1;
    using S2 = rdna3::S2;
    using S4 = rdna3::S4;
    using S8 = rdna3::S8;
    using S16 = rdna3::S16;
    static constexpr int kAnySource = rdna3::kAnySource, kScalarSource = rdna3::kScalarSource;

  public:
#define MODIFIERS const Modifiers& m = {}
#define HERE const Location& here = std::source_location::current()
#include "strata/asm/dsl/rdna3_methods.inc"
#undef HERE
#undef MODIFIERS
};

}  // namespace strata::isa
