#include "strata/codegen/kernel/scalar_parameters.h"

#include <algorithm>
#include <functional>

#include "strata/core/support/hash.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr uint16_t kNoDevice = 0xffff;

DType parameter_type(DType type) {
    if (type.bits() >= 32) return type;
    return type.is_float() ? dtypes::float32 : dtypes::int32;
}

bool is_free(UOp user, size_t source) {
    const UOp u = user.src(source);
    return u.is_const() && can_be_parameter(u.dtype()) && no_faster_for_knowing(user.op(), source);
}

uint64_t type_number(DType type) { return static_cast<uint64_t>(type.scalar) << 8 | type.lanes; }

}  // namespace

bool can_be_parameter(DType type) { return type.scalar != Scalar::index && !type.is_bool() && type.lanes == 1; }

bool no_faster_for_knowing(Op user, size_t source) {
    switch (user) {
        case Op::store: return source == 1;
        case Op::bounded:
        case Op::pow: return false;
        case Op::idiv:
        case Op::mod:
        case Op::shl:
        case Op::shr: return source == 0;
        default: return info(user).computes();
    }
}

uint64_t parameter_bits(UOp constant) {
    const DType type = constant.dtype();
    return type.is_float() ? encode_scalar(parameter_type(type), const_value(constant))
                           : static_cast<uint64_t>(const_int(constant));
}

UOp number_parameter(int slot, DType type) { return cast(uop::variable(slot, parameter_type(type)), type); }

UOp number_tensor(int place, DType type) {
    UOp buffer = make(Op::buffer, type, {}, BufferArg{static_cast<uint64_t>(place), 1, kNoDevice});
    return make(Op::reshape, type, {buffer}, ShapeArg{});
}

bool is_number(UOp buffer) { return buffer.as<BufferArg>().device == kNoDevice; }

std::vector<int> take_number_tensors(UOp& sink, std::vector<UOp>& buffers) {
    std::vector<int> places, slots(buffers.size());
    const auto others = static_cast<int>(std::ranges::count_if(buffers, [](UOp buffer) { return !is_number(buffer); }));
    if (others == static_cast<int>(buffers.size())) return {};
    int next = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
        slots[i] = is_number(buffers[i]) ? others + static_cast<int>(places.size()) : next++;
        if (slots[i] >= others) places.push_back(static_cast<int>(buffers[i].as<BufferArg>().id));
    }
    const auto slot_of = [&](UOp param) { return slots[static_cast<size_t>(param.as<ParamArg>().slot)]; };
    sink = rebuild(sink, [&](UOp u, std::span<const UOp> sources) {
        if (u.is(Op::param)) return uop::buffer(slot_of(u), u.dtype(), u.as<ParamArg>().size);
        if (!u.is(Op::load) || slot_of(u.src(0).src(0)) < others) return u.with_src(sources);
        return number_parameter(slot_of(u.src(0).src(0)), u.dtype());
    });
    std::erase_if(buffers, is_number);
    return places;
}

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
            if (at == found.all.end()) at = found.all.insert(at, {u.src(i), parameter_bits(u.src(i))});
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
