#include "strata/codegen/kernel/numbers.h"

#include <algorithm>

#include "strata/core/support/hash.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

DType parameter_type(DType type) {
    if (type.bits() >= 32) return type;
    return type.is_float() ? dtypes::float32 : dtypes::int32;
}

/// Divisors and counts of shifts are worth knowing.
bool is_free(UOp user, size_t source) {
    const UOp u = user.src(source);
    if (!u.is_const() || u.dtype().scalar == Scalar::index || u.dtype().is_bool() || u.dtype().lanes != 1) return false;
    switch (user.op()) {
        case Op::store: return source == 1;
        case Op::bounded:
        case Op::pow: return false;
        case Op::idiv:
        case Op::mod:
        case Op::shl:
        case Op::shr: return source == 0;
        default: return info(user.op()).computes();
    }
}

uint64_t type_number(DType type) { return static_cast<uint64_t>(type.scalar) << 8 | type.lanes; }

uint64_t bits_of(UOp constant) {
    const DType type = constant.dtype();
    return type.is_float() ? encode_scalar(parameter_type(type), const_value(constant))
                           : static_cast<uint64_t>(const_int(constant));
}

}  // namespace

UOp number_parameter(int slot, DType type) { return cast(uop::variable(slot, parameter_type(type)), type); }

FreeNumbers free_numbers(UOp sink) {
    FreeNumbers found;
    UOpMap<uint64_t> forms;
    for (UOp u : toposort(sink)) {
        uint64_t form = hash_mix(hash_mix(hash(u.arg()), static_cast<uint64_t>(u.op())), type_number(u.dtype()));
        for (size_t i = 0; i < u.src().size(); ++i) {
            if (!is_free(u, i)) {
                form = hash_mix(form, forms.at(u.src(i)));
                continue;
            }
            auto at = std::ranges::find(found.all, u.src(i), &FreeNumber::constant);
            if (at == found.all.end()) at = found.all.insert(at, {u.src(i), bits_of(u.src(i))});
            form =
                hash_mix(hash_mix(form, static_cast<uint64_t>(at - found.all.begin())), type_number(u.src(i).dtype()));
        }
        forms[u] = form;
    }
    found.form = forms.at(sink);
    return found;
}

UOp with_parameters(UOp sink, std::span<const FreeNumber> numbers, int first_slot) {
    UOpMap<UOp> parameters;
    for (const FreeNumber& number : numbers)
        parameters[number.constant] = number_parameter(first_slot++, number.constant.dtype());
    return rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        for (size_t i = 0; i < sources.size(); ++i)
            if (const auto found = parameters.find(u.src(i)); found != parameters.end() && is_free(u, i))
                sources[i] = found->second;
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
