#include <cstring>

#include "strata/core/rewrite/matcher_p.h"

namespace strata {

Rule rule(Pattern pattern, Pattern replacement, Guard guard, std::source_location where) {
    return Rule{std::move(pattern), nullptr, {std::move(replacement)}, guard, where};
}
std::vector<Rule> rule_for(std::span<const Op> ops, Replacement replacement, std::source_location where) {
    std::vector<Rule> out;
    for (Op op : ops) out.push_back(rule(any_sources(op), replacement, nullptr, where));
    return out;
}

std::string location(const Rule& rule) {
    const char* file = rule.where.file_name();
    if (const char* slash = std::strrchr(file, '/')) file = slash + 1;
    return fmt::format("{}:{}", file, rule.where.line());
}

struct RuleSet::Impl {
    struct Entry {
        const Rule* rule;
        std::vector<MatchProgram> programs;
    };
    std::vector<Rule> rules;
    std::array<std::vector<Entry>, kOpCount> by_root;
};

RuleSet::RuleSet(std::vector<Rule> rules) : impl_(std::make_unique<Impl>()) {
    impl_->rules = std::move(rules);
    for (const Rule& r : impl_->rules) {
        const Pattern::Tree& root = r.pattern.tree();
        STRATA_CHECK(root.kind == Pattern::Kind::op, "{}: the root of a rule's pattern must be an op", location(r));
        impl_->by_root[static_cast<size_t>(root.op)].push_back({&r, expand_orders(r.pattern)});
    }
}

RuleSet::RuleSet(std::initializer_list<const RuleSet*> parts)
    : RuleSet([&] {
          std::vector<Rule> all;
          for (const RuleSet* part : parts) all.insert(all.end(), part->rules().begin(), part->rules().end());
          return all;
      }()) {}

RuleSet::~RuleSet() = default;

std::span<const Rule> RuleSet::rules() const { return impl_->rules; }

RuleSet::Applied RuleSet::apply(UOp node, void* context) const {
    Captures held;
    for (const Impl::Entry& entry : impl_->by_root[static_cast<size_t>(node.op())]) {
        const Rule& r = *entry.rule;
        for (const MatchProgram& program : entry.programs) {
            if (!matches(program, node, held)) continue;
            Match match(node, held, context);
            if (r.guard && !r.guard(match)) continue;
            UOp result = r.function ? r.function(match) : build(r.built[0], held, node.dtype());
            if (result && result != node && result.shape() == node.shape()) return {&r, result};
        }
    }
    return {nullptr, {}};
}

}  // namespace strata
