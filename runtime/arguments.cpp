// The arguments of a launch -> the bytes that the kernel reads.
#include "strata/runtime/arguments.h"

#include <cmath>
#include <cstring>

namespace strata::runtime {
namespace {

using executable::Parameter;
using Number = Argument::Number;

std::string describe(const Parameter& p) {
    std::string text = p.type.empty() ? std::string("a value") : p.type;
    if (!p.name.empty()) text += " " + p.name;
    return text;
}

std::string text_of(const Number& n) {
    if (n.kind == Kind::Float) return fmt::format("{}", n.f);
    if (n.kind == Kind::Bool) return n.i ? "true" : "false";
    return n.kind == Kind::UInt ? fmt::format("{}", static_cast<uint64_t>(n.i)) : fmt::format("{}", n.i);
}

bool integer_fits(const Number& n, DType type) {
    if (n.kind == Kind::UInt && n.i < 0) return type == dtypes::uint64;  // above INT64_MAX
    if (type == dtypes::uint64) return n.i >= 0;
    return n.i >= int_min(type) && n.i <= int_max(type);
}

/// The type of a parameter that nobody declares: the number's own kind, in the parameter's size.
std::optional<DType> type_by_size(const Number& n, uint32_t size) {
    if (n.exact) return n.exact->bytes() == static_cast<int>(size) ? n.exact : std::nullopt;
    if (n.kind == Kind::Float) {
        if (size == 2) return dtypes::float16;
        if (size == 4) return dtypes::float32;
        return size == 8 ? std::optional(dtypes::float64) : std::nullopt;
    }
    const bool is_signed = n.kind != Kind::UInt && n.i < 0;
    switch (size) {
        case 1: return is_signed ? dtypes::int8 : dtypes::uint8;
        case 2: return is_signed ? dtypes::int16 : dtypes::uint16;
        case 4: return is_signed ? dtypes::int32 : dtypes::uint32;
        case 8: return is_signed ? dtypes::int64 : dtypes::uint64;
        default: return {};
    }
}

}  // namespace

bool points_to(const executable::Parameter& pointer, DType type) {
    if (!pointer.pointee || *pointer.pointee == type) return true;
    const DType pointee = *pointer.pointee;
    if (pointee.is_float()) return false;
    if (pointee.bytes() == 1 && !pointee.is_bool()) return true;
    return pointee.bytes() == type.bytes() && (!type.is_float() || pointee.is_unsigned() || pointee.bytes() == 2);
}

Result<uint64_t> bits_of_number(const Number& n, DType type) {
    auto refuse = [&](std::string_view why) {
        return make_error(ErrorKind::Launch, "the number {} {} {}", text_of(n), why, type.name());
    };
    if (type.is_float()) {
        double value = n.kind == Kind::Float  ? n.f
                       : n.kind == Kind::UInt ? static_cast<double>(static_cast<uint64_t>(n.i))
                                              : static_cast<double>(n.i);
        uint64_t bits = encode_scalar(type, value);
        if (std::isfinite(value) && !std::isfinite(decode_scalar(type, bits))) return refuse("is too large for");
        return bits;
    }
    if (n.kind == Kind::Float) return refuse("is no integer, and the parameter is");
    if (type.is_bool() ? n.i != 0 && n.i != 1 : !integer_fits(n, type)) return refuse("does not fit");
    return static_cast<uint64_t>(n.i);
}

namespace {

class Packer {
  public:
    explicit Packer(const executable::Code& kernel) : kernel_(kernel) {}

    /// A parameter that takes a tensor's address: the place for it.
    Result<bool> add(size_t number, const Parameter& p, const Argument& argument, isa::Bytes& to) {
        auto fail = [&](std::string what) -> Error {
            return make_error(ErrorKind::Launch, "kernel '{}', parameter {} ({}, {} bytes): {}", kernel_.entry, number,
                              describe(p), p.size, what);
        };
        if (p.kind == Parameter::Kind::other)
            return fail(fmt::format("a parameter of kind {} is not supported", p.type));
        const bool pointer = p.kind == Parameter::Kind::pointer;
        if (std::holds_alternative<Argument::Tensor>(argument.value)) {
            if (!pointer) return fail("it is passed by value; give a number (tensor.item()) or bytes, not a tensor");
            return true;
        }
        const auto* number_given = std::get_if<Number>(&argument.value);
        if (const auto* address = std::get_if<Argument::Address>(&argument.value)) {
            if (!pointer || p.size != sizeof address->address)
                return fail("it is passed by value, and an address was given");
            std::memcpy(to.data() + p.offset, &address->address, p.size);
            return false;
        }
        if (pointer) {
            const bool zero = number_given && number_given->kind != Kind::Float && number_given->i == 0;
            if (!zero && !std::holds_alternative<Argument::Null>(argument.value))
                return fail(fmt::format("a pointer takes a tensor, or None for no memory, not {}",
                                        number_given ? "the number " + text_of(*number_given) : "bytes"));
            return false;
        }
        if (std::holds_alternative<Argument::Null>(argument.value)) return fail("only a pointer can be None");
        if (number_given) {
            Result<uint64_t> bits = value_bits(p, *number_given);
            if (!bits) return fail(bits.error().message);
            std::memcpy(to.data() + p.offset, &*bits, p.size);
            return false;
        }
        const auto& bytes = std::get<isa::Bytes>(argument.value);
        if (bytes.size() != p.size) return fail(fmt::format("{} bytes were given", bytes.size()));
        std::memcpy(to.data() + p.offset, bytes.data(), bytes.size());
        return false;
    }

  private:
    static Result<uint64_t> value_bits(const Parameter& p, const Number& n) {
        if (p.kind == Parameter::Kind::number) return bits_of_number(n, p.dtype);
        if (!p.may_be_number)
            return make_error(ErrorKind::Launch,
                              "it is a struct; give its bytes, a ctypes structure or a NumPy record");
        std::optional<DType> type = type_by_size(n, p.size);
        if (!type)
            return make_error(ErrorKind::Launch, "{} {} does not have its size",
                              n.exact ? n.exact->name() : "the number", text_of(n));
        return bits_of_number(n, *type);
    }

    const executable::Code& kernel_;
};

}  // namespace

Result<isa::Bytes> bytes_of_number(const Number& n, size_t size) {
    std::optional<DType> type = type_by_size(n, static_cast<uint32_t>(std::min<size_t>(size, 16)));
    if (!type) return make_error(ErrorKind::Launch, "the number {} does not have a size of {} bytes", text_of(n), size);
    STRATA_TRY(uint64_t bits, bits_of_number(n, *type));
    isa::Bytes bytes(size);
    std::memcpy(bytes.data(), &bits, size);
    return bytes;
}

namespace {

/// Parameters of a kernel whose metadata lists none: what was given, one after the other as C lays it out.
Result<std::vector<Parameter>> as_given(const executable::Code& kernel, std::span<const Argument> arguments) {
    std::vector<Parameter> parameters;
    uint32_t end = 0;
    for (const Argument& argument : arguments) {
        Parameter p{.kind = Parameter::Kind::pointer, .size = 8};
        if (const auto* n = std::get_if<Number>(&argument.value)) {
            if (!n->exact)
                return make_error(ErrorKind::Launch,
                                  "the metadata of kernel '{}' does not list its parameters: give the number {} with a "
                                  "type, such as numpy.int32({})",
                                  kernel.entry, text_of(*n), text_of(*n));
            p = {.kind = Parameter::Kind::number, .size = static_cast<uint32_t>(n->exact->bytes()), .dtype = *n->exact};
        } else if (const auto* bytes = std::get_if<isa::Bytes>(&argument.value)) {
            p = {.size = static_cast<uint32_t>(bytes->size())};
        }
        const uint32_t align = p.kind == Parameter::Kind::opaque ? 4 : p.size;
        p.offset = (end + align - 1) / align * align;
        end = p.offset + p.size;
        parameters.push_back(p);
    }
    return parameters;
}

std::string list(std::span<const Parameter> parameters) {
    std::string text;
    for (const Parameter& p : parameters) text += (text.empty() ? "" : ", ") + describe(p);
    return text;
}

}  // namespace

Result<PackedArguments> PackedArguments::pack(const executable::Code& kernel, std::span<const Argument> arguments) {
    std::vector<Parameter> given;
    std::span<const Parameter> parameters = kernel.parameters;
    const isa::KernelInfo& info = kernel.info();
    if (info.args.empty() && info.kernarg_size > 0) {
        STRATA_TRY(given, as_given(kernel, arguments));
        parameters = given;
    }
    if (parameters.size() != arguments.size())
        return make_error(ErrorKind::Launch,
                          "kernel '{}' takes {} parameters{}, {} arguments were given; give one a parameter, in the "
                          "kernel's order",
                          kernel.entry, parameters.size(), parameters.empty() ? "" : " (" + list(parameters) + ")",
                          arguments.size());
    PackedArguments out;
    uint32_t size = 0;
    for (const Parameter& p : parameters) size = std::max(size, p.offset + p.size);
    out.bytes_.resize(size);
    Packer packer(kernel);
    for (size_t i = 0; i < arguments.size(); ++i) {
        STRATA_TRY(bool address, packer.add(i, parameters[i], arguments[i], out.bytes_));
        if (!address) continue;
        out.places_.push_back(parameters[i].offset);
        out.tensor_parameters_.push_back(i);
    }
    return out;
}

std::span<const uint8_t> PackedArguments::bytes(std::span<const providers::DevicePtr> addresses) {
    STRATA_CHECK(addresses.size() == places_.size(), "{} addresses for {} tensors", addresses.size(), places_.size());
    for (size_t i = 0; i < places_.size(); ++i)
        std::memcpy(bytes_.data() + places_[i], &addresses[i], sizeof addresses[i]);
    return bytes_;
}

}  // namespace strata::runtime
