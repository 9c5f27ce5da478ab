#include <algorithm>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/digits_p.h"
#include "strata/core/layout/layout_error.h"

// A(x) is linear in the digits of x, whose sizes are those of A's leaves; the last digit has no end. A(B(c)) is a
// layout of c where no sum of B's strides carries from digit to digit. A leaf of B that would carry by itself is
// divided. Leaves that carry together are no layout.

namespace strata::layout {
namespace {

/// How A, or a mode of it that a coordinate names, takes an integer.
class Digits {
  public:
    explicit Digits(const Layout& A) {
        std::vector<Leaf> leaves = leaves_of(A);
        for (size_t i = 0; i < leaves.size(); ++i) {
            if (leaves[i].size.is(1) && i + 1 < leaves.size()) continue;
            if (!digits_.empty() && continues(digits_.back(), leaves[i].stride))
                digits_.back().size = digits_.back().size * leaves[i].size;
            else
                digits_.push_back(std::move(leaves[i]));
        }
        if (digits_.empty()) digits_.push_back({1, 0});
        used_.resize(digits_.size());
    }

    /// A(c * stride) for c below size as leaves over c.
    std::vector<Leaf> leaves(Int size, Int stride) {
        std::vector<Leaf> out;
        while (!size.is(1)) {
            const std::vector<Int> step = digits_of(stride, size);
            const Int until = without_carry(step, size);
            if (!until.known() || until == size) {
                out.push_back(leaf(size, step));
                break;
            }
            if (size.value() % until.value())
                refuse("{} steps of {} pass the end of a mode of A after {}, which does not divide them",
                       to_string(size), to_string(stride), until.value());
            out.push_back(leaf(until, step));
            size = floor_div(size, until);
            stride = stride * until;
        }
        if (out.empty()) out.push_back({1, 0});
        return out;
    }

    /// No two leaves' steps carry together.
    void check() const {
        for (size_t i = 0; i + 1 < digits_.size(); ++i)
            if (!used_[i].is(0) && !surely_less(used_[i], digits_[i].size))
                refuse(
                    "its modes together reach {} in a mode of A of size {}, and go on in the next one: no layout does",
                    to_string(used_[i]), to_string(digits_[i].size));
    }

  private:
    std::vector<Int> digits_of(const Int& stride, const Int& steps) const {
        std::vector<Int> out(digits_.size());
        Int rest = stride;
        for (size_t i = 0; i < digits_.size() && !rest.is(0); ++i) {
            const bool is_last = i + 1 == digits_.size();
            const Int& size = digits_[i].size;
            if (!is_last && !(size.known() && rest.known()) && surely_less((steps - Int(1)) * rest, size)) {
                out[i] = rest;
                break;
            }
            out[i] = is_last ? rest : Int(floor_mod(rest.value(), size.value()));
            if (!is_last) rest = floor_div(rest, size);
        }
        return out;
    }

    /// How many steps stay within every digit, `size` at most; `size` itself where that is not known and none moves.
    Int without_carry(const std::vector<Int>& step, const Int& size) const {
        Int out = size;
        for (size_t i = 0; i + 1 < digits_.size(); ++i) {
            if (step[i].is(0)) continue;
            if (!step[i].known() || !digits_[i].size.known()) continue;  // it stays within, see digits_of
            const Int until = ceil_div(digits_[i].size, step[i]);
            if (!out.known() && surely_less((out - Int(1)) * step[i], digits_[i].size)) continue;
            if (until.value() < out.value()) out = until;
        }
        return out;
    }

    Leaf leaf(const Int& size, const std::vector<Int>& step) {
        IntTuple stride = 0;
        for (size_t i = 0; i < digits_.size(); ++i) {
            if (step[i].is(0)) continue;
            used_[i] = used_[i] + (size - Int(1)) * step[i];
            const IntTuple part = digits_[i].stride * IntTuple(step[i]);
            if (part.value().is(0)) continue;
            stride = stride.is(0) ? part : stride + part;
        }
        return {size, stride};
    }

    std::vector<Leaf> digits_;
    std::vector<Int> used_;  // of each the sum of what leaves reach
};

class Composition {
  public:
    explicit Composition(const Layout& A) : A_(A) {}

    Layout of(const Layout& B) {
        if (!B.shape().is_tuple()) {
            const IntTuple& stride = B.stride();
            if (stride.value().is(0) || B.shape().is(1)) return Layout(B.shape(), 0);
            return of_leaves(digits_at(stride.path()).leaves(B.shape().integer(), stride.value()));
        }
        std::vector<Layout> modes;
        for (size_t i = 0; i < B.rank(); ++i) modes.push_back(at_mode(i, [&] { return of(B.mode(i)); }));
        return unwrapped(std::move(modes));
    }
    void check() const {
        for (const auto& [path, digits] : parts_) digits.check();
    }

  private:
    Digits& digits_at(const Path& path) {
        for (auto& [known, digits] : parts_) {
            if (known == path) return digits;
            const size_t common = std::min(known.size(), path.size());
            if (std::equal(path.begin(), path.begin() + static_cast<ptrdiff_t>(common), known.begin()))
                refuse("the strides of B are of a mode of A and of another within it: they have no sum");
        }
        return parts_.emplace_back(path, Digits(A_.at(path))).second;
    }

    const Layout& A_;
    std::vector<std::pair<Path, Digits>> parts_;
};

Layout compose(const Layout& A, const Layout& B) {
    Composition composition(A);
    Layout out = composition.of(B);
    composition.check();
    return out;
}

Layout compose(const Layout& A, const Tile& B) {
    if (B.is_none()) return A;
    if (!B.is_tuple()) return compose(A, B.layout());
    std::vector<Layout> modes = A.modes();
    if (B.modes().size() > modes.size()) refuse("the tile has {} modes, the layout {}", B.modes().size(), modes.size());
    for (size_t i = 0; i < B.modes().size(); ++i)
        modes[i] = at_mode(i, [&] { return compose(modes[i], B.modes()[i]); });
    return unwrapped(std::move(modes));
}

}  // namespace

Layout composition(const Layout& A, const Layout& B) {
    return operation("composition", [&] { return compose(A, B); }, A, B);
}

Layout composition(const Layout& A, const Tile& B) {
    return operation("composition", [&] { return compose(A, B); }, A, B);
}

}  // namespace strata::layout
