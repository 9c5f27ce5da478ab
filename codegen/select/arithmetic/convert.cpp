// Conversions: the rows of convert.def, chains of them, and what integers of other widths need.
#include "strata/codegen/select/arithmetic/convert.h"

namespace strata::codegen {

using namespace number_class;
namespace {

struct ConvertRow {
    NumberClass from, to;
    Mnemonic name;
};
constexpr ConvertRow kConversions[] = {
#define CONVERT(from, to, name) {from, to, #name},
#include "strata/codegen/select/arithmetic/convert.def"
};

std::optional<Mnemonic> find(NumberClass from, NumberClass to) {
    for (const ConvertRow& row : kConversions)
        if (row.from == from && row.to == to) return row.name;
    return {};
}

/// 8-bit floats to and from float32, where decomposition left them: OCP's formats on RDNA4, FNUZ on CDNA3.
std::optional<Mnemonic> narrow_float(DType from, DType to) {
    const bool packs = from == dtypes::float32;
    if (!packs && to != dtypes::float32) return {};
    switch ((packs ? to : from).scalar) {
        case Scalar::fp8e4m3:
        case Scalar::fp8e4m3fnuz: return pick(packs, "v_cvt_pk_fp8_f32", "v_cvt_f32_fp8");
        case Scalar::fp8e5m2:
        case Scalar::fp8e5m2fnuz: return pick(packs, "v_cvt_pk_bf8_f32", "v_cvt_f32_bf8");
        default: return {};
    }
}

}  // namespace

/// nullopt-like: an unknown Value where no chain of rows leads there.
Value Conversions::converted(const Value& x, NumberClass from, NumberClass to) {
    const int dwords = to & (f64 | i64 | u64) ? 2 : 1;
    if (const std::optional<Mnemonic> name = find(from, to)) return Source::of(code_.vector(*name, {x}, dwords));
    // Every f16 is an f32, and every integer of 11 bits an f16 on the way through f32. The rest rounds twice and is
    // taken apart before selection.
    if (from == f16 && to != f16) return converted(converted(x, f16, f32), f32, to);
    if (to == f16 && from & (i32 | u32)) return converted(converted(x, from, f32), f32, f16);
    return {};
}

/// 0 and 1 of a type.
bool Conversions::convert_truth(UOp u, const Value& x) {
    const DType to = u.dtype();
    const NumberClass wanted = class_of(to);
    if (wanted == truth) return set(u, x), true;
    const uint64_t one = to.is_float() ? encode_scalar(to, 1) : 1;
    const int dwords = dwords_of(to);
    if (!x.mask && (wanted & (i32 | u32))) return set(u, x), true;
    const Source mask = mask_of(x);
    const Place out = function_.add(Bank::vector, dwords);
    for (int i = 0; i < dwords; ++i) {
        const auto part = static_cast<uint32_t>(one >> 32 * i);
        if (part)
            code_.vector_to(out.part(i), "v_cndmask_b32", {Source::of_number(0), Source::of_number(part), mask});
        else
            code_.copy(out.part(i), Source::of_number(0));
    }
    set(u, Source::of(out));
    return true;
}

/// True if a number differs from 0.
bool Conversions::convert_to_truth(UOp u, const Value& x) {
    const NumberClass source = class_of(u.src(0).dtype());
    struct Row {
        NumberClass type;
        Mnemonic name;
    };
    static constexpr Row kDiffers[] = {{f16, "v_cmp_neq_f16"}, {f32, "v_cmp_neq_f32"}, {f64, "v_cmp_neq_f64"},
                                       {i32, "v_cmp_ne_u32"},  {u32, "v_cmp_ne_u32"},  {i64, "v_cmp_ne_u64"},
                                       {u64, "v_cmp_ne_u64"}};
    for (auto [type, name] : kDiffers)
        if (type == source) {
            set(u, {Source::of(code_.compare(name, x, Source::of_number(0))), true});
            return true;
        }
    return false;
}

bool Conversions::convert(UOp u, const Value& x) {
    const DType to = u.dtype(), from = u.src(0).dtype();
    const NumberClass source = class_of(from), wanted = class_of(to);
    if (to.lanes != 1) return false;
    if (source == truth) return convert_truth(u, x);
    if (wanted == truth) return convert_to_truth(u, x);
    if (const std::optional<Mnemonic> name = narrow_float(from, to)) {
        // v_cvt_pk_*_f32 makes two, v_cvt_f32_* takes the lowest byte.
        const bool packs = source == f32;
        set(u, Source::of(packs ? code_.vector(*name, {x, Source::of_number(0)}) : code_.vector(*name, {x})));
        return true;
    }
    if (is_real(source) || is_real(wanted)) {
        if (source == wanted) return set(u, x), true;
        if (from.is_integer() && from.bits() < 32) {
            Value out = converted(x, i32, wanted);  // extended already: a signed one fits
            return out.known() && (set(u, out), true);
        }
        if (to.is_integer() && to.bits() < 32) return false;
        Value out = converted(x, source, wanted);
        return out.known() && (set(u, out), true);
    }
    if (source == bits16 || wanted == bits16) return false;
    // Integers among each other.
    if (to.bits() == 64 && from.bits() < 64) {
        const bool scalar = code_.is_scalar(x);
        const Place out = function_.add(scalar ? Bank::scalar : Bank::vector, 2);
        code_.copy(out.part(0), x);
        if (from.is_unsigned())
            code_.copy(out.part(1), Source::of_number(0));
        else if (scalar)
            code_.scalar_to(out.part(1), "s_ashr_i32", {x, Source::of_number(31)});
        else
            code_.vector_to(out.part(1), "v_ashrrev_i32", {Source::of_number(31), x});
        set(u, Source::of(out));
        return true;
    }
    Value low = x;
    if (from.bits() == 64 && to.bits() < 64) static_cast<Source&>(low) = dword(x, 0);
    const UOp shifted = u.src(0);
    const bool is_upper = shifted.is(Op::shr) && from == dtypes::uint32 && to.is_unsigned() &&
                          shifted.src(1).is_const() && const_int(shifted.src(1)) >= 32 - to.bits();
    const bool fits = is_upper || to.bits() >= 32 || (from.bits() < to.bits() && from.is_unsigned()) ||
                      (from.bits() <= to.bits() && from.is_unsigned() == to.is_unsigned());
    set(u, fits ? low : narrowed(low, to));
    return true;
}

/// The same bits. Integers of 16 bits are extended, other types of 16 bits need not be.
Value Conversions::reinterpret(UOp u, const Value& x) {
    const Source same = plain(x, u.src(0).dtype());
    Value out = same;
    if (same.number && u.dtype().is_integer()) {
        out.number = static_cast<uint64_t>(wrap_to(u.dtype(), static_cast<int64_t>(*same.number)));
        return out;
    }
    return narrowed(out, u.dtype());
}

/// Extends the low bits of a result as its type says.
Value Conversions::narrowed(Value value, DType type) {
    const auto bits = static_cast<uint64_t>(type.bits());
    if (!type.is_integer() || bits >= 32) return value;
    const bool scalar = code_.is_scalar(value);
    if (type.is_unsigned()) {
        const Source mask = Source::of_number((uint64_t{1} << bits) - 1);
        return scalar ? Source::of(code_.scalar("s_and_b32", {value, mask}))
                      : Source::of(code_.vector("v_and_b32", {mask, value}));
    }
    if (scalar) return Source::of(code_.scalar(pick(bits == 8, "s_sext_i32_i8", "s_sext_i32_i16"), {value}));
    return Source::of(code_.vector("v_bfe_i32", {value, Source::of_number(0), Source::of_number(bits)}));
}

}  // namespace strata::codegen
