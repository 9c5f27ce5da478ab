#include "strata/core/rewrite/matcher_p.h"

#include <bit>

#include "strata/core/uop/reference.h"

namespace strata {
namespace {

bool accepts(Accept accept, UOp u) {
    switch (accept) {
        case Accept::any: return true;
        case Accept::integer: return u.dtype().is_integer();
        case Accept::boolean: return u.dtype().is_bool();
        case Accept::floating: return u.dtype().is_float();
        case Accept::constant: return u.is_const();
        case Accept::int_constant: return u.is_const() && u.dtype().is_integer();
    }
    return false;
}

bool is_number(UOp u, double number) {
    if (!u.is_const()) return false;
    if (u.dtype().is_float()) return std::bit_cast<int64_t>(u.as<ConstArg>().f) == std::bit_cast<int64_t>(number);
    return const_value(u) == number;
}

bool capture(Captures& held, uint32_t& bound, int slot, UOp u) {
    const uint32_t bit = 1u << slot;
    if (bound & bit) return held[static_cast<size_t>(slot)] == u;
    bound |= bit;
    held[static_cast<size_t>(slot)] = u;
    return true;
}

bool match_node(const MatchStep*& at, UOp u, Captures& held, uint32_t& bound) {
    const MatchStep& step = *at++;
    if (step.kind == Pattern::Kind::number) return is_number(u, step.number);
    if (step.kind == Pattern::Kind::var) return accepts(step.accept, u) && capture(held, bound, step.capture, u);
    if (u.op() != step.op) return false;
    if (step.capture >= 0 && (!accepts(step.accept, u) || !capture(held, bound, step.capture, u))) return false;
    if (step.any_sources) return true;
    if (u.src().size() != step.source_count) return false;
    for (UOp s : u.src())
        if (!match_node(at, s, held, bound)) return false;
    return true;
}

/// Can the two sources of a commutative pattern node meet each other's nodes differently?
bool order_matters(const Pattern::Tree& a, const Pattern::Tree& b) {
    bool plain = a.kind == Pattern::Kind::var && b.kind == Pattern::Kind::var;
    return !plain || a.var.accept != b.var.accept;
}

std::vector<MatchProgram> orders(const Pattern::Tree& t) {
    STRATA_CHECK(t.var.slot < kMaxVars, "variable slot {}", t.var.slot);
    bool named = t.kind == Pattern::Kind::var || t.captured;
    MatchStep step{t.kind,
                   t.op,
                   t.any_sources,
                   static_cast<uint8_t>(t.sources.size()),
                   static_cast<int8_t>(named ? t.var.slot : -1),
                   t.var.accept,
                   t.number};
    std::vector<std::vector<const Pattern::Tree*>> layouts(1);
    for (const Pattern& s : t.sources) layouts[0].push_back(&s.tree());
    if (t.kind == Pattern::Kind::op && info(t.op).is(kCommutative) && t.sources.size() == 2 &&
        order_matters(t.sources[0].tree(), t.sources[1].tree()))
        layouts.push_back({layouts[0][1], layouts[0][0]});
    std::vector<MatchProgram> out;
    for (const auto& layout : layouts) {
        std::vector<MatchProgram> partial{{step}};
        for (const Pattern::Tree* source : layout) {
            std::vector<MatchProgram> longer;
            for (const MatchProgram& head : partial)
                for (const MatchProgram& tail : orders(*source)) {
                    longer.push_back(head);
                    longer.back().insert(longer.back().end(), tail.begin(), tail.end());
                }
            partial = std::move(longer);
        }
        out.insert(out.end(), partial.begin(), partial.end());
    }
    return out;
}

UOp build_sources(const Pattern::Tree& t, const Captures& held, DType type);

UOp build_tree(const Pattern::Tree& t, const Captures& held, DType type) {
    switch (t.kind) {
        case Pattern::Kind::var: return held[t.var.slot];
        case Pattern::Kind::number: return constant(type, t.number);
        case Pattern::Kind::op: return build_sources(t, held, type);
    }
    return {};
}

/// Numbers among the sources take the type of a source that is none.
UOp build_sources(const Pattern::Tree& t, const Captures& held, DType type) {
    if (t.op == Op::cast) return cast(build_tree(t.sources[0].tree(), held, type), type);
    std::array<UOp, 3> sources;
    const size_t count = t.sources.size();
    const bool typed_by_sources = info(t.op).rule == TypeRule::cmp;
    STRATA_CHECK(count <= 3 && info(t.op).elementwise(), "a replacement of {} needs a function", info(t.op).name);
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < count; ++i) {
            const Pattern::Tree& source = t.sources[i].tree();
            if ((source.kind == Pattern::Kind::number) != (pass == 1)) continue;
            if (pass == 0) {
                DType wanted = t.op == Op::where && i == 0 ? dtypes::boolean.vector(type.lanes) : type;
                sources[i] = build_tree(source, held, wanted);
                if (typed_by_sources || (t.op == Op::where && i > 0)) type = sources[i].dtype();
            } else {
                sources[i] = constant(type, source.number);
            }
        }
    UOp node = alu(t.op, std::span<const UOp>(sources.data(), count));
    UOp folded = fold(node);
    return folded ? folded : node;
}

}  // namespace

std::vector<MatchProgram> expand_orders(const Pattern& pattern) { return orders(pattern.tree()); }

bool matches(const MatchProgram& program, UOp node, Captures& held) {
    const MatchStep* at = program.data();
    uint32_t bound = 0;
    return match_node(at, node, held, bound);
}

UOp build(const Pattern& pattern, const Captures& held, DType type) { return build_tree(pattern.tree(), held, type); }

}  // namespace strata
