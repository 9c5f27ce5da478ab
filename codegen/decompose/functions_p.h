#pragma once
#include <optional>

#include "strata/codegen/decompose/expression_p.h"

namespace strata::codegen {

/// Types that functions.def speaks of, as bits. An operation is of its last source's type.
namespace types {
enum : unsigned {
    boolean = 1,
    small = 2,    ///< integers of 8 and 16 bits
    word = 4,     ///< of 32
    wide = 8,     ///< of 64
    narrow = 16,  ///< bfloat16 and 8-bit floats
    half = 32,
    single = 64,
    twice = 128  ///< float64
};
}
unsigned type_bit(DType type);

/// A row of functions.def.
struct Decomposition {
    Op op;
    unsigned types;
    UOp (*function)(UOp, const Target&);  ///< an empty UOp or the node itself: it stays
    double ulps;
};
std::span<const Decomposition> decompositions();

// The functions of the rows.
#define DECOMPOSE(op, types, function, ulps) UOp function(UOp u, const Target& target);
#include "strata/codegen/decompose/functions.def"
#undef DECOMPOSE

/// The cast is one instruction of this arch.
bool is_native_cast(DType to, DType from, const Target& target);

// Shared by families of functions.
bool is_at_most(UOp x, double limit);                   ///< a float that is no NaN, and |x| <= limit, by its form
bool is_natural(UOp x);                                 ///< an integer that is never negative
UOp unsigned_quotient(UOp n, UOp d, uint64_t largest);  ///< n / d of uint32, where n and d are at most `largest`
UOp product_high64(UOp a, UOp b);                       ///< upper half of the product of two uint64
UOp exp_of_wide(UOp x);                                 ///< e^x of float64
UOp to_odd_float(UOp x);                                ///< float64 or an integer as float32, rounded to odd
UOp to_bfloat16(UOp x);                                 ///< of float32
UOp from_bfloat16(UOp x);
UOp to_float8(UOp x, DType type);
UOp from_float8(UOp x);

}  // namespace strata::codegen
