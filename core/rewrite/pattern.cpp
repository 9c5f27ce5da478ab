#include "strata/core/rewrite/pattern.h"

namespace strata {

Pattern::Pattern(Var v) : tree_(std::make_shared<Tree>(Tree{.kind = Kind::var, .var = v})) {}
Pattern::Pattern(double number) : tree_(std::make_shared<Tree>(Tree{.kind = Kind::number, .number = number})) {}
Pattern::Pattern(Op op, std::vector<Pattern> sources)
    : tree_(std::make_shared<Tree>(Tree{.kind = Kind::op, .op = op, .sources = std::move(sources)})) {}

Pattern as(Var v, const Pattern& pattern) {
    Pattern out = pattern;
    Pattern::Tree tree = pattern.tree();
    STRATA_CHECK(tree.kind == Pattern::Kind::op && !tree.captured, "as({}): only an op's node can be named, once",
                 v.name);
    tree.var = v;
    tree.captured = true;
    out.tree_ = std::make_shared<Pattern::Tree>(std::move(tree));
    return out;
}

Pattern any_sources(Op op) {
    Pattern out(op, {});
    Pattern::Tree tree = out.tree();
    tree.any_sources = true;
    out.tree_ = std::make_shared<Pattern::Tree>(std::move(tree));
    return out;
}

}  // namespace strata
