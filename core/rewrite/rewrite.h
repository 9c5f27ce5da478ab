#pragma once
#include <array>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "strata/core/rewrite/pattern.h"

// Rewrite rules: a pattern of nodes, and what replaces them.
namespace strata {

/// One way a rule matched, handed to guards and replacement functions.
class Match {
  public:
    Match(UOp root, const std::array<UOp, kMaxVars>& held, void* context)
        : root(root), context_(context), held_(held) {}
    UOp operator[](Var v) const { return held_[v.slot]; }
    /// The value of an integer constant.
    int64_t value(Var v) const { return const_int(held_[v.slot]); }
    /// The context that the caller of rewrite passed along.
    template <class T>
    T& context() const {
        return *static_cast<T*>(context_);
    }
    UOp root;

  private:
    void* context_;
    const std::array<UOp, kMaxVars>& held_;
};

using Guard = bool (*)(const Match&);
using Replacement = UOp (*)(const Match&);  ///< an empty UOp or the node itself: the rule does not apply

struct Rule {
    Pattern pattern;
    Replacement function;        ///< or else
    std::vector<Pattern> built;  ///< one pattern, built from the captures
    Guard guard;
    std::source_location where;
};

/// `rule(i * 0, 0)`, `rule((i * c0) * c1, i * (c0 * c1))`, `rule(x < y, decided, same_kind)`: pattern, what replaces
/// it, and the guard last. Operations on constants in a replacement are folded.
Rule rule(Pattern pattern, Pattern replacement, Guard guard = nullptr,
          std::source_location where = std::source_location::current());
template <class F>
    requires std::is_convertible_v<F, Replacement>
Rule rule(Pattern pattern, F function, Guard guard = nullptr,
          std::source_location where = std::source_location::current()) {
    return Rule{std::move(pattern), function, {}, guard, where};
}
/// A function tried on every node of these ops.
std::vector<Rule> rule_for(std::span<const Op> ops, Replacement replacement,
                           std::source_location where = std::source_location::current());

/// Rules indexed by the op of their root, tried in order. Const once made: threads share it.
class RuleSet {
  public:
    RuleSet(std::vector<Rule> rules);
    RuleSet(std::initializer_list<Rule> rules) : RuleSet(std::vector<Rule>(rules)) {}
    RuleSet(std::initializer_list<const RuleSet*> parts);
    ~RuleSet();
    RuleSet(const RuleSet&) = delete;
    RuleSet& operator=(const RuleSet&) = delete;

    std::span<const Rule> rules() const;
    /// The first rule that applies to `node` itself, and what it gives; {nullptr, {}} when none does.
    struct Applied {
        const Rule* rule;
        UOp result;
    };
    Applied apply(UOp node, void* context = nullptr) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Which rule fired where, in order.
struct Trace {
    struct Step {
        const Rule* rule;
        UOp before, after;
    };
    std::vector<Step> steps;
    std::string text() const;  ///< a line a step: "add.cpp:31  add index -> range index r0 4 loop"
};

enum class Order : uint8_t { bottom_up, top_down };

/// For rules without a context: where it is noted which nodes they leave, with all that these reach, as they are.
struct Settled {
    bool (*is)(UOp);
    void (*note)(UOp);
};

struct RewriteOptions {
    Order order = Order::bottom_up;    ///< are rules tried on a node after its sources, or (also) before
    Trace* trace = nullptr;            ///< without one, STRATA_DEBUG=6 prints the trace to stderr
    const Settled* settled = nullptr;  ///< of the rules, bottom up; what is there is not looked at again
    int64_t max_steps = 0;             ///< rules fired before the rewrite counts as endless; 0 = 20,000 + 64 a node
};

/// Applies the rules to every node that `root` reaches until none applies. A replacement of another shape than its node
/// (0 for x * 0 over a tensor) is dropped. An endless rewrite is an InternalError that names the rules of the cycle.
UOp rewrite(UOp root, const RuleSet& rules, void* context = nullptr, const RewriteOptions& options = {});

/// "add.cpp:31"
std::string location(const Rule& rule);

}  // namespace strata
