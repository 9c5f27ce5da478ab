#pragma once
#include <functional>

#include "strata/codegen/render/expression_p.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// Accesses through a descriptor (codegen/target/buffer_access.h) as calls of prelude.hip, with no predicate around.
bool loads_through_descriptor(UOp load, const Target& target);
bool stores_through_descriptor(UOp statement, const Target& target);

using ValueText = std::function<Expression(UOp)>;
std::string buffer_load(UOp load, const ValueText& value, const Target& target);
std::string buffer_store(UOp store, const ValueText& value, const Target& target);

}  // namespace strata::codegen
