#pragma once
#include "strata/core/symbolic/linear_p.h"

namespace strata {

// One set a file, by the op at the root.
const RuleSet& fold_rules();
const RuleSet& add_rules();
const RuleSet& mul_rules();
const RuleSet& idiv_rules();
const RuleSet& mod_rules();
const RuleSet& minmax_rules();
const RuleSet& shift_rules();
const RuleSet& compare_rules();
const RuleSet& logic_rules();
const RuleSet& where_rules();
const RuleSet& cast_rules();
const RuleSet& float_rules();
const RuleSet& memory_rules();

}  // namespace strata
