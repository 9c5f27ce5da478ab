#include "strata/codegen/decompose/decompose.h"

#include <array>
#include <vector>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/support/error.h"
#include "strata/core/uop/reference.h"
#include "strata/core/uop/verify.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

using namespace types;

constexpr Decomposition kDecompositions[] = {
#define DECOMPOSE(op, types, function, ulps) {Op::op, types, function, ulps},
#include "strata/codegen/decompose/functions.def"
#undef DECOMPOSE
};

/// The rows of an op, in order.
std::span<const Decomposition* const> rows_of(Op op) {
    static const auto index = [] {
        std::array<std::vector<const Decomposition*>, kOpCount> out;
        for (const Decomposition& row : kDecompositions) out[static_cast<size_t>(row.op)].push_back(&row);
        return out;
    }();
    return index[static_cast<size_t>(op)];
}

/// What stands for the node, or nothing where instructions do it as it is.
UOp decomposed(UOp u, const Target& target) {
    if (UOp value = fold(u)) return value;
    const unsigned type = type_bit(u.src().back().dtype());
    for (const Decomposition* row : rows_of(u.op()))
        if (row->types & type)
            if (UOp made = row->function(u, target); made && made != u) return made;
    return {};
}

/// Goes through the list and writes another. A value stands in the innermost loop that it needs something of: what
/// does not change in a loop stands before it, though what it was made of stood inside.
class Decomposer {
  public:
    Decomposer(const LinearProgram& program, const Target& target) : program_(program), target_(target) {}

    std::vector<UOp> run() {
        const size_t size = program_.ops.size();
        uses_.reserve(size);
        made_.reserve(2 * size);
        level_.reserve(2 * size);
        blocks_[0].reserve(2 * size);
        for (UOp u : program_.ops)
            for (UOp s : u.src()) ++uses_[skip_after(s)];
        for (UOp u : program_.ops) visit(u);
        return std::move(blocks_[0]);
    }

  private:
    static bool is_value(UOp u) { return info(u.op()).computes() && u.dtype().lanes == 1; }

    void visit(UOp u) {
        if (u.is(Op::range)) {
            blocks_.emplace_back();
            return append(u, rebuilt(u), blocks_.size() - 1);
        }
        if (u.is(Op::end)) {
            UOp made = rebuilt(u);
            for (UOp inner : blocks_.back()) level_.erase(inner);
            std::vector<UOp> body = std::move(blocks_.back());
            blocks_.pop_back();
            blocks_.back().insert(blocks_.back().end(), body.begin(), body.end());
            return append(u, made, blocks_.size() - 1);
        }
        if (is_value(u)) {  // stands before its first user
            made_[u] = lowered(contracted(u));
            return;
        }
        append(u, rebuilt(u), blocks_.size() - 1);
    }

    void append(UOp u, UOp made, size_t level) {
        made_[u] = made;
        if (level_.contains(made)) return;
        for (UOp s : made.src()) place(s);
        blocks_[level].push_back(made);
        level_[made] = level;
    }

    /// A sum of a product that nothing else uses.
    UOp contracted(UOp u) {
        if (!u.dtype().is_float() || (!u.is(Op::add) && !u.is(Op::sub))) return u;
        UOp a = u.src(0), b = u.src(1);
        UOp made;
        if (is_lone_product(a))
            made = fma(a.src(0), a.src(1), u.is(Op::sub) ? minus(b) : b);
        else if (is_lone_product(b))
            made = fma(u.is(Op::sub) ? minus(b.src(0)) : b.src(0), b.src(1), a);
        return made ? made : u;
    }
    bool is_lone_product(UOp u) const { return u.is(Op::mul) && uses_.at(u) == 1; }

    /// The node over what has become of its sources.
    UOp rebuilt(UOp u) {
        std::vector<UOp> sources;
        for (UOp s : u.src()) sources.push_back(lowered(s));
        return u.with_src(sources);
    }

    /// What stands for a node, a new one or one of the list. `after` and `group` are not in the list.
    UOp lowered(UOp u) {
        if (auto found = made_.find(u); found != made_.end()) return found->second;
        UOp next = is_value(u) ? decomposed(u, target_) : UOp();
        UOp result = next ? lowered(next) : rebuilt(u);
        return made_[u] = result;
    }

    /// Puts a value where it is known, after what it needs.
    void place(UOp u) {
        if (level_.contains(u) || u.is(Op::range) || u.dtype().scalar == Scalar::none) return;
        for (UOp s : u.src()) place(s);
        if (u.is(Op::after)) return;
        size_t level = 0;
        for (UOp s : u.src())
            if (auto found = level_.find(skip_after(s)); found != level_.end()) level = std::max(level, found->second);
        blocks_[level].push_back(u);
        level_[u] = level;
    }

    const LinearProgram& program_;
    const Target& target_;
    std::vector<std::vector<UOp>> blocks_{1};
    UOpMap<UOp> made_;
    UOpMap<size_t> level_;  ///< of what is in the list: the number of loops around it
    UOpMap<int> uses_;
};

}  // namespace

unsigned type_bit(DType type) {
    if (type.is_bool()) return types::boolean;
    if (type.is_integer()) return type.bits() == 64 ? types::wide : type.bits() == 32 ? types::word : types::small;
    if (type.bits() == 8 || type == dtypes::bfloat16) return types::narrow;
    return type.bits() == 64 ? types::twice : type.bits() == 32 ? types::single : types::half;
}

std::span<const Decomposition> decompositions() { return kDecompositions; }

LinearProgram decompose(const LinearProgram& program, const Target& target) {
    LinearProgram out = program;
    out.ops = Decomposer(program, target).run();
#ifndef NDEBUG
    const Result<void> valid = verify_linear(out.ops);
    STRATA_CHECK(valid, "{}: decompose left {}", program.name, valid.error().message);
#endif
    return out;
}

}  // namespace strata::codegen
