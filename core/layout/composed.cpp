#include "strata/core/layout/composed.h"

#include <cstdlib>

#include "strata/core/layout/layout_error.h"
#include "strata/core/support/hash.h"

namespace strata::layout {
namespace {

constexpr int64_t kMostIndices = 1 << 18;
constexpr int kMostBits = 62;  // of an index that a swizzle may move

int64_t mask_of(int bits) { return (int64_t{1} << bits) - 1; }

void check_bits(std::initializer_list<int> from_zero_on, int64_t all) {
    for (const int bits : from_zero_on)
        if (bits < 0) refuse("it has the negative number {}", bits);
    if (all > kMostBits) refuse("it moves bits beyond {}", kMostBits);
}

IntTuple with_at(const IntTuple& t, std::span<const int> path, const Int& value) {
    if (path.empty()) return value;
    t.at(path);
    std::vector<IntTuple> modes(t.modes().begin(), t.modes().end());
    const auto place = static_cast<size_t>(path[0]);
    modes[place] = with_at(modes[place], path.subspan(1), value);
    return modes;
}

std::string path_text(const Path& path) {
    std::string out;
    for (const int mode : path) out += fmt::format("E{}", mode);
    return out;
}

std::string atom_text(const ComposedLayout::Inner& inner) {
    return std::visit([](const auto& x) { return to_string(x); }, inner);
}

uint64_t hash_of(const ComposedLayout::Inner& inner) {
    if (const auto* layout = std::get_if<Layout>(&inner)) return layout->hash();
    return std::hash<std::string>{}(atom_text(inner));
}

}  // namespace

Swizzle::Swizzle(int bits, int base, int shift) : bits_(bits), base_(base), shift_(shift) {
    operation(
        "Swizzle",
        [&] {
            check_bits({bits, base}, int64_t{bits} + base + std::abs(int64_t{shift}));
            if (std::abs(int64_t{shift}) < bits) refuse("it reads bits that it writes: |shift| is {} at least", bits);
        },
        *this);
}

Int Swizzle::operator()(const Int& index) const {
    const Int read = bit_and(index, mask_of(bits_) << (base_ + std::max(0, shift_)));
    return bit_xor(index, shift_right(read, shift_));
}

CoordSwizzle::CoordSwizzle(int bits, int base_row, Path row, int base_column, Path column)
    : bits_(bits), base_row_(base_row), base_column_(base_column), row_(std::move(row)), column_(std::move(column)) {
    operation(
        "CoordSwizzle",
        [&] {
            check_bits({bits, base_row, base_column}, int64_t{bits} + std::max(base_row, base_column));
            for (const Path* path : {&row_, &column_}) {
                if (path->empty()) refuse("it names no mode of a coordinate");
                for (const int mode : *path)
                    if (mode < 0) refuse("it names the mode {}: modes count from 0", mode);
            }
            if (row_ == column_) refuse("it reads and writes one mode");
        },
        *this);
}

IntTuple CoordSwizzle::operator()(const IntTuple& coordinate) const {
    const Int read = bit_and(shift_right(coordinate.at(row_).integer(), base_row_), mask_of(bits_));
    return with_at(coordinate, column_, bit_xor(coordinate.at(column_).integer(), shift_right(read, -base_column_)));
}

ComposedLayout::ComposedLayout(std::vector<Stage> stages, Layout base)
    : stages_(std::move(stages)), base_(std::move(base)) {
    (*this)(0);  // what its parts give each other fits
}

IntTuple ComposedLayout::operator()(const IntTuple& coordinate) const {
    return operation(
        "crd2idx",
        [&] {
            IntTuple index = crd2idx(coordinate, base_.shape(), base_.stride());
            for (size_t i = stages_.size(); i-- > 0;) {
                index = coordinate_sum(stages_[i].offset, index);
                const Inner& inner = stages_[i].inner;
                if (const auto* layout = std::get_if<Layout>(&inner))
                    index = crd2idx(index, layout->shape(), layout->stride());
                else if (const auto* swizzle = std::get_if<Swizzle>(&inner))
                    index = (*swizzle)(index.integer());
                else
                    index = std::get<CoordSwizzle>(inner)(index);
            }
            return index;
        },
        coordinate, *this);
}

std::variant<Layout, ComposedLayout> ComposedLayout::outer() const {
    if (stages_.size() <= 1) return base_;
    return ComposedLayout({stages_.begin() + 1, stages_.end()}, base_);
}

int64_t cosize(const ComposedLayout& L) {
    return operation(
        "cosize",
        [&] {
            const int64_t size = L.base().size().value();
            if (size > kMostIndices) refuse("{} coordinates are too many to look at, {} the most", size, kMostIndices);
            int64_t low = INT64_MAX, high = INT64_MIN;
            for (int64_t c = 0; c < size; ++c) {
                const int64_t index = L(IntTuple(c)).known();
                low = std::min(low, index);
                high = std::max(high, index);
            }
            return high - low + 1;
        },
        L);
}

uint64_t ComposedLayout::hash() const {
    uint64_t out = base_.hash();
    for (const Stage& stage : stages_) out = hash_mix(hash_mix(out, hash_of(stage.inner)), stage.offset.hash());
    return out;
}

std::string to_string(const Swizzle& s) { return fmt::format("S<{},{},{}>", s.bits(), s.base(), s.shift()); }

std::string to_string(const CoordSwizzle& s) {
    return fmt::format("C<{},{},{},{},{}>", s.bits(), s.base_row(), path_text(s.row()), s.base_column(),
                       path_text(s.column()));
}

std::string to_string(const ComposedLayout& L) {
    std::string out = to_string(L.base());
    for (size_t i = L.stages().size(); i-- > 0;) {
        const ComposedLayout::Stage& stage = L.stages()[i];
        const bool is_composed = i + 1 < L.stages().size();
        out = fmt::format("{} o {} o {}", atom_text(stage.inner), to_string(stage.offset),
                          is_composed ? "[" + out + "]" : out);
    }
    return out;
}

std::string to_string(const AnyLayout& L) {
    return std::visit([](const auto& x) { return to_string(x); }, L);
}

ComposedLayout make_composed_layout(const AnyLayout& inner, const IntTuple& offset, const AnyLayout& outer) {
    return operation(
        "make_composed_layout",
        [&] {
            std::vector<ComposedLayout::Stage> stages;
            if (const auto* composed = std::get_if<ComposedLayout>(&inner)) {
                stages.assign(composed->stages().begin(), composed->stages().end());
                stages.push_back({composed->base(), offset});
            } else if (const auto* layout = std::get_if<Layout>(&inner)) {
                stages.push_back({*layout, offset});
            } else if (const auto* swizzle = std::get_if<Swizzle>(&inner)) {
                stages.push_back({*swizzle, offset});
            } else {
                stages.push_back({std::get<CoordSwizzle>(inner), offset});
            }
            if (const auto* layout = std::get_if<Layout>(&outer)) return ComposedLayout(std::move(stages), *layout);
            const auto* composed = std::get_if<ComposedLayout>(&outer);
            if (!composed) refuse("the outer one takes coordinates: it is a layout, and this is {}", to_string(outer));
            stages.insert(stages.end(), composed->stages().begin(), composed->stages().end());
            return ComposedLayout(std::move(stages), composed->base());
        },
        inner, outer);
}

}  // namespace strata::layout
