#pragma once
#include <string>

#include "strata/plan/plan.h"
#include "strata/plan/use_p.h"

namespace strata::plan {

/// Everything that decides a plan's code, as JSON with sorted members. `target`: "asm" or "hip".
std::string sku_of(const Use& use, const Descriptor& descriptor, const Plan::Parts& parts, const std::string& arch,
                   std::string_view target);
uint64_t hash_of(const std::string& sku);
Precision precision_of(const Use& use, const std::vector<Operand>& operands);

}  // namespace strata::plan
