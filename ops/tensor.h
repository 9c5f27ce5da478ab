#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/ops/number.h"

namespace strata {

namespace runtime {
class Buffer;
class Device;
}  // namespace runtime

namespace ops {
struct Leaf;
struct Parts;

/// While one lives this thread makes tensors without a history: no gradient goes past them. `false`: with it again.
class NoGrad {
  public:
    explicit NoGrad(bool without = true) : previous_(exchange(without)) {}
    ~NoGrad() { now_ = previous_; }
    NoGrad(const NoGrad&) = delete;
    static bool now() { return now_; }
    static bool exchange(bool without) { return std::exchange(now_, without); }  ///< gives what it was before

  private:
    static constinit thread_local bool now_;
    bool previous_;
};
}  // namespace ops

class Operand;
class Tensor;
struct Index;

/// Axes of a reduction: one, several (negative ones count from the end), or all.
struct Axes {
    std::optional<std::vector<int>> list;  ///< none = all axes
    Axes() = default;
    Axes(std::nullopt_t) {}
    Axes(int axis) : list(std::in_place, 1, axis) {}
    Axes(std::initializer_list<int> axes) : list(axes) {}
    Axes(std::vector<int> axes) : list(std::move(axes)) {}
};

using OptionalAxis = std::optional<int>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;  ///< a pair an axis: (before, after) or (begin, end)
using OptionalDType = std::optional<DType>;
using TensorPair = std::pair<Tensor, Tensor>;

/// A lazy n-dimensional array. Operations build a graph and compute nothing; realize, item, to_host and host_view
/// compute. A value type: copies share the graph. Shapes are in elements, row-major. Wrong arguments throw an Exception
/// of kind Shape (both shapes are named), DType (both types are named), Device or Usage; the message starts with
/// "[operation]".
///
/// A complex tensor is two real ones, its parts. Operations with a complex form (elementwise functions by
/// ops/math/complex.def, movement, indexing, sums, products) work on both. The rest is a DType error. Its grad is d/d
/// real + i d/d imag of a real loss, the direction in which the loss grows fastest.
///
/// Types of results follow the Python array API 2024.12. An integer tensor with a floating one gives the floating type,
/// and a Number takes the type of the tensor it meets. Shapes of elementwise operands broadcast.
class Tensor {
  public:
    Tensor() = default;
    /// Over a tensor-level node; `device` = where its buffers live, nullptr = not placed: it goes where its partners
    /// are.
    explicit Tensor(UOp node, const runtime::Device* device = nullptr)
        : root_(node), device_(device), no_grad_(ops::NoGrad::now()) {}
    /// The same value everywhere: `scalar` is a node of shape (). Takes no memory and broadcasts for nothing.
    static Tensor uniform(UOp scalar, Shape shape, const runtime::Device* device = nullptr);

    /// A complex tensor of two real ones of one shape and type, float32 or float64.
    static Tensor of_parts(const Tensor& real, const Tensor& imag);

    explicit operator bool() const { return parts_ || root_.get(); }
    const Shape& shape() const {
        if (parts_) return parts_shape();
        return uniform_ ? uniform_shape_ : root_.get().shape();
    }
    DType dtype() const { return parts_ ? parts_dtype() : root_.get().dtype(); }
    bool is_complex() const { return parts_ != nullptr; }
    int ndim() const { return static_cast<int>(shape().size()); }
    int64_t size(int axis) const;
    int64_t numel() const;
    int64_t nbytes() const;
    UOp uop() const;     ///< the node, with the tensor's shape; DType error for complex tensors
    UOp value() const {  ///< the node, with shape () when uniform; DType error for complex tensors
        if (parts_) say_that_parts_are_two();
        return ops::NoGrad::now() && !no_grad_ ? cut() : root_.get();
    }
    bool is_uniform() const { return uniform_; }
    const runtime::Device* placement() const { return device_; }

    // Creation, types, movement, indexing and reductions: a row each in methods.def, which says what they do.
#define CREATION(name, parameters, meaning) static Tensor name parameters;
#define METHOD(result, name, parameters, meaning) result name parameters const;
#define COMPUTED(result, name, parameters, meaning) result name parameters const;
#define SIZES(name, parameter, meaning) Tensor name parameter const;
#define VIEW(name, meaning) Tensor name() const;
#include "strata/ops/methods.def"
#undef CREATION
#undef METHOD
#undef COMPUTED
#undef SIZES
#undef VIEW
    // Elementwise: a row each in elementwise.def.
#define UNARY(name, ...) Tensor name() const;
#define BINARY(name, ...) Tensor name(const Operand& other) const;
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY

    // Functions whose names or arguments in Python differ.
    static Tensor zeros(Shape shape, DType dtype = dtypes::float32);
    static Tensor ones(Shape shape, DType dtype = dtypes::float32);
    /// start, start + step, ... below stop. Type by default: int64, or float32 when an argument is a float.
    static Tensor arange(Number start, Number stop, Number step = 1, OptionalDType dtype = {});
    static Tensor arange(Number stop, OptionalDType dtype = {}) { return arange(0, stop, 1, dtype); }
    std::vector<Tensor> split(int64_t size, int axis = 0) const;  ///< pieces of `size`, the last may be smaller
    std::vector<Tensor> split(const Shape& sizes, int axis = 0) const;
    Tensor index(const std::vector<Index>& indices) const;  ///< x[...]; with a mask computes
    /// This with value, which broadcasts, where index(indices) takes its elements from; of several for one place the
    /// last. DType error for a float in another type.
    Tensor with(const std::vector<Index>& indices, const Operand& value) const;
    Tensor clamp(std::optional<Number> min = {}, std::optional<Number> max = {}) const;
    Tensor repeat(int64_t repeats, OptionalAxis axis = {}) const;  ///< each element `repeats` times; without axis, flat
    Tensor repeat(const Tensor& repeats, OptionalAxis axis = {}) const;  ///< each as often as it says; computes
    /// (..., n, k) x (..., k, m) -> (..., n, m); leading axes broadcast; a 1-D side has its axis added and dropped
    /// again. Narrow floats accumulate as float32, narrow integers as int32.
    Tensor matmul(const Tensor& other) const;
    Tensor dot(const Tensor& other) const;  ///< matmul that also takes 0-D tensors

    // Data (interop.cpp).
    /// Uninitialised memory on a device ("" = the default one).
    static Tensor empty(Shape shape, DType dtype = dtypes::float32, std::string_view device = "");
    /// Copies numel * bytes(dtype) row-major bytes of the host to a device.
    static Tensor from_host(const void* data, Shape shape, DType dtype, std::string_view device = "");
    const runtime::Device& device() const;     ///< the default device when not placed
    Tensor to(std::string_view device) const;  ///< placed there; copies through the host when it lives elsewhere
    Tensor& realize();                         ///< computes the value; the tensor is a view of memory afterwards
    static void realize(const std::vector<Tensor*>& tensors);  ///< together: shared work is done once
    bool is_realized() const;                                  ///< a view of memory
    void to_host(void* data);                                  ///< nbytes() bytes, row-major; realizes
    Number item();                                             ///< of a tensor of one element; realizes
    /// Realizes, and gives the memory itself, row-major, and where the host reads it (the emulator); else nullptr. An
    /// empty tensor has neither.
    struct HostView {
        void* data = nullptr;
        std::shared_ptr<runtime::Buffer> memory;  ///< keeps `data` valid
    };
    HostView host_view();
    UOp in_memory() const;  ///< the view of memory that holds the value; the node where there is none; as value()
    bool has_past() const { return static_cast<bool>(memory_.get()); }  ///< in memory, but for gradients
    Tensor interleaved() const;  ///< of a complex tensor: real, shape + (2,), as it lies in memory elsewhere

    // Gradients (gradients.cpp).
    /// From now on backward() of values made from this tensor leaves a gradient here. DType error for other types than
    /// floats.
    Tensor& requires_grad_(bool wanted = true);
    bool requires_grad() const;
    Tensor grad() const;  ///< of this shape and type; empty: none
    bool has_grad() const;
    void set_grad(const Tensor& grad);
    /// Adds to the grad of each tensor that requires one the gradient of the sum of seed * this. A seed is needed
    /// unless this has one element. Usage error where this depends on no such tensor.
    void backward(const Tensor& seed) const;
    void backward() const { backward(Tensor()); }
    /// This tensor becomes `value`, of its shape and type, and keeps its gradient; tensors made from it before do not
    /// change.
    Tensor& assign(const Tensor& value);
    /// A copy whose gradient is its own, if there is one: assign() to either leaves the other what it is.
    Tensor twin() const;

  private:
    static void realize_real(const std::vector<Tensor*>& tensors);
    void place(Root view);
    void become_source();
    const Shape& parts_shape() const;
    DType parts_dtype() const;
    [[noreturn]] void say_that_parts_are_two() const;
    UOp cut() const;  ///< the node, past which no gradient goes

    std::shared_ptr<const ops::Parts> parts_;  ///< of a complex tensor, which has no root of its own
    Root root_;
    Root memory_;                      ///< of a value whose root_ still says what it was made of, for gradients
    std::shared_ptr<ops::Leaf> leaf_;  ///< a gradient is wanted
    const runtime::Device* device_ = nullptr;
    bool uniform_ = false;
    bool no_grad_ = false;  ///< made without a history
    Shape uniform_shape_;
    mutable Root cut_;
};

/// A tensor or a Number: what the elementwise functions take. Lives as long as the call.
class Operand {
  public:
    Operand(const Tensor& tensor) : tensor_(&tensor) {}
    Operand(Number number) : number_(number) {}
    Operand(bool value) : number_(value) {}
    template <std::integral T>
    Operand(T value) : number_(value) {}
    template <std::floating_point T>
    Operand(T value) : number_(value) {}
    Operand(std::complex<double> value) : number_(value) {}
    const Tensor* tensor() const { return tensor_; }
    const Number& number() const { return number_; }

  private:
    const Tensor* tensor_ = nullptr;
    Number number_{0};
};

/// One entry of x[...].
struct Index {
    enum class Kind { integer, slice, new_axis, ellipsis, tensor };
    Kind kind = Kind::ellipsis;
    std::optional<int64_t> start = {}, stop = {};  ///< of a slice; start of an integer
    int64_t step = 1;
    Tensor indices = {};                                   ///< integers, or bool: a mask of as many axes
    std::optional<std::pair<int64_t, int64_t>> ends = {};  ///< its smallest and largest, where the host knows them

    static Index at(int64_t i) { return {Kind::integer, i}; }
    static Index slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1) {
        return {Kind::slice, start, stop, step};
    }
    static Index new_axis() { return {Kind::new_axis}; }
    static Index ellipsis() { return {Kind::ellipsis}; }
    static Index tensor(Tensor indices) { return {Kind::tensor, {}, {}, 1, std::move(indices)}; }
};

namespace ops {

#define UNARY(name, ...) Tensor name(const Operand& x);
#define BINARY(name, ...) Tensor name(const Operand& a, const Operand& b);
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY

/// Not below min, not above max, which broadcast; types as maximum's.
Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max);
Tensor where(const Operand& condition, const Operand& a, const Operand& b);  ///< a where condition != 0, else b
Tensor cat(const std::vector<Tensor>& tensors, int axis = 0);                ///< along an axis; types are promoted
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);              ///< along a new axis
Shape broadcast_shapes(const Shape& a, const Shape& b);                      ///< Shape error when they do not fit
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);
DType result_type(const Operand& a, const Operand& b);
/// real + i imag of two real operands; complex128 where one is float64, else complex64.
Tensor complex(const Operand& real, const Operand& imag);
/// That root of a sum of powers: no gradient arrives at 0, where its slope is infinite.
Tensor root_of(const Tensor& powers, double order = 2);

}  // namespace ops

inline Tensor operator-(const Tensor& x) { return x.neg(); }
inline Tensor operator~(const Tensor& x) { return x.bitwise_invert(); }
#define STRATA_TENSOR_OPERATOR(symbol, name)                                                    \
    inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return ops::name(a, b); } \
    inline Tensor operator symbol(const Tensor& a, const Number& b) { return ops::name(a, b); } \
    inline Tensor operator symbol(const Number& a, const Tensor& b) { return ops::name(a, b); }
STRATA_TENSOR_OPERATOR(+, add)
STRATA_TENSOR_OPERATOR(-, sub)
STRATA_TENSOR_OPERATOR(*, mul)
STRATA_TENSOR_OPERATOR(/, div)
STRATA_TENSOR_OPERATOR(%, remainder)
STRATA_TENSOR_OPERATOR(&, bitwise_and)
STRATA_TENSOR_OPERATOR(|, bitwise_or)
STRATA_TENSOR_OPERATOR(^, bitwise_xor)
STRATA_TENSOR_OPERATOR(<<, bitwise_left_shift)
STRATA_TENSOR_OPERATOR(>>, bitwise_right_shift)
STRATA_TENSOR_OPERATOR(<, lt)
STRATA_TENSOR_OPERATOR(<=, le)
STRATA_TENSOR_OPERATOR(>, gt)
STRATA_TENSOR_OPERATOR(>=, ge)
#undef STRATA_TENSOR_OPERATOR

}  // namespace strata
