#pragma once
#include <algorithm>

#include "convert_p.h"

// How bound functions take Strata's types from Python, and how their signatures (help(), the type stubs) write these
// types: by the names of strata/_types.pyi. A C++ function over these types is bound as it is. convert_p.h includes
// this: all files must see the same casters.

namespace strata::python {

template <size_t N>
struct Text {
    char data[N];
    constexpr Text(const char (&text)[N]) { std::copy_n(text, N, data); }
};

/// Any Python value; signatures write its type as the text.
template <Text type>
struct As : py::object {
    using py::object::object;
    As() = default;
    As(py::object value) : py::object(std::move(value)) {}
    static bool check_(py::handle value) { return static_cast<bool>(value); }
};

/// For functions whose docstring begins with their signature: pybind11 writes none for as long as this lives.
class OwnSignature {
  public:
    OwnSignature() { options_.disable_function_signatures(); }

  private:
    py::options options_;
};

}  // namespace strata::python

namespace pybind11::detail {

template <strata::python::Text type>
struct handle_type_name<strata::python::As<type>> {
    static constexpr auto name = const_name(type.data);
};

/// Integers come from what Python takes as an index, in range; nothing is truncated.
template <class T>
class integer_caster {
  public:
    PYBIND11_TYPE_CASTER(T, const_name("int"));
    bool load(handle source, bool) {
        object index = reinterpret_steal<object>(PyIndex_Check(source.ptr()) ? PyNumber_Index(source.ptr()) : nullptr);
        if (index) {
            if constexpr (std::is_signed_v<T>) {
                long long wide = PyLong_AsLongLong(index.ptr());
                value = static_cast<T>(wide);
                if (value == wide && !PyErr_Occurred()) return true;
            } else {
                unsigned long long wide = PyLong_AsUnsignedLongLong(index.ptr());
                value = static_cast<T>(wide);
                if (value == wide && !PyErr_Occurred()) return true;
            }
        }
        PyErr_Clear();
        return false;
    }
    static handle cast(T number, return_value_policy, handle) {
        return std::is_signed_v<T> ? PyLong_FromLongLong(static_cast<long long>(number))
                                   : PyLong_FromUnsignedLongLong(number);
    }
};
template <>
class type_caster<int> : public integer_caster<int> {};
template <>
class type_caster<int64_t> : public integer_caster<int64_t> {};
template <>
class type_caster<uint32_t> : public integer_caster<uint32_t> {};
template <>
class type_caster<uint64_t> : public integer_caster<uint64_t> {};

template <>
class type_caster<strata::Axes> {
  public:
    PYBIND11_TYPE_CASTER(strata::Axes, const_name("Axes"));
    bool load(handle source, bool) {
        value = strata::python::to_axes(source);
        return true;
    }
};

template <>
class type_caster<strata::Number> {
  public:
    PYBIND11_TYPE_CASTER(strata::Number, const_name("Scalar"));
    bool load(handle source, bool) {
        value = strata::python::to_number(source);
        return true;
    }
    static handle cast(const strata::Number& number, return_value_policy, handle) {
        return strata::python::to_python(number).release();
    }
};

/// strata::Shape
template <>
class type_caster<std::vector<int64_t>> {
  public:
    PYBIND11_TYPE_CASTER(strata::Shape, io_name("Shape", "tuple[int, ...]"));
    bool load(handle source, bool) {
        value = strata::python::to_shape(source);
        return true;
    }
    static handle cast(const strata::Shape& shape, return_value_policy, handle) {
        tuple out(shape.size());
        for (size_t i = 0; i < shape.size(); ++i) out[i] = shape[i];
        return out.release();
    }
};

/// A DType, or what names one.
template <>
class type_caster<strata::DType> : public type_caster_base<strata::DType> {
  public:
    static constexpr auto name = io_name("DTypeLike", "DType");
    bool load(handle source, bool) {
        if (type_caster_base::load(source, false)) return true;
        named_ = strata::python::to_dtype(source);
        value = &named_;
        return true;
    }

  private:
    strata::DType named_;
};

template <>
class type_caster<strata::Operand> {
  public:
    static constexpr auto name = const_name("Operand");
    template <class>
    using cast_op_type = const strata::Operand&;
    operator const strata::Operand&() { return holder_->get(); }
    bool load(handle source, bool) {
        holder_.emplace(source);
        return true;
    }

  private:
    std::optional<strata::python::OperandHolder> holder_;
};

}  // namespace pybind11::detail
