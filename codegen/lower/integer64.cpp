// 64-bit integers in pairs of registers.
#include "strata/codegen/lower/select_p.h"

namespace strata::codegen {

Value Selector::wide_sum(bool subtract, const Value& a, const Value& b) {
    const Value both[] = {a, b};
    if (takes_scalars(both)) {
        const Place out = function_.add(Bank::scalar, 2);
        code_.scalar_to(out.part(0), subtract ? "s_sub_u32" : "s_add_u32", {dword(a, 0), dword(b, 0)});
        code_.scalar_to(out.part(1), subtract ? "s_subb_u32" : "s_addc_u32", {dword(a, 1), dword(b, 1)});
        return Source::of(out);
    }
    if (!subtract && code_.has("v_lshl_add_u64"))
        return Source::of(code_.vector("v_lshl_add_u64", {a, Source::of_number(0), b}, 2));
    const Place out = function_.add(Bank::vector, 2);
    const Place carry =
        code_.carrying_to(out.part(0), subtract ? "v_sub_co_u32" : "v_add_co_u32", {dword(a, 0), dword(b, 0)});
    code_.carrying_to(out.part(1), subtract ? "v_sub_co_ci_u32" : "v_add_co_ci_u32",
                      {dword(a, 1), dword(b, 1), Source::of(carry)});
    return Source::of(out);
}

/// Low 64 bits: a.low * b.low in full, and the low halves of the cross products on top.
Value Selector::wide_product(const Value& a, const Value& b) {
    const Value both[] = {a, b};
    if (takes_scalars(both)) {
        if (code_.has("s_mul_u64")) return Source::of(code_.scalar("s_mul_u64", {a, b}, 2));
        const Place out = function_.add(Bank::scalar, 2);
        const Source cross = Source::of(code_.scalar("s_mul_i32", {dword(a, 1), dword(b, 0)}));
        const Source other = Source::of(code_.scalar("s_mul_i32", {dword(a, 0), dword(b, 1)}));
        const Source high = Source::of(code_.scalar("s_mul_hi_u32", {dword(a, 0), dword(b, 0)}));
        code_.scalar_to(out.part(0), "s_mul_i32", {dword(a, 0), dword(b, 0)});
        const Source some = Source::of(code_.scalar("s_add_u32", {high, cross}));
        code_.scalar_to(out.part(1), "s_add_u32", {some, other});
        return Source::of(out);
    }
    const Code::Carried full = code_.carrying("v_mad_u64_u32", {dword(a, 0), dword(b, 0), Source::of_number(0)}, 2);
    const Source cross = Source::of(code_.vector("v_mul_lo_u32", {dword(a, 1), dword(b, 0)}));
    const Source other = Source::of(code_.vector("v_mul_lo_u32", {dword(a, 0), dword(b, 1)}));
    const Place out = function_.add(Bank::vector, 2);
    code_.copy(out.part(0), Source::of(full.sum.part(0)));
    code_.vector_to(out.part(1), "v_add3_u32", {Source::of(full.sum.part(1)), cross, other});
    return Source::of(out);
}

Value Selector::wide_extreme(UOp u, const Value& a, const Value& b) {
    const char* less = u.dtype().is_unsigned() ? "v_cmp_lt_u64" : "v_cmp_lt_i64";
    const Source mask = Source::of(code_.compare(less, a, b));
    const bool most = u.is(Op::max);
    const Place out = function_.add(Bank::vector, 2);
    for (int i = 0; i < 2; ++i) {
        const Source x = dword(most ? a : b, i), y = dword(most ? b : a, i);
        code_.vector_to(out.part(i), "v_cndmask_b32", {x, y, mask});
    }
    return Source::of(out);
}

bool Selector::wide_integer(UOp u, std::span<const Value> s) {
    auto by_halves = [&](const char* vector, const char* scalar) {
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
        case Op::add: set(u, wide_sum(false, s[0], s[1])); return true;
        case Op::sub: set(u, wide_sum(true, s[0], s[1])); return true;
        case Op::neg: set(u, wide_sum(true, zero, s[0])); return true;
        case Op::mul: set(u, wide_product(s[0], s[1])); return true;
        case Op::max:
        case Op::min: set(u, wide_extreme(u, s[0], s[1])); return true;
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
            set(u, wide_sum(true, Source::of(flipped), sign));
            return true;
        }
        default: return false;
    }
}

}  // namespace strata::codegen
