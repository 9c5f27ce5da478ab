#pragma once
#include <optional>

#include "strata/asm/isa/inst.h"
#include "valu_inputs.h"

// A row of the instruction table as an instruction with registers of its own for every operand, and variants of it.
namespace strata::emu::rows {

/// Where the operands are.
constexpr int kDst = 8, kSrc = 16, kSrcStep = 8;  ///< vector rows
constexpr int kMaskOut = 10, kMaskIn = 12, kScalarIn = 20, kScalarOut = 30, kVcc = 106, kExec = 126;

enum class Variant : uint8_t { plain, modifiers, dpp, sdwa, mode };

/// True if MODE's rounding and denormals, and the output modifier, act on this row as on a sum: for Variant::mode.
bool follows_mode(const isa::Row& row);
/// True if it rounds as MODE says but is no sum: denormals stay.
bool only_rounds(const isa::Row& row);

/// The row's instruction, encoded and decoded again; nothing where the row has no such variant.
std::optional<isa::Inst> form(isa::Arch arch, const isa::Row& row, Variant variant, Values& values);
/// A VOPD row as the X or the Y half beside a move.
std::optional<isa::Inst> dual_form(isa::Arch arch, const isa::Row& row, bool as_x, Values& values);

constexpr bool is_16bit(isa::Type type) {
    return type == isa::Type::f16 || type == isa::Type::i16 || type == isa::Type::u16 || type == isa::Type::b16 ||
           type == isa::Type::bf16;
}
constexpr bool is_float(isa::Type type) {
    return type == isa::Type::f16 || type == isa::Type::f32 || type == isa::Type::f64;
}

}  // namespace strata::emu::rows
