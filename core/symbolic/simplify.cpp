#include "strata/core/symbolic/rules_p.h"
#include "strata/core/uop/notes.h"

namespace strata {

const RuleSet& symbolic_rules() {
    static const RuleSet all({&fold_rules(), &add_rules(), &mul_rules(), &idiv_rules(), &mod_rules(), &minmax_rules(),
                              &shift_rules(), &compare_rules(), &logic_rules(), &where_rules(), &cast_rules(),
                              &float_rules(), &memory_rules()});
    return all;
}

UOp simplify(UOp root) {
    static constexpr Settled kSimple{is_known_simple, note_simple};
    return rewrite(root, symbolic_rules(), nullptr, {.settled = &kSimple});
}

UOp substitute_range(UOp root, UOp range, UOp value) { return simplify(substitute(root, {{range, value}})); }

}  // namespace strata
