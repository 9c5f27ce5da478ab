#pragma once
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// One kernel as a UOp graph over ranges: what codegen/kernel makes, codegen/optimize changes, codegen/linear lowers.
///
///   sink <- end( store( index( param out, offset ), value ), r0, r1, ... )  [, more of them]
///
/// value: elementwise ops over constants, load( index( param, offset [, predicate] ) [, value where the predicate is
/// false] ) and reduce( value, ranges... ) with ReduceArg{op}; each range is closed by an end or by reductions. offset
/// has dtype index. Ranges: axis loop or global, local, upcast for outputs; reduce, group, unroll for reductions
/// (args.h). Ranges that an end closes form a row. A block walks its reductions and outputs together, so that a thread
/// has the same elements in each. A second source of the sink is a finish (last_block.h). scan( value, ranges... ) is
/// what a reduction has come to at each step of a row. A user's kernel may also hold params in local or reg space,
/// after, barrier, group.
struct Kernel {
    UOp sink;
    std::string name;  ///< a C identifier
};

}  // namespace strata::codegen
