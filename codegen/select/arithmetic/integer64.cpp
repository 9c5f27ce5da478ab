// 64-bit integers in pairs of registers.
#include "strata/codegen/select/arithmetic/integer64.h"

namespace strata::codegen {

Value WideIntegers::sum(bool subtract, const Value& a, const Value& b) {
    const Value both[] = {a, b};
    if (takes_scalars(both)) {
        const Place out = function_.add(Bank::scalar, 2);
        code_.scalar_to(out.part(0), pick(subtract, "s_sub_u32", "s_add_u32"), {dword(a, 0), dword(b, 0)});
        code_.scalar_to(out.part(1), pick(subtract, "s_subb_u32", "s_addc_u32"), {dword(a, 1), dword(b, 1)});
        return Source::of(out);
    }
    if (!subtract && code_.has("v_lshl_add_u64"))
        return Source::of(code_.vector("v_lshl_add_u64", {a, Source::of_number(0), b}, 2));
    const Place out = function_.add(Bank::vector, 2);
    const Place carry =
        code_.carrying_to(out.part(0), pick(subtract, "v_sub_co_u32", "v_add_co_u32"), {dword(a, 0), dword(b, 0)});
    code_.carrying_to(out.part(1), pick(subtract, "v_sub_co_ci_u32", "v_add_co_ci_u32"),
                      {dword(a, 1), dword(b, 1), Source::of(carry)});
    return Source::of(out);
}

/// Low 64 bits: a.low * b.low in full, and the low halves of the cross products on top, where their factors have upper
/// halves.
Value WideIntegers::product(UOp u, const Value& a, const Value& b) {
    const Value both[] = {a, b};
    const bool scalar = takes_scalars(both);
    if (scalar && code_.has("s_mul_u64")) return Source::of(code_.scalar("s_mul_u64", {a, b}, 2));
    std::vector<Source> terms;
    for (int i = 0; i < 2; ++i) {
        if (proves_at_least(u.src(i), 0) && proves_less(u.src(i), int64_t{1} << 32)) continue;
        const Source upper = dword(both[i], 1), lower = dword(both[1 - i], 0);
        terms.push_back(Source::of(scalar ? code_.scalar("s_mul_i32", {upper, lower})
                                          : code_.vector("v_mul_lo_u32", {upper, lower})));
    }
    if (scalar) {
        const Place out = function_.add(Bank::scalar, 2);
        terms.push_back(Source::of(code_.scalar("s_mul_hi_u32", {dword(a, 0), dword(b, 0)})));
        code_.scalar_to(out.part(0), "s_mul_i32", {dword(a, 0), dword(b, 0)});
        Source sum = terms[0];
        for (size_t i = 1; i < terms.size(); ++i) sum = Source::of(code_.scalar("s_add_u32", {sum, terms[i]}));
        code_.copy(out.part(1), sum);
        return Source::of(out);
    }
    const Place full = code_.carrying("v_mad_u64_u32", {dword(a, 0), dword(b, 0), Source::of_number(0)}, 2).sum;
    if (terms.empty()) return Source::of(full);
    const Place out = function_.add(Bank::vector, 2);
    code_.copy(out.part(0), Source::of(full.part(0)));
    if (terms.size() == 2)
        code_.vector_to(out.part(1), "v_add3_u32", {Source::of(full.part(1)), terms[0], terms[1]});
    else
        code_.vector_to(out.part(1), "v_add_nc_u32", {Source::of(full.part(1)), terms[0]});
    return Source::of(out);
}

Value WideIntegers::extreme(UOp u, const Value& a, const Value& b) {
    const Mnemonic less = pick(u.dtype().is_unsigned(), "v_cmp_lt_u64", "v_cmp_lt_i64");
    const Source mask = Source::of(code_.compare(less, a, b));
    const bool most = u.is(Op::max);
    const Place out = function_.add(Bank::vector, 2);
    for (int i = 0; i < 2; ++i) {
        const Source x = dword(most ? a : b, i), y = dword(most ? b : a, i);
        code_.vector_to(out.part(i), "v_cndmask_b32", {x, y, mask});
    }
    return Source::of(out);
}

/// By 32 and more: one half becomes the other, and is shifted by the rest.
Value WideIntegers::shift(UOp u, const Value& x, int by) {
    const bool scalar = code_.is_scalar(x), left = u.is(Op::shl), fills = !left && !u.dtype().is_unsigned();
    const Place out = function_.add(scalar ? Bank::scalar : Bank::vector, 2);
    const Source half = dword(x, left ? 0 : 1);
    const Mnemonic vector = pick(left, "v_lshlrev_b32", pick(fills, "v_ashrrev_i32", "v_lshrrev_b32"));
    const Mnemonic of_scalar = pick(left, "s_lshl_b32", pick(fills, "s_ashr_i32", "s_lshr_b32"));
    auto shifted_to = [&](int part, int distance) {
        const Source number = Source::of_number(static_cast<uint64_t>(distance));
        if (scalar)
            code_.scalar_to(out.part(part), of_scalar, {half, number});
        else
            code_.vector_to(out.part(part), vector, {number, half});
    };
    by > 32 ? shifted_to(left ? 1 : 0, by - 32) : code_.copy(out.part(left ? 1 : 0), half);
    fills ? shifted_to(1, 31) : code_.copy(out.part(left ? 0 : 1), Source::of_number(0));
    return Source::of(out);
}

bool WideIntegers::elementwise(UOp u, std::span<const Value> s) {
    auto by_halves = [&](Mnemonic vector, Mnemonic scalar) {
        if (takes_scalars(s)) {
            set(u, s.size() == 1 ? Source::of(code_.scalar(scalar, {s[0]}, 2))
                                 : Source::of(code_.scalar(scalar, {s[0], s[1]}, 2)));
            return true;
        }
        const Place out = function_.add(Bank::vector, 2);
        for (int i = 0; i < 2; ++i) {
            if (s.size() == 1)
                code_.vector_to(out.part(i), vector, {dword(s[0], i)});
            else
                code_.vector_to(out.part(i), vector, {dword(s[0], i), dword(s[1], i)});
        }
        set(u, Source::of(out));
        return true;
    };
    const Value zero = Source::of_number(0);
    switch (u.op()) {
        case Op::add: set(u, sum(false, s[0], s[1])); return true;
        case Op::sub: set(u, sum(true, s[0], s[1])); return true;
        case Op::neg: set(u, sum(true, zero, s[0])); return true;
        case Op::mul: set(u, product(u, s[0], s[1])); return true;
        case Op::shl:
        case Op::shr:
            if (s[0].number || !s[1].number || *s[1].number < 32 || *s[1].number > 63) return false;
            set(u, shift(u, s[0], static_cast<int>(*s[1].number)));
            return true;
        case Op::max:
        case Op::min: set(u, extreme(u, s[0], s[1])); return true;
        case Op::bit_and: return by_halves("v_and_b32", "s_and_b64");
        case Op::bit_or: return by_halves("v_or_b32", "s_or_b64");
        case Op::bit_xor: return by_halves("v_xor_b32", "s_xor_b64");
        case Op::bit_not: return by_halves("v_not_b32", "s_not_b64");
        case Op::abs: {
            if (u.dtype().is_unsigned()) {
                set(u, s[0]);
                return true;
            }
            // (x ^ sign) - sign, with the sign in all bits.
            const Value sign = Source::of(code_.vector("v_ashrrev_i64", {Source::of_number(63), s[0]}, 2));
            const Place flipped = function_.add(Bank::vector, 2);
            for (int i = 0; i < 2; ++i) code_.vector_to(flipped.part(i), "v_xor_b32", {dword(s[0], i), dword(sign, i)});
            set(u, sum(true, Source::of(flipped), sign));
            return true;
        }
        default: return false;
    }
}

}  // namespace strata::codegen
