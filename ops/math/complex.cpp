#include "strata/ops/complex_p.h"

#include <algorithm>
#include <functional>
#include <numbers>

#include "strata/ops/build_p.h"
#include "strata/ops/gradient_rules.h"

namespace strata {

using namespace ops;

Tensor Tensor::of_parts(const Tensor& real, const Tensor& imag) {
    STRATA_CHECK(
        real.shape() == imag.shape() && real.dtype() == imag.dtype() && real.dtype().complex().part() == real.dtype(),
        "parts {} {} and {} {}", real.dtype().name(), to_string(real.shape()), imag.dtype().name(),
        to_string(imag.shape()));
    Parts parts{real, imag};
    Tensor out;
    out.device_ = parts.re.device_ = parts.im.device_ = common_device("complex", real, imag);
    out.parts_ = std::make_shared<const Parts>(std::move(parts));
    return out;
}

const Shape& Tensor::parts_shape() const { return parts_->re.shape(); }

DType Tensor::parts_dtype() const { return parts_->re.dtype().complex(); }

void Tensor::say_that_parts_are_two() const {
    user_error(ErrorKind::DType, "this takes no {} tensors, which are two graphs: give it x.real and x.imag",
               dtype().name());
}

Tensor Tensor::real() const { return parts_ ? parts_->re : *this; }

Tensor Tensor::imag() const { return parts_ ? parts_->im : like(*this, 0); }

Tensor Tensor::angle() const {
    Tensor re = real().cast(floating_dtype(real()));
    return ops::atan2(parts_ ? parts_->im : like(re, 0), re);
}

namespace ops {
namespace {

Tensor made(const Parts& z) { return Tensor::of_parts(z.re, z.im); }
Tensor made(const Tensor& x) { return x; }

Parts parts_of(const Tensor& x) { return {x.real(), x.imag()}; }
Tensor imaginary(const Parts& z) { return z.im ? z.im : like(z.re, 0); }
Tensor nonzero(const Parts& z) { return z.im ? bitwise_or(ne(z.re, 0), ne(z.im, 0)) : ne(z.re, 0); }

Parts scaled(const Parts& z, double by) { return {z.re * by, z.im * by}; }

Parts sum(const Parts& a, const Parts& b) { return {a.re + b.re, a.im && b.im ? a.im + b.im : a.im ? a.im : b.im}; }

Parts difference(const Parts& a, const Parts& b) {
    return {a.re - b.re, a.im && b.im ? a.im - b.im : a.im ? a.im : -b.im};
}

Parts product(const Parts& a, const Parts& b) {
    if (!a.im) return {a.re * b.re, a.re * b.im};
    if (!b.im) return {a.re * b.re, a.im * b.re};
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// The parts of an operand in the given type and shape.
Parts prepared(const Operand& x, DType part, const Shape& shape) {
    Parts out;
    if (x.tensor()) {
        out.re = x.tensor()->real().cast(part);
        if (is_complex(x)) out.im = x.tensor()->imag().cast(part);
    } else {
        const Number& n = x.number();
        out.re = Tensor::full({}, n.real(), part);
        if (is_complex(x)) out.im = Tensor::full({}, n.imaginary, part);
    }
    out.re = expand_to(out.re, shape);
    if (out.im) out.im = expand_to(out.im, shape);
    return out;
}

struct Pair {
    Parts a, b;
};
Pair prepared(std::string_view name, const Operand& a, const Operand& b) {
    if (a.tensor() && b.tensor()) common_device(name, *a.tensor(), *b.tensor());
    DType part = result_type(a, b).part();
    auto shape = [](const Operand& x) { return x.tensor() ? x.tensor()->shape() : Shape(); };
    Shape to = broadcast_shapes(name, shape(a), shape(b));
    return {prepared(a, part, to), prepared(b, part, to)};
}

struct UnaryRow {
    std::string_view name;
    Tensor (*value)(const Parts&);
    Tensor (*slope)(const Tensor& z, const Tensor& y);  ///< none: gradients go by what the parts are made of
};
struct BinaryRow {
    std::string_view name;
    Tensor (*value)(const Parts&, const Parts&);
    std::vector<Tensor> (*slopes)(const Tensor& a, const Tensor& b, const Tensor& y);  ///< likewise
};
constexpr UnaryRow kUnary[] = {
#define UNARY(name, value) {#name, [](const Parts& z) { return made(value); }, nullptr},
#define ANALYTIC(name, value, slope)                    \
    {#name, [](const Parts& z) { return made(value); }, \
     []([[maybe_unused]] const Tensor& z, [[maybe_unused]] const Tensor& y) { return slope; }},
#define BINARY(name, value)
#define ANALYTIC2(name, value, by_a, by_b)
#include "strata/ops/math/complex.def"
#undef UNARY
#undef ANALYTIC
#undef BINARY
#undef ANALYTIC2
};
constexpr BinaryRow kBinary[] = {
#define UNARY(name, value)
#define ANALYTIC(name, value, slope)
#define BINARY(name, value) {#name, [](const Parts& a, const Parts& b) { return made(value); }, nullptr},
#define ANALYTIC2(name, value, by_a, by_b)                              \
    {#name, [](const Parts& a, const Parts& b) { return made(value); }, \
     [](const Tensor& a, const Tensor& b, const Tensor& y) { return std::vector<Tensor>{by_a, by_b}; }},
#include "strata/ops/math/complex.def"
#undef UNARY
#undef ANALYTIC
#undef BINARY
#undef ANALYTIC2
};

template <class Row, size_t n>
const Row& row_of(const Row (&rows)[n], std::string_view name, DType type) {
    const Row* row = std::ranges::find(rows, name, &Row::name);
    if (row == std::end(rows))
        user_error(ErrorKind::DType, "[{}] takes real types, not {}: use x.real, x.imag or abs(x)", name, type.name());
    return *row;
}

/// y, a function's value, through which gradients go by its slopes p + qi, one for each of the tensors z. A step dx +
/// dy i of one makes one of (p dx - q dy) + (q dx + p dy) i (Cauchy, Riemann). Real ones have no dy.
Tensor with_slopes(const Tensor& y, const std::vector<Tensor>& z, const std::function<std::vector<Tensor>()>& slopes) {
    if (NoGrad::now()) return y;
    std::vector<RuleInput> inputs;
    for (const Tensor& t : z) {
        inputs.emplace_back(t.real().uop());
        if (t.is_complex()) inputs.emplace_back(t.imag().uop());
    }
    const auto part = [=](const Tensor& g, bool imaginary) {
        std::vector<Tensor> found = slopes(), out;
        for (size_t i = 0; i < z.size(); ++i) {
            const Tensor& s = found[i];
            out.push_back(g * (imaginary ? s.imag() : s.real()));
            if (z[i].is_complex()) out.push_back(imaginary ? g * s.real() : -(g * s.imag()));
        }
        return out;
    };
    return Tensor::of_parts(
        with_rule(y.real(), {.inputs = inputs, .backward = [=](const Tensor& g) { return part(g, false); }}),
        with_rule(y.imag(), {.inputs = inputs, .backward = [=](const Tensor& g) { return part(g, true); }}));
}

}  // namespace

// Slopes are of a recomputed value, through which their own gradients go in this way too.
Tensor complex_value(std::string_view name, const Tensor& x) {
    const UnaryRow& row = row_of(kUnary, name, x.dtype());
    Tensor value = row.value(parts_of(x));
    if (!row.slope) return value;
    return with_slopes(value, {x}, [&row, x] { return std::vector{row.slope(x, complex_value(row.name, x))}; });
}

Tensor complex_value(std::string_view name, const Operand& x, const Operand& y) {
    const BinaryRow& row = row_of(kBinary, name, result_type(x, y));
    Pair p = prepared(name, x, y);
    Tensor value = row.value(p.a, p.b);
    if (!row.slopes) return value;
    const auto whole = [](const Parts& z) { return z.im ? made(z) : z.re; };
    Tensor a = whole(p.a), b = whole(p.b);
    return with_slopes(value, {a, b}, [&row, a, b] { return row.slopes(a, b, complex_value(row.name, a, b)); });
}

Tensor complex_where(const Tensor& condition, const Operand& a, const Operand& b) {
    Pair p = prepared("where", a, b);
    return Tensor::of_parts(where(condition, p.a.re, p.b.re), where(condition, imaginary(p.a), imaginary(p.b)));
}

Tensor complex_cast(const Tensor& x, DType to) {
    if (to.is_bool()) return nonzero(parts_of(x));
    if (!to.is_complex())
        user_error(ErrorKind::DType, "[cast] {} to {} would drop the imaginary part: cast x.real or abs(x)",
                   x.dtype().name(), to.name());
    if (x.is_complex()) return each_part(x, [&](const Tensor& part) { return part.cast(to.part()); });
    Tensor re = x.cast(to.part());
    return Tensor::of_parts(re, like(re, 0));
}

Tensor complex_pad(const Tensor& x, const Pairs& padding, Number fill) {
    return Tensor::of_parts(x.real().pad(padding, fill.real()), x.imag().pad(padding, fill.imaginary));
}

/// A product with a real matrix is two real ones, of two complex ones four.
Tensor complex_matmul(const Tensor& a, const Tensor& b) {
    DType part = result_type(a, b).part();
    Tensor a_re = a.real().cast(part), b_re = b.real().cast(part), re = a_re.matmul(b_re);
    if (!a.is_complex()) return Tensor::of_parts(re, a_re.matmul(b.imag().cast(part)));
    Tensor a_im = a.imag().cast(part);
    if (!b.is_complex()) return Tensor::of_parts(re, a_im.matmul(b_re));
    Tensor b_im = b.imag().cast(part);
    return Tensor::of_parts(re - a_im.matmul(b_im), a_re.matmul(b_im) + a_im.matmul(b_re));
}

Tensor complex_prod(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
    Shape to = x.shape(), rest;
    std::vector<int> order;
    for (int axis = 0; axis < x.ndim(); ++axis) {
        bool reduced = std::ranges::find(axes, axis) != axes.end();
        if (reduced) to[static_cast<size_t>(axis)] = keepdims ? 1 : -1;
        if (!reduced) order.push_back(axis), rest.push_back(x.size(axis));
    }
    std::erase(to, -1);
    order.insert(order.end(), axes.begin(), axes.end());
    int64_t n = 1;
    for (int axis : axes) n *= x.size(axis);
    rest.push_back(n);
    Tensor out = x.permute(order).reshape(rest);
    constexpr int64_t kOneKernel = 16;  // factors that one kernel multiplies
    while (n > 1) {
        std::vector<Tensor> halves = out.split(n / 2, -1);
        out = halves[0].mul(halves[1]);
        if (n % 2) out = cat({out, halves[2]}, -1);
        n = n / 2 + n % 2;
        if (n > kOneKernel) out = out.contiguous();
    }
    return out.reshape(to);
}

Tensor complex_cumprod(const Tensor& x, int axis) {
    Tensor out = x;
    const int64_t n = x.size(axis);
    for (int64_t step = 1; step < n; step *= 2) {
        std::vector<Tensor> start = out.split({step, n - step}, axis), end = out.split({n - step, step}, axis);
        out = cat({start[0], start[1].mul(end[0])}, axis).contiguous();
    }
    return out;
}

void check_ordered(std::string_view name, const Tensor& x) {
    if (x.is_complex())
        user_error(ErrorKind::DType, "[{}] complex numbers have no order: use x.real, x.imag or abs(x)", name);
}

Tensor complex(const Operand& real, const Operand& imag) {
    GraphScope scope;
    for (const Operand* x : {&real, &imag})
        if (is_complex(*x)) user_error(ErrorKind::DType, "[complex] a part is complex: it must be real");
    if (real.tensor() && imag.tensor()) common_device("complex", *real.tensor(), *imag.tensor());
    DType part = result_type(real, imag).complex().part();
    Tensor re = as_tensor(real).cast(part), im = as_tensor(imag).cast(part);
    Shape shape = broadcast_shapes("complex", re.shape(), im.shape());
    return Tensor::of_parts(expand_to(re, shape), expand_to(im, shape));
}

}  // namespace ops
}  // namespace strata
