#include "strata/codegen/decompose/decompose.h"

#include <array>
#include <vector>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/support/error.h"
#include "strata/core/uop/numbers.h"
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

/// The node's decomposition, or nothing if instructions do it as it is.
UOp decomposed(UOp u, const Target& target) {
    if (UOp value = fold(u)) return value;
    const unsigned type = type_bit(u.src().back().dtype());
    for (const Decomposition* row : rows_of(u.op()))
        if (row->types & type)
            if (UOp made = row->function(u, target); made && made != u) return made;
    return {};
}

/// Goes through the list and writes another. A value stands in the innermost loop that it depends on. It
/// is hoisted out of loops in which it does not change.
class Decomposer {
  public:
    Decomposer(const LinearProgram& program, const Target& target)
        : program_(program), target_(target), numbers_(2 * program.ops.size()) {}

    std::vector<UOp> run() {
        blocks_[0].reserve(2 * program_.ops.size());
        known_.reserve(2 * program_.ops.size());
        for (UOp u : program_.ops) visit(u);
        return std::move(blocks_[0]);
    }

  private:
    static bool is_value(UOp u) { return info(u.op()).computes() && u.dtype().lanes == 1; }

    static constexpr uint32_t kNowhere = UINT32_MAX;
    struct Known {
        UOp made;                   ///< what stands for it
        uint32_t level = kNowhere;  ///< of what is in the list: the number of loops around it
    };
    /// Valid until the next node is looked at.
    Known& known(UOp u) {
        const uint32_t number = numbers_.add(u);
        if (number == known_.size()) known_.emplace_back();
        return known_[number];
    }
    bool is_placed(UOp u) { return known(u).level != kNowhere; }

    void visit(UOp u) {
        const AtPlaceOf place(u);
        if (u.is(Op::range)) {
            blocks_.emplace_back();
            return append(u, rebuilt(u), blocks_.size() - 1);
        }
        if (u.is(Op::end)) {
            UOp made = rebuilt(u);
            for (UOp inner : blocks_.back()) known(inner).level = kNowhere;
            std::vector<UOp> body = std::move(blocks_.back());
            blocks_.pop_back();
            blocks_.back().insert(blocks_.back().end(), body.begin(), body.end());
            return append(u, made, blocks_.size() - 1);
        }
        if (is_value(u)) {  // stands before its first user
            const UOp made = lowered(contracted(u));
            known(u).made = made;
            return;
        }
        append(u, rebuilt(u), blocks_.size() - 1);
    }

    void append(UOp u, UOp made, size_t level) {
        known(u).made = made;
        if (is_placed(made)) return;
        for (UOp s : made.src()) place(s);
        put(made, level);
    }
    void put(UOp u, size_t level) {
        blocks_[level].push_back(u);
        known(u).level = static_cast<uint32_t>(level);
    }

    /// A sum of a product, whether or not something else uses that: a value that is computed again elsewhere has the
    /// same bits. A product less itself is 0.
    static UOp contracted(UOp u) {
        if (!u.dtype().is_float() || (!u.is(Op::add) && !u.is(Op::sub))) return u;
        const UOp a = u.src(0), b = u.src(1);
        if (a == b) return u;
        if (a.is(Op::mul)) return fma(a.src(0), a.src(1), u.is(Op::sub) ? minus(b) : b);
        if (b.is(Op::mul)) return fma(u.is(Op::sub) ? minus(b.src(0)) : b.src(0), b.src(1), a);
        return u;
    }

    /// The node over what has become of its sources.
    UOp rebuilt(UOp u) {
        const size_t first = sources_.size();
        for (UOp s : u.src()) {
            const UOp source = lowered(s);
            sources_.push_back(source);
        }
        const UOp made = u.with_src(std::span(sources_).subspan(first));
        sources_.resize(first);
        return made;
    }

    /// The node's replacement, a new one or one of the list. `after` and `group` are not in the list.
    UOp lowered(UOp u) {
        if (const UOp made = known(u).made) return made;
        UOp next = is_value(u) ? decomposed(u, target_) : UOp();
        UOp result = next ? lowered(next) : rebuilt(u);
        return known(u).made = result;
    }

    /// Puts a value where it is known, after what it needs.
    void place(UOp u) {
        if (u.is(Op::range) || u.dtype().scalar == Scalar::none || is_placed(u)) return;
        for (UOp s : u.src()) place(s);
        if (u.is(Op::after)) return;
        uint32_t level = 0;
        for (UOp s : u.src())
            if (const uint32_t of_source = known(skip_after(s)).level; of_source != kNowhere)
                level = std::max(level, of_source);
        put(u, level);
    }

    const LinearProgram& program_;
    const Target& target_;
    std::vector<std::vector<UOp>> blocks_{1};
    NodeNumbers numbers_;
    std::vector<Known> known_;  ///< by number
    std::vector<UOp> sources_;  ///< of the nodes that are being rebuilt
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
