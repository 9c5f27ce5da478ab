#pragma once
#include <concepts>

#include "strata/asm/dsl/operand.h"

// Registers and operands as types: a method of the typed assembler takes only what its instruction can encode.
namespace strata::isa {

/// vcc, exec or null where the instruction decides how many registers are meant.
struct Special {
    uint16_t code;
    operator DynOperand() const { return DynOperand::scalar(code, 0); }
};

/// No register: "off" of memory instructions.
struct Off {
    operator DynOperand() const { return {}; }
};

/// N vector registers from `first` on; r[i] is one of them.
template <int N>
struct VgprRange {
    int first = 0;
    constexpr explicit VgprRange(int first) : first(first) {}
    constexpr VgprRange<1> operator[](int i) const { return VgprRange<1>(first + i); }
    operator DynOperand() const { return DynOperand::vgpr(first, N); }
};
using Vgpr = VgprRange<1>;

/// N accumulation registers of CDNA from `first` on.
template <int N>
struct AgprRange {
    int first = 0;
    constexpr explicit AgprRange(int first) : first(first) {}
    constexpr AgprRange<1> operator[](int i) const { return AgprRange<1>(first + i); }
    operator DynOperand() const { return DynOperand::agpr(first, N); }
};
using Agpr = AgprRange<1>;

/// N scalar registers from hardware code `first` on: 0 to 105 are s0 to s105.
template <int N>
struct SgprRange {
    int first = 0, count = N;
    bool reserved = false;  ///< flat_scratch or xnack_mask
    constexpr explicit SgprRange(int first) : first(first) {}
    constexpr SgprRange(Special special) : first(special.code), count(0) {}
    constexpr SgprRange<1> operator[](int i) const { return SgprRange<1>(first + i); }
    constexpr SgprRange(int first, bool reserved) : first(first), reserved(reserved) {}
    operator DynOperand() const {
        return reserved ? DynOperand::reserved_scalar(first, count) : DynOperand::scalar(first, count);
    }
};
using Sgpr = SgprRange<1>;

/// A register with a sign modifier: -v[1], abs(v[1]), -abs(v[1]).
template <int N>
struct SignedRegister {
    DynOperand operand;
    SignedRegister operator-() const {
        SignedRegister result = *this;
        result.operand.negate = !operand.negate;
        return result;
    }
};
template <int N>
SignedRegister<N> operator-(VgprRange<N> range) {
    return -SignedRegister<N>{range};
}
template <int N>
SignedRegister<N> operator-(SgprRange<N> range) {
    return -SignedRegister<N>{range};
}
template <int N>
SignedRegister<N> absolute(DynOperand operand) {
    operand.absolute = true;
    return {operand};
}
template <int N>
SignedRegister<N> abs(VgprRange<N> range) {
    return absolute<N>(range);
}
template <int N>
SignedRegister<N> abs(SgprRange<N> range) {
    return absolute<N>(range);
}

/// A source of SDWA that is sign-extended.
template <int N>
SignedRegister<N> sext(VgprRange<N> range) {
    SignedRegister<N> result{range};
    result.operand.sign_extend = true;
    return result;
}

template <class T>
concept Number = (std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>;

/// A source of N registers that accepts the operand kinds `Kinds` (OperandKind bits).
template <int N, int Kinds>
class Src {
  public:
    Src(VgprRange<N> range)
        requires((Kinds & kVgpr) != 0)
        : operand_(range) {}
    Src(SgprRange<N> range)
        requires((Kinds & kSgpr) != 0)
        : operand_(range) {}
    Src(AgprRange<N> range)
        requires((Kinds & kAgpr) != 0)
        : operand_(range) {}
    Src(Special special)
        requires((Kinds & kSgpr) != 0)
        : operand_(special) {}
    Src(SignedRegister<N> value)
        requires((Kinds & kVgpr) != 0)
        : operand_(value.operand) {}
    template <Number T>
    Src(T value)
        requires((Kinds & (kInline | kLiteralConstant)) != 0)
        : operand_(convert(value)) {}
    operator DynOperand() const { return operand_; }

  private:
    template <class T>
    static DynOperand convert(T value) {
        if constexpr (std::floating_point<T>)
            return DynOperand(static_cast<double>(value));
        else
            return DynOperand(static_cast<int64_t>(value));
    }
    DynOperand operand_;
};

/// A number that is part of the instruction: an immediate of 16 bits or a literal word.
class Imm {
  public:
    template <Number T>
    constexpr Imm(T value) : value_(static_cast<double>(value)), integer_(std::integral<T>) {
        if constexpr (std::integral<T>) bits_ = static_cast<int64_t>(value);
    }
    operator DynOperand() const { return integer_ ? DynOperand(bits_) : DynOperand(value_); }

  private:
    double value_;
    int64_t bits_ = 0;
    bool integer_;
};

/// A scalar register or pair with one bit a lane; the wave size decides.
class LaneMask {
  public:
    LaneMask(Sgpr mask) : operand_(mask) {}
    LaneMask(SgprRange<2> mask) : operand_(mask) {}
    LaneMask(Special mask) : operand_(mask) {}
    operator DynOperand() const { return operand_; }

  private:
    DynOperand operand_;
};

/// An operand that may be left off.
template <class Register>
class OrOff {
  public:
    OrOff(Register value) : operand_(value) {}
    OrOff(Off) {}
    operator DynOperand() const { return operand_; }

  private:
    DynOperand operand_;
};

/// The vector address of buffer instructions: nothing, an index or offset, or both.
class BufferAddress {
  public:
    BufferAddress(Off) {}
    BufferAddress(Vgpr value) : operand_(value) {}
    BufferAddress(VgprRange<2> both) : operand_(both) {}
    operator DynOperand() const { return operand_; }

  private:
    DynOperand operand_;
};

}  // namespace strata::isa
