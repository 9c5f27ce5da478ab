#pragma once
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// One kernel as a UOp graph over ranges: what codegen/kernel makes, codegen/optimize changes, codegen/linear lowers.
///
///   sink <- end( store( index( param out, offset ), value ), r0, r1, ... )  [, more of them]
///
/// value: elementwise ops over constants, load( index( param, offset [, gate] ) [, value where the gate is false] ) and
/// reduce( value, ranges... ) with ReduceArg{op}; a range is listed by exactly one end or reduce. offset has dtype
/// index. Ranges: axis loop or global, local, upcast for outputs; reduce, group, unroll for reductions (args.h). A
/// user's kernel may also hold params in local or reg space, after, barrier, group and explicit end of reduce ranges.
struct Kernel {
    UOp sink;
    std::string name;  ///< a C identifier
};

}  // namespace strata::codegen
