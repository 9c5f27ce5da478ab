#include <algorithm>
#include <numeric>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/digits_p.h"
#include "strata/core/layout/layout_error.h"

// R has the digits of a chain of moduli M1 | M2 | ...: R(x) = e x + d1 floor(x / M1) + d2 floor(x / M2) + ...
// Where no sum of L's strides carries past M, floor(L(c) / M) is the sum of c's integers times floor(stride / M).
// R(L(c)) = c is then one linear equation a mode of L, in integers.

namespace strata::layout {
namespace {

constexpr int64_t kMostModuli = 1 << 16;  // that are all tried
constexpr int kMostChains = 4096;
constexpr int64_t kMostIndices = 256;  // between which every chain is tried

using Wide = __int128;

int64_t quotient_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

Wide size_of(Wide a) { return a < 0 ? -a : a; }

int64_t remainder_of(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/// A mode of L that moves.
struct Mode {
    int64_t size, stride, before;  // before: of the domain's integers, how many its step is
};

/// Integers x with rows * x = right, if there are any. Columns are combined until each row has one new one.
std::vector<int64_t> solve(std::vector<std::vector<Wide>> rows, const std::vector<int64_t>& right) {
    const size_t n = rows[0].size();
    std::vector<std::vector<Wide>> made(n, std::vector<Wide>(n));  // of each column what it is made of
    for (size_t i = 0; i < n; ++i) made[i][i] = 1;
    std::vector<Wide> x(n);
    size_t next = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
        const auto smallest = [&] {
            size_t best = n;
            for (size_t c = next; c < n; ++c)
                if (rows[row][c] && (best == n || size_of(rows[row][c]) < size_of(rows[row][best]))) best = c;
            return best;
        };
        Wide left = right[row];
        for (size_t c = 0; c < next; ++c) left -= rows[row][c] * x[c];
        const auto is_alone = [&](size_t best) {
            for (size_t c = next; c < n; ++c)
                if (c != best && rows[row][c]) return false;
            return true;
        };
        size_t best = smallest();
        while (best < n && !is_alone(best)) {
            for (size_t c = next; c < n; ++c) {
                if (c == best || !rows[row][c]) continue;
                const Wide q = rows[row][c] / rows[row][best];
                for (auto& r : rows) r[c] -= q * r[best];
                for (size_t i = 0; i < n; ++i) made[c][i] -= q * made[best][i];
            }
            best = smallest();
        }
        if (best == n) {
            if (left) return {};
            continue;
        }
        if (left % rows[row][best]) return {};
        for (auto& r : rows) std::swap(r[best], r[next]);
        std::swap(made[best], made[next]);
        x[next] = left / rows[row][next];
        ++next;
    }
    std::vector<int64_t> out(n);
    for (size_t i = 0; i < n; ++i) {
        Wide sum = 0;
        for (size_t c = 0; c < next; ++c) sum += made[c][i] * x[c];
        if (sum > INT64_MAX || sum < INT64_MIN) return {};
        out[i] = static_cast<int64_t>(sum);
    }
    return out;
}

class LeftInverse {
  public:
    explicit LeftInverse(const Layout& L) : L_(coalesce(L)) {
        int64_t before = 1;
        for (const Leaf& leaf : leaves_of(L_)) {
            const int64_t size = leaf.size.value(), stride = leaf.stride.known();
            if (size > 1) modes_.push_back({size, stride, before});
            const Int reach = Int(size - 1) * Int(stride);
            low_ = (Int(low_) + Int(std::min<int64_t>(reach.value(), 0))).value();
            high_ = (Int(high_) + Int(std::max<int64_t>(reach.value(), 0))).value();
            before = (Int(before) * Int(size)).value();
        }
        if (modes_.empty()) modes_.push_back({1, 0, 0});
        find_moduli();
    }

    std::optional<Layout> find() {
        std::vector<int64_t> chain;
        if (auto found = extend(chain, 0)) return found;
        if (high_ >= kMostIndices || low_ <= -kMostIndices) return std::nullopt;
        for (int64_t c = 0; c < L_.size().value(); ++c) indices_.push_back(L_(IntTuple(c)).known());
        chain.clear();
        return extend_by_primes(chain, 1);
    }

  private:
    bool carries(int64_t modulus) const {
        Wide sum = 0;
        for (const Mode& mode : modes_) {
            const int64_t rest = remainder_of(mode.stride, modulus);
            sum += static_cast<Wide>(mode.size - 1) * rest;
        }
        return sum >= modulus;
    }
    void find_moduli() {
        int64_t most = 1;
        std::vector<int64_t> tried;
        for (const Mode& a : modes_) {
            most = std::max(most, std::abs(a.stride));
            for (const Mode& b : modes_) tried.push_back(std::gcd(a.stride, b.stride));
            tried.push_back(a.size <= INT64_MAX / std::max<int64_t>(std::abs(a.stride), 1) ? std::abs(a.stride) * a.size
                                                                                           : 1);
        }
        for (int64_t m = 2; m <= std::min(most, kMostModuli); ++m) tried.push_back(m);
        std::ranges::sort(tried);
        for (const int64_t m : tried)
            if (m > 1 && (moduli_.empty() || m > moduli_.back()) && !carries(m)) moduli_.push_back(m);
    }
    /// Longer chains can do what shorter ones do, so those alone that nothing extends are solved.
    std::optional<Layout> extend(std::vector<int64_t>& chain, size_t from) {
        const int64_t last = chain.empty() ? 1 : chain.back();
        std::vector<int64_t> next;
        for (size_t i = from; i < moduli_.size(); ++i) {
            const int64_t m = moduli_[i];
            if (m % last == 0 && std::ranges::none_of(next, [&](int64_t n) { return m % n == 0; })) next.push_back(m);
        }
        if (next.empty()) return ++chains_ > kMostChains ? std::nullopt : of_chain(chain);
        for (const int64_t m : next) {
            chain.push_back(m);
            const auto place = std::ranges::upper_bound(moduli_, m) - moduli_.begin();
            if (auto found = extend(chain, static_cast<size_t>(place)); found || chains_ > kMostChains) return found;
            chain.pop_back();
        }
        return std::nullopt;
    }
    std::optional<Layout> of_chain(const std::vector<int64_t>& chain) {
        std::vector<std::vector<Wide>> rows;
        std::vector<int64_t> right;
        for (const Mode& mode : modes_) {
            std::vector<Wide>& row = rows.emplace_back(1, mode.stride);
            for (const int64_t m : chain) row.push_back(quotient_of(mode.stride, m));
            right.push_back(mode.before);
        }
        const std::vector<int64_t> steps = solve(std::move(rows), right);
        if (steps.empty()) return std::nullopt;
        std::vector<Leaf> leaves;
        Int stride = steps[0];
        int64_t before = 1;
        for (size_t i = 0; i < chain.size(); ++i) {
            leaves.push_back({chain[i] / before, stride});
            stride = stride * Int(chain[i] / before) + Int(steps[i + 1]);
            before = chain[i];
        }
        leaves.push_back({std::max(high_ / before, -quotient_of(low_, before)) + 1, stride});
        const Layout R = coalesce(of_leaves(leaves));
        return coalesce(composition(R, L_)) == coalesce(Layout(L_.size())) ? std::optional(R) : std::nullopt;
    }

    /// Every chain there is, with an equation a coordinate: carries may cancel out.
    std::optional<Layout> extend_by_primes(std::vector<int64_t>& sizes, int64_t modulus) {
        const int64_t most = std::max(high_, -low_) + 1;
        if (2 * modulus > most) return of_sizes(sizes);
        for (int64_t prime = 2; prime * modulus <= most; ++prime) {
            bool is_prime = true;
            for (int64_t n = 2; n * n <= prime; ++n) is_prime &= prime % n != 0;
            if (!is_prime) continue;
            sizes.push_back(prime);
            if (auto found = extend_by_primes(sizes, modulus * prime)) return found;
            sizes.pop_back();
        }
        return std::nullopt;
    }
    std::optional<Layout> of_sizes(const std::vector<int64_t>& sizes) const {
        std::vector<std::vector<Wide>> rows;
        std::vector<int64_t> right;
        for (int64_t rest : indices_) {
            std::vector<Wide>& row = rows.emplace_back();
            for (const int64_t size : sizes) {
                row.push_back(remainder_of(rest, size));
                rest = quotient_of(rest, size);
            }
            row.push_back(rest);
            right.push_back(static_cast<int64_t>(right.size()));
        }
        const std::vector<int64_t> steps = solve(std::move(rows), right);
        if (steps.empty()) return std::nullopt;
        std::vector<IntTuple> shape, stride;
        for (size_t i = 0; i < steps.size(); ++i) {
            shape.emplace_back(i < sizes.size() ? sizes[i] : 1);
            stride.emplace_back(steps[i]);
        }
        return Layout(shape, stride);  // its last mode has no end
    }

    Layout L_;
    std::vector<int64_t> indices_;
    std::vector<Mode> modes_;
    std::vector<int64_t> moduli_;  // that nothing carries past, rising
    int64_t low_ = 0, high_ = 0;   // indices
    int chains_ = 0;
};

/// Do strides, rising, each begin where the smaller ones have filled whole multiples?
bool fills_evenly(const Layout& L) {
    std::vector<std::pair<int64_t, int64_t>> modes;
    for (const Leaf& leaf : leaves_of(L))
        if (!leaf.size.is(1)) modes.emplace_back(leaf.stride.known(), leaf.size.value());
    std::ranges::sort(modes);
    int64_t filled = 1;
    for (const auto& [stride, size] : modes) {
        if (stride < filled || stride % filled) return false;
        filled = (Int(stride) * Int(size)).value();
    }
    return true;
}

}  // namespace

Layout left_inverse(const Layout& L) {
    return operation(
        "left_inverse",
        [&] {
            if (!is_injective(L)) refuse("two coordinates have one index, so nothing gives both back");
            if (fills_evenly(L)) return right_inverse(make_layout({L, complement(L)}));
            std::optional<Layout> found = LeftInverse(L).find();
            if (!found) refuse("no layout gives its coordinates back: its strides share no chain of sizes");
            return *std::move(found);
        },
        L);
}

}  // namespace strata::layout
