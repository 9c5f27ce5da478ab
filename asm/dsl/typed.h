#pragma once
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/dsl/modifiers.h"

namespace strata::isa {

/// Short names of operand types for the generated methods: V4 is four vector registers.
struct OperandTypes {
    static constexpr int kAnySource = kVgpr | kSgpr | kInline | kLiteralConstant;
    static constexpr int kScalarSource = kSgpr | kInline | kLiteralConstant;
    using V1 = VgprRange<1>;
    using V2 = VgprRange<2>;
    using V3 = VgprRange<3>;
    using V4 = VgprRange<4>;
    using V8 = VgprRange<8>;
    using V16 = VgprRange<16>;
    using V32 = VgprRange<32>;
    using A1 = AgprRange<1>;
    using A2 = AgprRange<2>;
    using A3 = AgprRange<3>;
    using A4 = AgprRange<4>;
    using A8 = AgprRange<8>;
    using A16 = AgprRange<16>;
    using A32 = AgprRange<32>;
    using S1 = SgprRange<1>;
    using S2 = SgprRange<2>;
    using S3 = SgprRange<3>;
    using S4 = SgprRange<4>;
    using S8 = SgprRange<8>;
    using S16 = SgprRange<16>;
};

/// The base of the typed assemblers of all families.
class TypedAssembler : public Assembler, protected OperandTypes {
  public:
    /// Registers that the hardware fills when a wave starts.
    static constexpr SgprRange<2> kernarg() { return SgprRange<2>(0); }
    static constexpr Vgpr work_item_id() { return Vgpr(0); }  ///< x in bits 9:0, y in 19:10, z in 29:20

    void address_of(Constants constants, SgprRange<2> pair, const Location& where = std::source_location::current()) {
        Assembler::address_of(constants, pair, where);
    }

  protected:
    using Assembler::Assembler;
};

/// One half of a dual-issue instruction of RDNA: v_dual_add_f32(v[0], v[1], v[2]) and the like make them for dual().
struct DualHalf {
    std::string_view mnemonic;
    std::array<DynOperand, 4> operands;
    size_t count;
    std::span<const DynOperand> span() const { return {operands.data(), count}; }
};

/// The base of the typed assemblers of RDNA.
class RdnaAssembler : public TypedAssembler {
  public:
    /// Two operations in one instruction (RDNA3 ISA, "Dual issue VALU").
    void dual(const DualHalf& x, const DualHalf& y, const Location& here = std::source_location::current()) {
        emit_dual(x.mnemonic, x.span(), y.mnemonic, y.span(), here);
    }
    /// Frees the wave's vector registers; only s_endpgm may follow (RDNA3 ISA, "S_SENDMSG").
    void dealloc_vgprs(const Location& here = std::source_location::current()) {
        emit("s_nop", {0}, {}, here);  // the message must not follow a vector memory instruction directly
        emit("s_sendmsg", {kMessageDeallocVgprs}, {}, here);
    }

  protected:
    using TypedAssembler::TypedAssembler;
};

namespace rdna {
using DualHalf = isa::DualHalf;
using V1 = OperandTypes::V1;
inline constexpr int kAnySource = OperandTypes::kAnySource;
}  // namespace rdna

}  // namespace strata::isa
