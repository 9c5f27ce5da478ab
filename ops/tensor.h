#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/ops/number.h"

namespace strata {

namespace runtime {
class Buffer;
class Device;
}  // namespace runtime

class Operand;
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
using OptionalDType = std::optional<DType>;

/// A lazy n-dimensional array. Operations build a graph and compute nothing; realize, item, to_host and host_view
/// compute. A value type: copies share the graph. Shapes are in elements, row-major. Wrong arguments throw an Exception
/// of kind Shape (both shapes are named), DType (both types are named), Device or Usage; the message starts with
/// "[operation]".
///
/// Types of results follow the Python array API 2024.12; an integer tensor with a floating one gives the floating type,
/// and a Number takes the type of the tensor it meets. Shapes of elementwise operands broadcast.
class Tensor {
  public:
    Tensor() = default;
    /// Over a tensor-level node; `device` = where its buffers live, nullptr = not placed: it goes where its partners
    /// are.
    explicit Tensor(UOp node, const runtime::Device* device = nullptr) : root_(node), device_(device) {}
    /// The same value everywhere: `scalar` is a node of shape (). Takes no memory and broadcasts for nothing.
    static Tensor uniform(UOp scalar, Shape shape, const runtime::Device* device = nullptr);

    explicit operator bool() const { return static_cast<bool>(root_.get()); }
    const Shape& shape() const { return uniform_ ? uniform_shape_ : root_.get().shape(); }
    DType dtype() const { return root_.get().dtype(); }
    int ndim() const { return static_cast<int>(shape().size()); }
    int64_t size(int axis) const;
    int64_t numel() const;
    int64_t nbytes() const { return numel() * dtype().bytes(); }
    UOp uop() const;                           ///< the node, with the tensor's shape
    UOp value() const { return root_.get(); }  ///< the node, with shape () when uniform
    bool is_uniform() const { return uniform_; }
    const runtime::Device* placement() const { return device_; }

    // Creation. The result is not placed; `to` places it. linspace, arange and eye take no memory.
    static Tensor full(Shape shape, Number value, OptionalDType dtype = {});
    static Tensor zeros(Shape shape, DType dtype = dtypes::float32);
    static Tensor ones(Shape shape, DType dtype = dtypes::float32);
    /// start, start + step, ... below stop. Type by default: int64, or float32 when an argument is a float.
    static Tensor arange(Number start, Number stop, Number step = 1, OptionalDType dtype = {});
    static Tensor arange(Number stop, OptionalDType dtype = {}) { return arange(0, stop, 1, dtype); }
    static Tensor linspace(double start, double stop, int64_t count, DType dtype = dtypes::float32,
                           bool endpoint = true);
    static Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, int64_t diagonal = 0,
                      DType dtype = dtypes::float32);
    Tensor full_like(Number value, OptionalDType dtype = {}) const;
    Tensor zeros_like(OptionalDType dtype = {}) const { return full_like(0, dtype); }
    Tensor ones_like(OptionalDType dtype = {}) const { return full_like(1, dtype); }
    /// Keeps the elements on and below (above) a diagonal of the last two axes; the others become 0.
    Tensor tril(int64_t diagonal = 0) const;
    Tensor triu(int64_t diagonal = 0) const;

    // Elementwise, one row each in elementwise.def.
#define UNARY(name, ...) Tensor name() const;
#define BINARY(name, ...) Tensor name(const Operand& other) const;
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    Tensor clamp(std::optional<Number> low, std::optional<Number> high) const;
    Tensor cast(DType to) const;     ///< float -> integer truncates and saturates, NaN -> 0; to bool: x != 0
    Tensor bitcast(DType to) const;  ///< the same bits; the types have one width

    // Movement: no element is computed or copied.
    Tensor reshape(Shape shape) const;  ///< one axis may be -1: what is left
    Tensor permute(const std::vector<int>& axes) const;
    Tensor transpose(int axis0 = -2, int axis1 = -1) const;
    Tensor T() const;  ///< axes reversed
    Tensor matrix_transpose() const { return transpose(-2, -1); }
    Tensor movedim(int from, int to) const;
    Tensor expand(Shape shape) const;  ///< as broadcast_to; -1 keeps the size of an axis
    Tensor broadcast_to(Shape shape) const { return expand(std::move(shape)); }
    Tensor pad(const std::vector<std::pair<int64_t, int64_t>>& before_after,
               Number value = 0) const;                                              ///< one pair an axis
    Tensor shrink(const std::vector<std::pair<int64_t, int64_t>>& begin_end) const;  ///< one pair an axis
    Tensor flip(Axes axes = {}) const;
    Tensor roll(int64_t shift, int axis) const;
    Tensor squeeze(Axes axes = {}) const;  ///< all axes of size 1 by default
    Tensor unsqueeze(int axis) const;
    Tensor flatten(int first = 0, int last = -1) const;
    Tensor unflatten(int axis, const Shape& sizes) const;
    std::vector<Tensor> split(int64_t size, int axis = 0) const;  ///< pieces of `size`, the last may be smaller
    std::vector<Tensor> split(const std::vector<int64_t>& sizes, int axis = 0) const;
    std::vector<Tensor> chunk(int count,
                              int axis = 0) const;  ///< at most `count` pieces of equal size, the last smaller
    Tensor repeat(int64_t count,
                  OptionalAxis axis = {}) const;     ///< each element `count` times; no axis: of the flat array
    Tensor tile(std::vector<int64_t> counts) const;  ///< the array repeated along each axis
    Tensor contiguous() const;                       ///< in memory of its own when realized

    // Indexing. Integer tensors hold indices in [-n, n); others are the caller's mistake: they are not checked.
    Tensor index(const std::vector<Index>& indices) const;               ///< x[...]
    Tensor take(const Tensor& indices, OptionalAxis axis = {}) const;    ///< numpy.take; no axis: from the flat array
    Tensor gather(int axis, const Tensor& indices) const;                ///< numpy.take_along_axis
    Tensor one_hot(int64_t classes, DType dtype = dtypes::int64) const;  ///< a new last axis

    // Reductions. No axes = all. sum and prod of integers and bool give int64 (uint64 for unsigned); floats narrower
    // than 32 bits are accumulated as float32. mean, var, std and the softmax family turn integers into float32.
    Tensor sum(Axes axes = {}, bool keepdims = false, OptionalDType dtype = {}) const;
    Tensor prod(Axes axes = {}, bool keepdims = false, OptionalDType dtype = {}) const;
    Tensor max(Axes axes = {}, bool keepdims = false) const;  ///< NaN if there is one; of nothing: Shape error
    Tensor min(Axes axes = {}, bool keepdims = false) const;
    Tensor mean(Axes axes = {}, bool keepdims = false) const;
    Tensor var(Axes axes = {}, double correction = 0, bool keepdims = false) const;  ///< divides by n - correction
    Tensor std(Axes axes = {}, double correction = 0, bool keepdims = false) const;
    Tensor any(Axes axes = {}, bool keepdims = false) const;
    Tensor all(Axes axes = {}, bool keepdims = false) const;
    Tensor argmax(OptionalAxis axis = {},
                  bool keepdims = false) const;  ///< int64, the first; no axis: of the flat array
    Tensor argmin(OptionalAxis axis = {}, bool keepdims = false) const;
    Tensor cumsum(OptionalAxis axis = {}, OptionalDType dtype = {}) const;  ///< no axis: 1-D tensors only
    Tensor cumprod(OptionalAxis axis = {}, OptionalDType dtype = {}) const;
    Tensor softmax(int axis = -1) const;
    Tensor log_softmax(int axis = -1) const;
    Tensor logsumexp(Axes axes = {}, bool keepdims = false) const;

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
    /// Realizes, and gives the memory itself where the host can read it (the emulator), row-major; else {nullptr,
    /// nullptr}.
    struct HostView {
        void* data = nullptr;
        std::shared_ptr<runtime::Buffer> memory;  ///< keeps `data` valid
    };
    HostView host_view();

  private:
    Root root_;
    const runtime::Device* device_ = nullptr;
    bool uniform_ = false;
    Shape uniform_shape_;
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
    Tensor indices = {};  ///< integer tensor

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

Tensor where(const Operand& condition, const Operand& a, const Operand& b);  ///< a where condition != 0, else b
Tensor cat(const std::vector<Tensor>& tensors, int axis = 0);                ///< along an axis; types are promoted
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);              ///< along a new axis
Shape broadcast_shapes(const Shape& a, const Shape& b);                      ///< Shape error when they do not fit
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);
DType result_type(const Operand& a, const Operand& b);

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
