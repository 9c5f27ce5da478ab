// Elementwise operations of one value a lane: the rows of alu.def, and what differs by type.
#include <algorithm>

#include "strata/codegen/select/arithmetic/arithmetic.h"

namespace strata::codegen {

using namespace number_class;
namespace {

enum class Order : uint8_t { ab, ba };
struct AluRow {
    Op op;
    unsigned types;
    Order order;
    Mnemonic vector;
    std::optional<Mnemonic> scalar;  ///< none: only vector units have it
};
consteval std::optional<Mnemonic> scalar_form(const char* name) {
    return std::string_view(name) == "none" ? std::nullopt : std::optional(Mnemonic(name));
}
constexpr AluRow kAluRows[] = {
#define ALU(op, types, order, vector, scalar) {Op::op, types, Order::order, #vector, scalar_form(#scalar)},
#include "strata/codegen/select/arithmetic/alu.def"
};

const AluRow* find(Op op, NumberClass type) {
    static const auto index = [] {
        std::array<std::vector<const AluRow*>, kOpCount> out;
        for (const AluRow& row : kAluRows) out[static_cast<size_t>(row.op)].push_back(&row);
        return out;
    }();
    for (const AluRow* row : index[static_cast<size_t>(op)])
        if (row->types & type) return row;
    return nullptr;
}

bool is_wide(NumberClass type) { return type & (i64 | u64); }
bool compares(Op op) { return op == Op::cmplt || op == Op::cmpeq || op == Op::cmpne; }

}  // namespace

Arithmetic::Arithmetic(SelectionContext& context, Packing& packing)
    : SelectionPart(context),
      packing_(packing),
      conversions_(context),
      division_(context),
      wide_(context),
      sums_(context, packing) {}

bool Arithmetic::elementwise(UOp u) {
    if (division_.step(u)) return true;
    std::vector<Value> s;
    s.reserve(u.src().size());
    for (UOp source : u.src()) s.push_back(value(source));
    const NumberClass type = class_of(u.src(0).dtype());
    switch (u.op()) {
        case Op::cast: return conversions_.convert(u, s[0]);
        case Op::bitcast: set(u, conversions_.reinterpret(u, s[0])); return true;
        case Op::where: set(u, where(u, s)); return true;
        default: break;
    }
    if (type == truth) return of_truths(u, s);
    if (is_real(type)) {
        if (real(u, s)) return true;
    } else {
        for (size_t i = 0; i < s.size(); ++i) static_cast<Source&>(s[i]) = plain(s[i], u.src(i).dtype());
    }
    if (sums_.fused(u)) return true;
    if (u.is(Op::bounded)) {
        bounded(u, s);
        return true;
    }
    if (is_wide(type) && wide_.elementwise(u, s)) return true;
    if (u.is(Op::neg)) {
        const Value zero = Source::of_number(0);
        set(u, conversions_.narrowed(takes_scalars(s) ? Source::of(code_.scalar("s_sub_u32", {zero, s[0]}))
                                                      : Source::of(code_.vector("v_sub_nc_u32", {zero, s[0]})),
                                     u.dtype()));
        return true;
    }
    if (u.is(Op::popcount)) {
        set(u, takes_scalars(s) ? Source::of(code_.scalar("s_bcnt1_i32_b32", {s[0]}))
                                : Source::of(code_.vector("v_bcnt_u32_b32", {s[0], Source::of_number(0)})));
        return true;
    }
    if (!is_real(type) && (u.is(Op::abs) || u.is(Op::floor) || u.is(Op::ceil) || u.is(Op::trunc) || u.is(Op::rint))) {
        if (!u.is(Op::abs) || u.dtype().is_unsigned()) {
            set(u, s[0]);
            return true;
        }
        const Source negative = Source::of(code_.vector("v_sub_nc_u32", {Source::of_number(0), s[0]}));
        set(u, conversions_.narrowed(Source::of(code_.vector("v_max_i32", {s[0], negative})), u.dtype()));
        return true;
    }
    if (u.is(Op::mul) && type & (i32 | u32)) {
        set(u, conversions_.narrowed(product(u, s), u.dtype()));
        return true;
    }
    return by_row(u, s);
}

/// Operations on floats that are not a row's.
bool Arithmetic::real(UOp u, std::span<Value> s) {
    if (u.is(Op::neg) || u.is(Op::abs)) {
        Value out = s[0];
        if (out.number) out = Source::of(code_.number(*out.number, dwords_of(u.dtype())));
        out.neg = u.is(Op::neg) ? !out.neg : false;
        out.abs |= u.is(Op::abs);
        set(u, out);
        return true;
    }
    if (u.is(Op::max) || u.is(Op::min)) {
        set(u, float_extreme(u, s));
        return true;
    }
    if (class_of(u.dtype()) == f64 && u.is(Op::sub)) {
        if (s[1].number) s[1] = Source::of(code_.number(*s[1].number, 2));
        s[1].neg = !s[1].neg;
        set(u, Source::of(code_.vector("v_add_f64", {s[0], s[1]}, 2)));
        return true;
    }
    return false;
}

/// Scalar floats are instructions of some chips, without modifiers and with one literal.
bool Arithmetic::takes_scalar_floats(Mnemonic name, std::span<const Value> s) const {
    const auto is_number = [](const Value& v) { return v.number.has_value(); };
    return code_.has(name) && std::ranges::none_of(s, [](const Value& v) { return v.neg || v.abs; }) &&
           (s.size() == 1 || !std::ranges::all_of(s, is_number));
}

bool Arithmetic::by_row(UOp u, std::span<const Value> s) {
    const AluRow* row = find(u.op(), class_of(u.src(0).dtype()));
    if (!row) return false;
    const bool floats = is_real(class_of(u.src(0).dtype()));
    const bool is_scalar = row->scalar && takes_scalars(s) && (!floats || takes_scalar_floats(*row->scalar, s));
    if (compares(u.op())) {
        if (is_scalar) {
            code_.scalar_compare(*row->scalar, s[0], s[1]);
            set(u, Source::of(code_.scalar("s_cselect_b32", {Source::of_number(1), Source::of_number(0)})));
        } else {
            set(u, {Source::of(code_.compare(row->vector, s[0], s[1])), true});
        }
        return true;
    }
    const int dwords = dwords_of(u.dtype());
    Value out;
    if (is_scalar) {
        out = s.size() == 1 ? Source::of(code_.scalar(*row->scalar, {s[0]}, dwords))
                            : Source::of(code_.scalar(*row->scalar, {s[0], s[1]}, dwords));
    } else if (s.size() == 1) {
        out = Source::of(code_.vector(row->vector, {s[0]}, dwords));
    } else if (s.size() == 2) {
        const bool ba = row->order == Order::ba;
        // A shift of 64 bits takes its distance as 32.
        Source b = s[1];
        if (ba && is_wide(class_of(u.dtype())) && !b.number) b = dword(b, 0);
        out = Source::of(code_.vector(row->vector, {ba ? b : Source(s[0]), ba ? Source(s[0]) : b}, dwords));
    } else {
        out = Source::of(code_.vector(row->vector, {s[0], s[1], s[2]}, dwords));
    }
    const bool keeps_range = u.is(Op::bit_and) || u.is(Op::bit_or) || u.is(Op::bit_xor) || u.is(Op::shr) ||
                             u.is(Op::max) || u.is(Op::min) || (u.is(Op::bit_not) && !u.dtype().is_unsigned());
    const bool is_new = u.src(0).is(Op::add) || u.src(0).is(Op::where);  // what defines a register of its own
    if (u.is(Op::shr) && u.dtype() == dtypes::uint32 && u.src(1).is_const(16) && is_new) packing_.set_upper(out, s[0]);
    set(u, keeps_range ? out : conversions_.narrowed(out, u.dtype()));
    return true;
}

/// Products of 24 bits take a quarter of the time of v_mul_lo_u32's.
Value Arithmetic::product(UOp u, std::span<const Value> s) {
    const bool scalar = takes_scalars(s);
    for (size_t i = 0; i < 2; ++i)
        if (s[i].number && std::has_single_bit(static_cast<uint32_t>(*s[i].number))) {
            const auto by =
                Source::of_number(static_cast<uint64_t>(std::countr_zero(static_cast<uint32_t>(*s[i].number))));
            return scalar ? Source::of(code_.scalar("s_lshl_b32", {s[1 - i], by}))
                          : Source::of(code_.vector("v_lshlrev_b32", {by, s[1 - i]}));
        }
    if (scalar) return Source::of(code_.scalar("s_mul_i32", {s[0], s[1]}));
    if (const std::optional<Mnemonic> name = short_product(u, "v_mul_u32_u24", "v_mul_i32_i24"))
        return Source::of(code_.vector(*name, {s[0], s[1]}));
    return Source::of(code_.vector("v_mul_lo_u32", {s[0], s[1]}));
}

/// NaN where either is NaN (array API), which v_max and v_min give only on RDNA4.
Value Arithmetic::float_extreme(UOp u, std::span<const Value> s) {
    struct Names {
        Mnemonic max, min, maximum, minimum, unordered;
        uint64_t nan;
    };
    static constexpr Names kHalf{"v_max_f16", "v_min_f16", "v_maximum_f16", "v_minimum_f16", "v_cmp_u_f16", 0x7e00};
    static constexpr Names kFloat{"v_max_f32",     "v_min_f32",   "v_maximum_f32",
                                  "v_minimum_f32", "v_cmp_u_f32", 0x7fc00000};
    static constexpr Names kDouble{"v_max_f64",     "v_min_f64",   "v_maximum_f64",
                                   "v_minimum_f64", "v_cmp_u_f64", 0x7ff80000};
    const NumberClass type = class_of(u.dtype());
    const Names& names = type == f16 ? kHalf : type == f32 ? kFloat : kDouble;
    const bool most = u.is(Op::max);
    const int dwords = dwords_of(u.dtype());
    if (const Mnemonic name = most ? names.maximum : names.minimum; code_.has(name))
        return Source::of(code_.vector(name, {s[0], s[1]}, dwords));
    const Place extreme = code_.vector(most ? names.max : names.min, {s[0], s[1]}, dwords);
    const Source unordered = Source::of(code_.compare(names.unordered, s[0], s[1]));
    const Place out = function_.add(Bank::vector, dwords);
    if (dwords == 2) code_.copy(out.part(0), Source::of(extreme.part(0)));
    code_.vector_to(out.part(dwords - 1), "v_cndmask_b32",
                    {Source::of(extreme.part(dwords - 1)), Source::of_number(names.nan), unordered});
    return Source::of(out);
}

Value Arithmetic::where(UOp u, std::span<const Value> s) {
    if (class_of(u.dtype()) == truth) {
        static constexpr Mnemonic kNames[2][3] = {{"s_and_b32", "s_and_not1_b32", "s_or_b32"},
                                                  {"s_and_b64", "s_and_not1_b64", "s_or_b64"}};
        const int dwords = function_.mask_dwords();
        const auto& [both, but, either] = kNames[dwords - 1];
        const Source chosen = mask_of(s[0]), a = mask_of(s[1]), b = mask_of(s[2]);
        const Source yes = Source::of(code_.scalar(both, {a, chosen}, dwords));
        const Source no = Source::of(code_.scalar(but, {b, chosen}, dwords));
        return {Source::of(code_.scalar(either, {yes, no}, dwords)), true};
    }
    const Source a = plain(s[1], u.dtype()), b = plain(s[2], u.dtype());
    const int dwords = dwords_of(u.dtype());
    if (!s[0].mask && code_.is_scalar(a) && code_.is_scalar(b)) {
        const Place out = function_.add(Bank::scalar, dwords);
        code_.scalar_compare("s_cmp_lg_u32", s[0], Source::of_number(0));
        for (int i = 0; i < dwords; ++i) code_.scalar_to(out.part(i), "s_cselect_b32", {dword(a, i), dword(b, i)});
        return Source::of(out);
    }
    const Source mask = mask_of(s[0]);
    const Place out = function_.add(Bank::vector, dwords);
    for (int i = 0; i < dwords; ++i) {
        if (dword(a, i) == dword(b, i))
            code_.copy(out.part(i), dword(a, i));
        else
            code_.vector_to(out.part(i), "v_cndmask_b32", {dword(b, i), dword(a, i), mask});
    }
    return Source::of(out);
}

/// Logic of truths: sums are `or`, products `and` (core/uop/ops.def, of booleans).
bool Arithmetic::of_truths(UOp u, std::span<const Value> s) {
    static constexpr Mnemonic kNames[2][3] = {{"s_or_b32", "s_and_b32", "s_xor_b32"},
                                              {"s_or_b64", "s_and_b64", "s_xor_b64"}};
    const bool scalar = takes_scalars(s);
    const int dwords = scalar ? 1 : function_.mask_dwords();
    const auto& [either, both, differ] = kNames[dwords - 1];
    auto operand = [&](size_t i) { return scalar ? Source(s[i]) : mask_of(s[i]); };
    auto done = [&](Place place) { return set(u, {Source::of(place), !scalar}), true; };
    auto negated = [&](const Source& x) {
        return code_.scalar(differ, {x, scalar ? Source::of_number(1) : all_lanes()}, dwords);
    };
    auto binary = [&](Mnemonic name) { return done(code_.scalar(name, {operand(0), operand(1)}, dwords)); };
    switch (u.op()) {
        case Op::add:
        case Op::max:
        case Op::bit_or: return binary(either);
        case Op::mul:
        case Op::min:
        case Op::idiv:
        case Op::bit_and: return binary(both);
        case Op::sub:
        case Op::bit_xor:
        case Op::cmpne: return binary(differ);
        case Op::cmpeq: return done(negated(Source::of(code_.scalar(differ, {operand(0), operand(1)}, dwords))));
        case Op::cmplt: return done(code_.scalar(both, {Source::of(negated(operand(0))), operand(1)}, dwords));
        case Op::pow: return done(code_.scalar(either, {operand(0), Source::of(negated(operand(1)))}, dwords));
        case Op::logical_not:
        case Op::bit_not: return done(negated(operand(0)));
        case Op::mod: set(u, Source::of_number(0)); return true;
        case Op::neg:
        case Op::abs:
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::rint: set(u, s[0]); return true;
        default: return false;
    }
}

}  // namespace strata::codegen
