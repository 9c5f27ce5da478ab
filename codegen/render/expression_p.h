#pragma once
#include <span>
#include <string>
#include <string_view>

#include "strata/core/support/result.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// How strongly an expression binds, as in C++.
enum Precedence {
    kConditional = 2,
    kOr,
    kAnd,
    kBitOr,
    kBitXor,
    kBitAnd,
    kEqual,
    kLess,
    kShift,
    kAdd,
    kMul,
    kPrefix,
    kPrimary
};

struct Expression {
    std::string text;
    int precedence = kPrimary;
    bool assumes_predicate = false;  ///< holds a load that may run only under the predicate of its store

    std::string within(int least) const { return precedence < least ? "(" + text + ")" : text; }
};

/// "float", "float4"
std::string hip_type(DType type);
/// A name as codegen/kernel gives kernels: e_16_4, r_256.
bool is_generated_name(std::string_view name);
/// A constant that the compiler reads as exactly this value of this type.
Expression literal(UOp constant);
/// An elementwise op over rendered sources; an empty text where no spelling exists.
Expression spell(UOp op, std::span<const Expression> sources);
Expression spell_cast(DType to, DType from, const Expression& x);

}  // namespace strata::codegen
