#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"

namespace strata {

using namespace ops;

namespace {

/// Sums of products are formed in this type and cast to `type` at the end.
DType product_dtype(DType type) {
    if (type.is_float()) return type.bits() < 32 ? dtypes::float32 : type;
    return type.is_bool() || (type.bits() < 32) ? dtypes::int32 : type;
}

}  // namespace

Tensor Tensor::matmul(const Tensor& other) const {
    if (ndim() == 0 || other.ndim() == 0)
        user_error(ErrorKind::Shape, "[matmul] shapes {} and {}: both sides need an axis; use mul for scalars",
                   to_string(shape()), to_string(other.shape()));
    if (parts_ || other.parts_) return complex_matmul(*this, other);
    const runtime::Device* device = common_device("matmul", *this, other);
    Tensor a = ndim() == 1 ? unsqueeze(0) : *this, b = other.ndim() == 1 ? other.unsqueeze(1) : other;
    int64_t n = a.size(-2), k = a.size(-1), m = b.size(-1);
    if (k != b.size(-2))
        user_error(ErrorKind::Shape, "[matmul] shapes {} and {}: inner dimensions {} and {} differ", to_string(shape()),
                   to_string(other.shape()), k, b.size(-2));
    Shape batch_a(a.shape().begin(), a.shape().end() - 2), batch_b(b.shape().begin(), b.shape().end() - 2);
    Shape full = broadcast_shapes("matmul", batch_a, batch_b);
    Shape to = full;
    if (ndim() > 1) to.push_back(n);
    if (other.ndim() > 1) to.push_back(m);
    DType type = result_type(*this, other), wide = product_dtype(type);
    full.insert(full.end(), {n, m, k});
    check_shape("matmul", full);
    GraphScope scope;
    if (product(full) == 0)
        return without_derivative(uniform(constant_int(type, 0), std::move(to), device), {*this, other});
    Tensor left = expand_to(a.cast(type).cast(wide).unsqueeze(-2), full);
    Tensor right = expand_to(b.cast(type).cast(wide).mT().unsqueeze(-3), full);
    return reduce(left.mul(right), Op::add, {static_cast<int>(full.size()) - 1}).reshape(to).cast(type);
}

Tensor Tensor::dot(const Tensor& other) const { return ndim() == 0 || other.ndim() == 0 ? mul(other) : matmul(other); }

}  // namespace strata
