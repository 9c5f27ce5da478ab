#include "strata/core/layout/tuple.h"

#include <algorithm>

#include "strata/core/layout/layout_error.h"
#include "strata/core/support/hash.h"

namespace strata::layout {

IntTuple IntTuple::none() {
    IntTuple out;
    out.kind_ = Kind::none;
    return out;
}

IntTuple IntTuple::basis(Int value, Path path) {
    for (const int mode : path)
        if (mode < 0) refuse("a basis element has no mode {}: modes count from 0", mode);
    IntTuple out(std::move(value));
    if (path.empty()) return out;
    out.kind_ = Kind::basis;
    out.path_ = std::make_shared<const Path>(std::move(path));
    return out;
}

const Path& IntTuple::path() const {
    static const Path none;
    return path_ ? *path_ : none;
}

const Int& IntTuple::integer() const {
    if (kind_ != Kind::integer) refuse("{} stands where an integer is wanted", to_string(*this));
    return value_;
}

IntTuple::IntTuple(std::vector<IntTuple> modes) : kind_(Kind::tuple) {
    int inside = 0;
    for (const IntTuple& mode : modes) inside = std::max<int>(inside, mode.depth_);
    if (inside >= kMostDepth) refuse("tuples stand in each other {} deep, {} is the most", inside + 1, kMostDepth);
    depth_ = static_cast<uint8_t>(inside + 1);
    modes_ = std::make_shared<const std::vector<IntTuple>>(std::move(modes));
}

const IntTuple& IntTuple::mode(size_t i) const {
    if (i >= rank()) refuse("{} has {} modes, no mode {}", to_string(*this), rank(), i);
    return modes()[i];
}

const IntTuple& IntTuple::at(std::span<const int> path) const {
    if (path.empty()) return *this;
    if (!is_tuple() || path[0] < 0) refuse("{} has no mode {}", to_string(*this), path[0]);
    return mode(static_cast<size_t>(path[0])).at(path.subspan(1));
}

bool operator==(const IntTuple& a, const IntTuple& b) {
    if (a.kind_ != b.kind_) return false;
    if (a.is_tuple()) return a.modes_ == b.modes_ || *a.modes_ == *b.modes_;
    return a.value_ == b.value_ && a.path() == b.path();
}

uint64_t IntTuple::hash() const {
    uint64_t out = hash_mix(static_cast<uint64_t>(kind_), value_.hash());
    for (const int mode : path()) out = hash_mix(out, static_cast<uint64_t>(mode));
    if (is_tuple())
        for (const IntTuple& mode : *modes_) out = hash_mix(out, mode.hash());
    return out;
}

std::string to_string(const IntTuple& t) {
    switch (t.kind()) {
        case IntTuple::Kind::integer: return to_string(t.value());
        case IntTuple::Kind::none: return "*";
        case IntTuple::Kind::basis: {
            std::string out = to_string(t.value());
            for (const int mode : t.path()) out += fmt::format("E{}", mode);
            return out;
        }
        case IntTuple::Kind::tuple: break;
    }
    std::string out = "(";
    for (size_t i = 0; i < t.rank(); ++i) out += (i ? "," : "") + to_string(t.mode(i));
    return out + (t.rank() == 1 ? ",)" : ")");
}

IntTuple flatten(const IntTuple& t) {
    if (!t.is_tuple()) return t;
    std::vector<IntTuple> leaves;
    for_each_leaf(t, [&](const IntTuple& leaf) { leaves.push_back(leaf); });
    return leaves;
}

IntTuple unwrap(IntTuple t) { return t.is_tuple() && t.rank() == 1 ? IntTuple(t.mode(0)) : std::move(t); }

bool congruent(const IntTuple& a, const IntTuple& b) {
    if (a.is_tuple() != b.is_tuple()) return false;
    return !a.is_tuple() || std::ranges::equal(a.modes(), b.modes(), congruent);
}

bool weakly_congruent(const IntTuple& a, const IntTuple& b) {
    return !a.is_tuple() || (b.is_tuple() && std::ranges::equal(a.modes(), b.modes(), weakly_congruent));
}

bool elem_less(const IntTuple& a, const IntTuple& b) {
    if (a.is_tuple() && b.is_tuple() && a.rank() == b.rank())
        return std::ranges::equal(a.modes(), b.modes(), elem_less);
    if (a.is_tuple() || b.is_tuple()) refuse("{} and {} have not the same modes", to_string(a), to_string(b));
    if (a.integer().known() && b.integer().known()) return a.known() < b.known();
    if (surely_less(a.integer(), b.integer())) return true;
    return a.known() < b.known();  // names the leaf that is not known
}

}  // namespace strata::layout
