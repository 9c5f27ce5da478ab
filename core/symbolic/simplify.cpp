#include "strata/core/symbolic/rules_p.h"

namespace strata {

const RuleSet& symbolic_rules() {
    static const RuleSet all({&fold_rules(), &add_rules(), &mul_rules(), &idiv_rules(), &mod_rules(), &minmax_rules(),
                              &shift_rules(), &compare_rules(), &logic_rules(), &where_rules(), &cast_rules(),
                              &float_rules(), &memory_rules()});
    return all;
}

UOp simplify(UOp root) { return rewrite(root, symbolic_rules()); }

UOp substitute_range(UOp root, UOp range, UOp value) { return simplify(substitute(root, {{range, value}})); }

}  // namespace strata
