// Sums of integers: rotations, truths that are counted, and sums of what all lanes share and what differs.
//
//   x + (a < b)                    v_cmp_lt_i32 vcc, v1, v2; v_add_co_ci_u32 v0, vcc, 0, v0, vcc
//   (x << 13) | (x >> 19)          v_alignbit_b32 v1, v0, v0, 19
//   v + a + b + 7, a and b scalar  s_add_u32 s2, s0, s1; s_add_u32 s2, s2, 7; v_add_nc_u32 v1, s2, v0
#include <algorithm>

#include "strata/codegen/select/arithmetic/sums.h"

namespace strata::codegen {

using namespace number_class;
namespace {

constexpr size_t kMostTerms = 12;

/// n of x << n, or of x * 2^n.
std::optional<int64_t> left_shift(UOp u) {
    if (!u.is(Op::shl) && !u.is(Op::mul)) return {};
    if (!u.src(1).is_const()) return {};
    const auto by = static_cast<uint64_t>(const_int(u.src(1)));
    if (u.is(Op::shl)) return static_cast<int64_t>(by);
    return std::has_single_bit(by) ? std::optional<int64_t>(std::countr_zero(by)) : std::nullopt;
}

}  // namespace

bool Sums::rotated(UOp u) {
    if (!(u.is(Op::bit_or) || u.is(Op::add) || u.is(Op::bit_xor)) || u.dtype() != dtypes::uint32) return false;
    for (size_t i = 0; i < 2; ++i) {
        const UOp left = skip_after(u.src(i)), right = skip_after(u.src(1 - i));
        const std::optional<int64_t> up = left_shift(left);
        if (!up || !right.is(Op::shr) || !right.src(1).is_const()) continue;
        const UOp x = skip_after(left.src(0));
        const int64_t down = const_int(right.src(1));
        if (x != skip_after(right.src(0)) || *up < 1 || *up + down != 32 || takes_scalars({&value(x), 1})) continue;
        set(u, Source::of(code_.vector("v_alignbit_b32",
                                       {value(x), value(x), Source::of_number(static_cast<uint64_t>(down))})));
        return true;
    }
    return false;
}

std::optional<Mnemonic> shifted_add(int64_t factor) {
    switch (factor) {
        case 2: return Mnemonic("s_lshl1_add_u32");
        case 4: return Mnemonic("s_lshl2_add_u32");
        case 8: return Mnemonic("s_lshl3_add_u32");
        case 16: return Mnemonic("s_lshl4_add_u32");
        default: return {};
    }
}

bool Sums::scalar_sum(UOp u) {
    if (!u.is(Op::add) || !(class_of(u.dtype()) & (i32 | u32)) || u.dtype().bits() < 32) return false;
    const Value both[] = {value(u.src(0)), value(u.src(1))};
    if (!takes_scalars(both)) return false;
    for (size_t i = 0; i < 2; ++i) {
        const UOp product = skip_after(u.src(i));
        const std::optional<int64_t> shift = both[i].number ? std::nullopt : left_shift(product);
        const std::optional<Mnemonic> name = shift && *shift < 5 ? shifted_add(int64_t{1} << *shift) : std::nullopt;
        if (!name) continue;
        return set(u, Source::of(code_.scalar(*name, {value(product.src(0)), both[1 - i]}))), true;
    }
    return false;
}

/// A truth that is added as 0 or 1 is a carry.
bool Sums::counted(UOp u) {
    if (!u.is(Op::add) || !(class_of(u.dtype()) & (i32 | u32 | i64 | u64)) || u.dtype().bits() < 32) return false;
    auto is = [](UOp s, int64_t n) { return s.is_const() && const_int(s) == n; };
    for (size_t i = 0; i < 2; ++i) {
        const UOp one = skip_after(u.src(i));
        const bool chosen = one.is(Op::where) && is(one.src(1), 1) && is(one.src(2), 0);
        if (uses(one) != 1 || !(chosen || (one.is(Op::cast) && one.src(0).dtype().is_bool()))) continue;
        const Value& truth = value(one.src(0));
        const Value& to = value(u.src(1 - i));
        if (!truth.mask) continue;
        const Source none = Source::of_number(0);
        const Place out = function_.add(Bank::vector, dwords_of(u.dtype()));
        const Place carry = code_.carrying_to(out.part(0), "v_add_co_ci_u32", {none, dword(to, 0), truth});
        if (out.dwords == 2) code_.carrying_to(out.part(1), "v_add_co_ci_u32", {none, dword(to, 1), Source::of(carry)});
        return set(u, Source::of(out)), true;
    }
    return false;
}

/// A product of 24 bits and what is added to it.
bool Sums::product_sum(UOp u) {
    for (size_t i = 0; i < 2; ++i) {
        const UOp product = skip_after(u.src(i));
        if (!product.is(Op::mul) || uses(product) != 1 || takes_scalars({&value(product), 1})) continue;
        if (left_shift(product)) continue;
        const std::optional<Mnemonic> name = short_product(product, "v_mad_u32_u24", "v_mad_i32_i24");
        if (!name) continue;
        set(u, Source::of(code_.vector(*name, {value(product.src(0)), value(product.src(1)), value(u.src(1 - i))})));
        return true;
    }
    return false;
}

/// The one of two instructions that multiply 24 bits which a product's factors fit.
std::optional<Mnemonic> short_product(UOp product, Mnemonic without_sign, Mnemonic with_sign) {
    int64_t low = 0, high = 0;
    for (UOp factor : product.src()) {
        const Bounds b = bounds(factor);
        low = std::min(low, b.low), high = std::max(high, b.high);
    }
    if (low == 0 && high < 1 << 24) return without_sign;
    return low >= -(1 << 23) && high < 1 << 23 ? std::optional(with_sign) : std::nullopt;
}

/// The terms of a sum, through sums that nothing else uses.
void Sums::add_terms(UOp u, std::vector<UOp>& terms) const {
    for (UOp source : u.src()) {
        const UOp s = skip_after(source);
        const bool inner = s.is(Op::add) && uses(s) == 1 && !takes_scalars({&value(s), 1}) && terms.size() < kMostTerms;
        inner ? add_terms(s, terms) : terms.push_back(s);
    }
}

/// The sum of scalars, computed unless it is known here.
Source Sums::shared_sum(std::span<const Source> scalars) {
    uint32_t number = 0;
    std::vector<uint64_t> key;
    key.reserve(scalars.size() + 1);
    for (const Source& s : scalars)
        if (s.number)
            number += static_cast<uint32_t>(*s.number);
        else
            key.push_back(uint64_t{s.place.reg} << 8 | s.place.first);
    if (key.empty()) return Source::of_number(number);
    std::ranges::sort(key);
    key.push_back(number);
    if (const Source* known = shared_sums_.find(key)) return *known;
    const auto scalar = [&](size_t i) {
        const uint64_t place = key[i];
        return Source::of({static_cast<uint32_t>(place >> 8), static_cast<uint8_t>(place), 1});
    };
    Source sum = scalar(0);
    for (size_t i = 1; i + 1 < key.size(); ++i) sum = Source::of(code_.scalar("s_add_u32", {sum, scalar(i)}));
    if (number) sum = Source::of(code_.scalar("s_add_u32", {sum, Source::of_number(number)}));
    return shared_sums_.add(key, sum);
}

/// Sums modulo 2^32 in another order: scalars among themselves first.
bool Sums::sum_of_scalars(UOp u, std::span<const UOp> terms) {
    const auto is_shared = [&](UOp term) { return takes_scalars({&value(term), 1}); };
    const auto count = static_cast<size_t>(std::ranges::count_if(terms, is_shared));
    if (count < 2 || count == terms.size()) return false;
    std::vector<Source> shared, own;
    shared.reserve(count), own.reserve(terms.size() - count);
    for (UOp term : terms) (is_shared(term) ? shared : own).push_back(value(term));
    Source sum = shared_sum(shared);
    size_t i = 0;
    for (; i + 2 <= own.size(); i += 2) sum = Source::of(code_.vector("v_add3_u32", {sum, own[i], own[i + 1]}));
    if (i < own.size()) sum = Source::of(code_.vector("v_add_nc_u32", {sum, own[i]}));
    set(u, sum);
    return true;
}

/// Sums of sums and of shifted integers as one instruction; what only the sum uses then goes.
bool Sums::fused(UOp u) {
    const NumberClass type = class_of(u.dtype());
    if (rotated(u) || scalar_sum(u) || counted(u)) return true;
    if (!u.is(Op::add) || !(type & (i32 | u32)) || u.dtype().bits() < 32) return false;
    std::vector<UOp> terms;
    terms.reserve(16);
    add_terms(u, terms);
    if (dots_.dot(u, terms) || sum_of_scalars(u, terms) || product_sum(u)) return true;
    for (size_t i = 0; i < 2; ++i) {
        const UOp inner = skip_after(u.src(i)), other = u.src(1 - i);
        if (uses(inner) != 1 || takes_scalars({&value(inner), 1})) continue;
        const bool doubled = inner.is(Op::mul) && inner.src(1).is_const() &&
                             std::has_single_bit(static_cast<uint64_t>(const_int(inner.src(1))));
        if (inner.is(Op::shl) || doubled) {
            const Source distance = doubled ? Source::of_number(static_cast<uint64_t>(
                                                  std::countr_zero(static_cast<uint64_t>(const_int(inner.src(1))))))
                                            : Source(value(inner.src(1)));
            set(u, Source::of(code_.vector("v_lshl_add_u32", {value(inner.src(0)), distance, value(other)})));
            return true;
        }
        if (inner.is(Op::add)) {
            set(u, Source::of(code_.vector("v_add3_u32", {value(inner.src(0)), value(inner.src(1)), value(other)})));
            return true;
        }
    }
    return false;
}

}  // namespace strata::codegen
