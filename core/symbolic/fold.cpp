#include "strata/core/symbolic/rules_p.h"
#include "strata/core/uop/reference.h"

// Rules of every elementwise op: constants fold, a value with one possible outcome is that constant, and commutative
// operations have one order.

namespace strata {
namespace {

std::vector<Op> ops_with(int flags) {
    std::vector<Op> out;
    for (int i = 0; i < kOpCount; ++i)
        if (info(static_cast<Op>(i)).is(flags)) out.push_back(static_cast<Op>(i));
    return out;
}

UOp fold_constants(const Match& t) { return fold(t.root); }

UOp fold_single_value(const Match& t) {
    DType type = t.root.dtype();
    if (!type.is_integer() && !type.is_bool()) return {};
    Bounds b = bounds(t.root);
    // uint64's saturated end stands for more than one value.
    if (b.low != b.high || (type.scalar == Scalar::uint64 && b.high == int_max(type))) return {};
    return constant_int(type, b.low);
}

UOp order_sources(const Match& t) {
    // Integer sums and boolean chains are put in order as a whole (add.cpp, logic.cpp).
    DType type = t.root.dtype();
    if (t.root.is(Op::add) && type.is_integer()) return {};
    if (type.is_bool() && (t.root.is(Op::bit_and) || t.root.is(Op::bit_or))) return {};
    UOp a = t.root.src(0), b = t.root.src(1);
    return compare_nodes(a, b) > 0 ? alu(t.root.op(), {b, a}) : UOp();
}

std::vector<Rule> rules() {
    std::vector<Rule> out;
    std::vector<Op> elementwise = ops_with(kUnary | kBinary | kTernary);
    for (auto part : {rule_for(elementwise, fold_constants), rule_for(elementwise, fold_single_value),
                      rule_for(ops_with(kCommutative), order_sources)})
        out.insert(out.end(), part.begin(), part.end());
    return out;
}

}  // namespace

const RuleSet& fold_rules() {
    static const RuleSet set(rules());
    return set;
}

}  // namespace strata
