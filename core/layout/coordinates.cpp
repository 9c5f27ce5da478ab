// Coordinates of a shape in colexicographic order: the first mode counts fastest.
#include <algorithm>
#include <numeric>

#include "strata/core/layout/layout.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

constexpr int kMostSteps = 1 << 20;  // of a search for coordinates

/// One leaf of a layout: its place in the tree, its size, the size of its step.
struct Step {
    size_t place;
    int64_t size, stride;
};

int64_t floor_rest(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/// The smallest c from 0 on with c * stride = index modulo divisor, which has one; they repeat with the period.
int64_t first_with_rest(int64_t stride, int64_t divisor, int64_t index, int64_t period) {
    if (divisor == 0) return 0;
    const int64_t common = divisor / period;
    int64_t a = stride / common % period, b = period, x = 1,
            y = 0;  // x * stride / common = a, y ... = b, modulo period
    while (a > 1) {
        const int64_t q = b / a;
        b -= q * a;
        y = static_cast<int64_t>((y - static_cast<__int128>(q) * x) % period);
        std::swap(a, b);
        std::swap(x, y);
    }
    return floor_rest(static_cast<int64_t>(static_cast<__int128>(x) * (index / common % period) % period), period);
}

/// Coordinates with sum stride * coordinate = index, strides positive and falling. The rest for the smaller strides is
/// bounded by their sum and a multiple of their greatest common divisor.
class Search {
  public:
    explicit Search(std::vector<Step> leaves)
        : leaves_(std::move(leaves)), most_(leaves_.size() + 1), divisor_(most_.size()) {
        for (size_t i = leaves_.size(); i-- > 0;) {
            most_[i] = (Int(most_[i + 1]) + Int(leaves_[i].size - 1) * Int(leaves_[i].stride)).value();
            divisor_[i] = std::gcd(divisor_[i + 1], leaves_[i].stride);
        }
    }
    bool find(size_t i, int64_t index, std::vector<int64_t>& out) {
        if (++steps_ > kMostSteps) refuse("its strides are too many to be decided");
        if (index < 0 || index > most_[i]) return false;
        if (i == leaves_.size()) return index == 0;
        if (index % divisor_[i]) return false;
        const auto [place, size, stride] = leaves_[i];
        const int64_t beyond = index - most_[i + 1];
        const int64_t first = beyond <= 0 ? 0 : (beyond + stride - 1) / stride,
                      last = std::min(size - 1, index / stride);
        const int64_t period = divisor_[i + 1] ? divisor_[i + 1] / std::gcd(stride, divisor_[i + 1]) : 1;
        const int64_t start = first_with_rest(stride, divisor_[i + 1], index, period);
        const int64_t ahead = floor_rest(start - first, period);
        if (first > last || ahead > last - first) return false;
        for (int64_t c = first + ahead; c <= last; c += period) {
            out[place] = c;
            if (find(i + 1, index - c * stride, out)) return true;
            if (c > INT64_MAX - period) break;
        }
        return false;
    }

  private:
    std::vector<Step> leaves_;
    std::vector<int64_t> most_, divisor_;
    int steps_ = 0;
};

std::vector<Step> known_steps(const Layout& L) {
    std::vector<Step> out;
    for_each_leaf(L.shape(), [&](const IntTuple& size) { out.push_back({out.size(), size.known(), 0}); });
    size_t next = 0;
    for_each_leaf(L.stride(), [&](const IntTuple& stride) { out[next++].stride = stride.known(); });
    return out;
}

/// Index and coordinates of an index that comes with the kernel: each stride above all that smaller ones reach.
std::vector<IntTuple> divide_down(const Int& index, std::vector<Step> leaves) {
    std::vector<IntTuple> out(leaves.size());
    std::erase_if(leaves, [](const Step& leaf) { return leaf.size == 1 || leaf.stride == 0; });
    std::ranges::sort(leaves, {}, &Step::stride);
    int64_t reached = 0;
    for (const Step& leaf : leaves) {
        if (leaf.stride <= reached) refuse("the index {} must be known: strides overlap", to_string(index));
        reached = (Int(reached) + Int(leaf.size - 1) * Int(leaf.stride)).value();
    }
    Int rest = index;
    for (size_t i = leaves.size(); i-- > 0;) {
        out[leaves[i].place] = floor_div(rest, leaves[i].stride);
        rest = floor_mod(rest, leaves[i].stride);
    }
    return out;
}

std::vector<IntTuple> leaves_at(const Int& index, const Layout& L) {
    const std::vector<Step> leaves = known_steps(L);
    if (!index.known()) return divide_down(index, leaves);
    std::vector<int64_t> sizes, strides;
    for (const Step& leaf : leaves) {
        sizes.push_back(leaf.size);
        strides.push_back(leaf.stride);
    }
    const auto found = solve_index(sizes, strides, index.value());
    if (!found) refuse("no coordinate has the index {}", to_string(index));
    return {found->begin(), found->end()};
}

Int linear(const IntTuple& coordinate, const IntTuple& shape) {
    return crd2idx(coordinate, shape, prefix_product(shape)).integer();
}

}  // namespace

std::optional<std::vector<int64_t>> solve_index(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                                int64_t index) {
    std::vector<Step> leaves;
    std::vector<int64_t> out(sizes.size());
    Int rest = index;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 1 || strides[i] == 0) continue;
        // A falling mode is counted from its end.
        if (strides[i] < 0) rest = rest - Int(sizes[i] - 1) * Int(strides[i]);
        leaves.push_back({i, sizes[i], strides[i] < 0 ? (Int(0) - Int(strides[i])).value() : strides[i]});
    }
    std::ranges::sort(leaves, std::greater<>(), &Step::stride);
    if (!Search(std::move(leaves)).find(0, rest.value(), out)) return std::nullopt;
    for (size_t i = 0; i < sizes.size(); ++i)
        if (strides[i] < 0 && sizes[i] > 1) out[i] = sizes[i] - 1 - out[i];
    return out;
}

IntTuple crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride) {
    if (coordinate.is_none()) return 0;
    if (coordinate.is_basis()) return crd2idx(as_coordinate(coordinate), shape, stride);
    if (coordinate.is_tuple()) {
        if (!shape.is_tuple() || shape.rank() != coordinate.rank())
            refuse("the coordinate {} has not the modes of {}", to_string(coordinate), to_string(shape));
        IntTuple sum = 0;
        for (size_t i = 0; i < shape.rank(); ++i)
            sum = coordinate_sum(
                sum, at_mode(i, [&] { return crd2idx(coordinate.mode(i), shape.mode(i), stride.mode(i)); }));
        return sum;
    }
    if (!shape.is_tuple()) return as_coordinate(stride * coordinate);
    IntTuple sum = 0;
    Int rest = coordinate.integer();
    for (size_t i = 0; i < shape.rank(); ++i) {
        const bool is_last = i + 1 == shape.rank();
        const Int size = is_last ? Int(1) : product(shape.mode(i));
        sum = coordinate_sum(sum, crd2idx(is_last ? rest : floor_mod(rest, size), shape.mode(i), stride.mode(i)));
        if (!is_last) rest = floor_div(rest, size);
    }
    if (shape.rank() == 0 && !rest.is(0)) refuse("{} has the one coordinate 0", to_string(shape));
    return sum;
}

IntTuple idx2crd(const IntTuple& index, const IntTuple& shape) {
    if (!shape.is_tuple()) return index.integer();
    std::vector<IntTuple> out;
    if (index.is_tuple() && index.rank() != shape.rank())
        refuse("{} has not the modes of {}", to_string(index), to_string(shape));
    Int rest = index.is_tuple() ? Int(0) : index.integer();
    for (size_t i = 0; i < shape.rank(); ++i) {
        if (index.is_tuple()) {
            out.push_back(idx2crd(index.mode(i), shape.mode(i)));
            continue;
        }
        const bool is_last = i + 1 == shape.rank();
        const Int size = is_last ? Int(1) : product(shape.mode(i));
        out.push_back(idx2crd(is_last ? rest : floor_mod(rest, size), shape.mode(i)));
        if (!is_last) rest = floor_div(rest, size);
    }
    if (shape.rank() == 0 && !rest.is(0)) refuse("{} has the one coordinate 0", to_string(shape));
    return out;
}

IntTuple idx2crd(const Int& index, const Layout& L) {
    return operation(
        "idx2crd",
        [&] {
            const std::vector<IntTuple> leaves = leaves_at(index, L);
            size_t next = 0;
            return map_leaves(L.shape(), [&](const IntTuple&) { return leaves[next++]; });
        },
        IntTuple(index), L);
}

IntTuple crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to) {
    return operation("crd2crd", [&] { return idx2crd(IntTuple(linear(coordinate, from)), to); }, from, to);
}

IntTuple flat_coord(const Int& index, const Layout& L) {
    const IntTuple coordinate = idx2crd(index, L);
    if (!L.shape().is_tuple()) return coordinate;
    std::vector<IntTuple> out;
    for (size_t i = 0; i < L.rank(); ++i) out.emplace_back(linear(coordinate.mode(i), L.shape().mode(i)));
    return out;
}

Int linear_coord(const Int& index, const Layout& L) { return linear(idx2crd(index, L), L.shape()); }

/// Two coordinates share an index where their difference, from 1 - size to size - 1 a mode, has the index 0.
bool is_injective(const Layout& L) {
    return operation(
        "is_injective",
        [&] {
            std::vector<std::pair<Path, std::vector<Step>>> by_path;
            const IntTuple sizes = flatten(L.shape()), strides = flatten(L.stride());
            for (size_t i = 0; i < sizes.rank(); ++i) {
                const IntTuple& stride = strides.mode(i);
                const int64_t size = sizes.mode(i).known(), step = stride.value().value();
                if (size == 1) continue;
                if (step == 0) return false;
                auto found = std::ranges::find(by_path, stride.path(), &std::pair<Path, std::vector<Step>>::first);
                if (found == by_path.end()) found = by_path.insert(found, {stride.path(), {}});
                found->second.push_back({0, size, step < 0 ? (Int(0) - Int(step)).value() : step});
            }
            for (auto& [path, leaves] : by_path) {
                std::ranges::sort(leaves, std::greater<>(), &Step::stride);
                // The first mode that differs, by a difference from 1 on; the others from 1 - size to size - 1.
                for (size_t i = 0; i < leaves.size(); ++i) {
                    std::vector<Step> others{{0, leaves[i].size - 1, leaves[i].stride}};
                    Int shift = Int(0) - Int(leaves[i].stride);
                    for (size_t j = i + 1; j < leaves.size(); ++j) {
                        others.push_back(
                            {0, (Int(leaves[j].size) + Int(leaves[j].size - 1)).value(), leaves[j].stride});
                        shift = shift + Int(leaves[j].size - 1) * Int(leaves[j].stride);
                    }
                    std::vector<int64_t> scratch(1);
                    if (shift.value() >= 0 && Search(std::move(others)).find(0, shift.value(), scratch)) return false;
                }
            }
            return true;
        },
        L);
}

}  // namespace strata::layout
