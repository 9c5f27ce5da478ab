#pragma once
#include "strata/core/uop/uop.h"

namespace strata {

/// The shape of a tensor-level node from its sources and argument; () at kernel level. A misfit is an InternalError:
/// the front end has checked the user's shapes before.
Shape shape_of(Op op, std::span<const UOp> sources, const Arg& arg);

}  // namespace strata
