// tensor_value: elements as numbers and as bytes.
#include "strata/codegen/interpret/tensor_value.h"

#include <cstring>

#include "strata/codegen/interpret/memory_p.h"

namespace strata::codegen {
namespace {

template <class Stored, class Number>
void read_all(std::span<const uint8_t> bytes, std::vector<Number>& to) {
    for (size_t k = 0; k < to.size(); ++k) {
        Stored element;
        std::memcpy(&element, bytes.data() + k * sizeof element, sizeof element);
        to[k] = static_cast<Number>(element);
    }
}

template <class Stored, class Number>
void write_all(const std::vector<Number>& from, std::span<uint8_t> bytes) {
    for (size_t k = 0; k < from.size(); ++k) {
        const auto element = static_cast<Stored>(from[k]);
        std::memcpy(bytes.data() + k * sizeof element, &element, sizeof element);
    }
}

}  // namespace

TensorValue::TensorValue(DType type, Shape shape) : type(type), shape(std::move(shape)) {
    size_t count = 1;
    for (const int64_t size : this->shape) count *= static_cast<size_t>(size);
    if (type.is_float())
        f.resize(count);
    else
        i.resize(count);
}

TensorValue decode(DType type, Shape shape, std::span<const uint8_t> bytes) {
    TensorValue out(type, std::move(shape));
    const auto width = static_cast<size_t>(type.bytes());
    STRATA_CHECK(bytes.size() >= out.elements() * width, "{} bytes hold no {} elements of {}", bytes.size(),
                 out.elements(), type.name());
    if (type == dtypes::float32) return read_all<float>(bytes, out.f), out;
    if (type == dtypes::float64) return read_all<double>(bytes, out.f), out;
    if (type == dtypes::int32) return read_all<int32_t>(bytes, out.i), out;
    if (type == dtypes::int64) return read_all<int64_t>(bytes, out.i), out;
    for (size_t k = 0; k < out.elements(); ++k) {
        const ConstArg element = decode(type, bytes.data() + k * width);
        if (type.is_float())
            out.f[k] = element.f;
        else
            out.i[k] = element.i;
    }
    return out;
}

void encode(const TensorValue& value, std::span<uint8_t> bytes) {
    const auto width = static_cast<size_t>(value.type.bytes());
    STRATA_CHECK(bytes.size() >= value.elements() * width, "{} bytes have no room for {} elements of {}", bytes.size(),
                 value.elements(), value.type.name());
    if (value.type == dtypes::float32) return write_all<float>(value.f, bytes);
    if (value.type == dtypes::float64) return write_all<double>(value.f, bytes);
    if (value.type == dtypes::int32) return write_all<int32_t>(value.i, bytes);
    if (value.type == dtypes::int64) return write_all<int64_t>(value.i, bytes);
    for (size_t k = 0; k < value.elements(); ++k) {
        const ConstArg element = value.type.is_float() ? ConstArg{0, value.f[k]} : ConstArg{value.i[k], 0};
        encode(value.type, element, bytes.data() + k * width);
    }
}

}  // namespace strata::codegen
