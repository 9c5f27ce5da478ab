"""Norms of a sum and gated activations: NumPy's values and slopes on four cards in strict mode, a kernel each."""

import math

import numpy as np
import pytest
import strata
import strata.nn.functional as F
from by_numpy import ARCHS, check_slopes, close, kernels, of, strict, wide
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

# Rows, width, type; each on one card.
ROWS = [(1, 1, "float32"), (3, 300, "bfloat16"), (2, 769, "float16"), (2, 2880, "float32"), (1, 4097, "bfloat16")]
ROWS = [(ARCHS[i % 4], *row) for i, row in enumerate(ROWS)] + [("gfx90a", 2, 5120, "bfloat16")]


def normed(h, eps):
    return h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps)


def centred(h, eps):
    c = h - h.mean(-1, keepdims=True)
    return c / np.sqrt(np.mean(c * c, -1, keepdims=True) + eps)


@pytest.mark.parametrize("arch, n, m, dtype", ROWS)
def test_norms_of_a_sum_are_those_of_the_sum_as_it_is_stored(arch, n, m, dtype, rng):
    x, r = (rng.standard_normal((n, m)) * 3 for _ in range(2))
    with strict(arch):
        x, r, w, b = of(x, dtype), of(r, dtype), of(rng.standard_normal(m)), of(rng.standard_normal(m), dtype)
        y, h = K.add_rms_norm(x, r, w, 1e-5, offset=1.0)
        z, again = K.add_layer_norm(x, r, w, b, 1e-5)
        assert kernels(y, h) == kernels(z, again) == 1
        close(h, wide(x) + wide(r), dtype, tolerance=0)
        np.testing.assert_array_equal(wide(again), wide(h))
        close(y, normed(wide(h), 1e-5) * (wide(w) + 1), dtype)
        close(z, centred(wide(h), 1e-5) * wide(w) + wide(b), dtype)


def test_the_stored_sum_has_the_residuals_type_and_the_norm_that_of_x(rng):
    x, r = of(rng.standard_normal((3, 33)), "bfloat16"), of(rng.standard_normal((3, 33)))
    for y, h in (K.add_rms_norm(x, r, of(np.ones(33))), K.add_layer_norm(x, r, None, None)):
        assert (y.dtype, h.dtype) == ("bfloat16", "float32")
        close(h, wide(x) + wide(r))
    close(K.add_layer_norm(x, r, None, None)[0], centred(wide(x) + wide(r), 1e-5), "bfloat16")


@pytest.mark.parametrize("arch, dtype", [*zip(ARCHS, ["float32", "bfloat16", "float32", "float16"])])
def test_slopes_of_norms_are_those_of_numpy(arch, dtype, rng):
    x, r, w, b = (rng.standard_normal(shape) for shape in ((3, 17), (3, 17), 17, 17))
    with strict(arch):
        f = lambda x, r, w: sum(t.cast("float32") for t in K.add_rms_norm(x, r, w, offset=1.0))  # noqa: E731
        check_slopes(f, lambda x, r, w: normed(x + r, 1e-6) * (w + 1) + x + r, [x, r, w], dtype)
        f = lambda x, r, w, b: sum(t.cast("float32") for t in K.add_layer_norm(x, r, w, b))  # noqa: E731
        check_slopes(f, lambda x, r, w, b: centred(x + r, 1e-5) * w + b + x + r, [x, r, w, b], dtype)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_norm_by_a_wide_weight_has_the_type_of_its_input(arch, rng):
    with strict(arch):
        x, w = of(rng.standard_normal((2, 3, 130)), "bfloat16"), of(rng.standard_normal((3, 130)))
        y = F.rms_norm(x, (3, 130), w)
        assert kernels(y) == 1
        v = wide(x)
        close(y, v / np.sqrt(np.mean(v * v, (-1, -2), keepdims=True) + 2.0**-23) * wide(w), "bfloat16")


def erfc_gelu(x):
    return np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x.flat]).reshape(x.shape)


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "silu_and_mul": lambda x: x / (1 + np.exp(-x)),
    "gelu_and_mul": erfc_gelu,
    "gelu_tanh_and_mul": tanh_gelu,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("arch, shape, dtype", [(a, s, d) for a, (s, d) in zip(ARCHS, [
    ((2, 3, 66), "float32"), ((5, 2), "bfloat16"), ((1, 600), "float16"), ((4, 130), "float32")
])])  # fmt: skip
def test_gated_activations_are_one_kernel_with_numpys_values_and_slopes(name, arch, shape, dtype, rng):
    def reference(x):
        a, b = np.split(x, 2, -1)
        return ACTIVATIONS[name](a) * b

    f = getattr(K, name)
    with strict(arch):
        x = of(rng.standard_normal(shape) * 4, dtype)
        assert kernels(f(x)) == 1
        close(f(x), reference(wide(x)), dtype)
        check_slopes(f, reference, [rng.standard_normal((3, 10))], dtype)


@pytest.mark.parametrize("arch", ARCHS)
def test_gelu_is_exact_in_its_tail_and_so_is_its_slope(arch):
    at = np.array([-10, -8, -6, -5, -3, -1, 0, 2, 9], np.float64)
    with strict(arch):
        x = of(np.concatenate([at, np.ones(9)]))
        np.testing.assert_allclose(wide(K.gelu_and_mul(x)), erfc_gelu(at), rtol=1e-4)
        slope = strata.grad(lambda x: K.gelu_and_mul(x).sum())(x)[:9]
        density = np.exp(-at * at / 2) / math.sqrt(2 * math.pi)
        phi = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in at])
        np.testing.assert_allclose(wide(slope), phi + at * density, rtol=1e-4)


@pytest.mark.parametrize("arch", ARCHS)
def test_the_slope_of_the_tanh_gelu_is_exact_everywhere(arch):
    at = np.concatenate([np.linspace(-12, 12, 97), [-1e30, -40, 40, 1e30]])
    inner = math.sqrt(2 / math.pi) * (at + 0.044715 * at**3)
    up, down = np.exp(-np.logaddexp(0, -2 * inner)), np.exp(-np.logaddexp(0, 2 * inner))
    near = np.clip(at, -40, 40)
    slope = up + near * up * down * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * near**2)
    with strict(arch):
        got = strata.grad(lambda x: F.gelu(x, approximate="tanh").sum())(of(at))
        np.testing.assert_allclose(wide(got), slope, rtol=1e-5, atol=1e-6)
        ends = strata.grad(lambda x: F.gelu(x, approximate="tanh").sum())(of(np.array([-np.inf, np.inf, np.nan])))
        np.testing.assert_array_equal(wide(ends), [0, 1, np.nan])


def test_nan_and_inf_stay_in_their_rows(rng):
    x, w = rng.standard_normal((4, 40)), of(np.ones(40))
    x[1, 3], x[2, 5] = np.nan, np.inf
    for f in (
        lambda t: K.add_rms_norm(t, t, w)[0],
        lambda t: K.add_layer_norm(t, t, w, w)[0],
        K.silu_and_mul,
        K.gelu_tanh_and_mul,
    ):
        bad, clean = wide(f(of(x))), wide(f(of(np.nan_to_num(x, posinf=0))))
        np.testing.assert_array_equal(bad[[0, 3]], clean[[0, 3]])
        assert np.isnan(bad[1]).any() and not np.isfinite(bad[2]).all()


def test_sizes_of_0_launch_nothing():
    strata.reset_stats()
    for shape in ((0, 8), (3, 0)):
        x, w = Tensor.zeros(*shape), Tensor.ones(shape[1])
        for t in (*K.add_rms_norm(x, x, w), *K.add_layer_norm(x, x, w, w)):
            assert t.shape == shape and t.numpy().shape == shape
        assert K.silu_and_mul(x).numpy().shape == (shape[0], shape[1] // 2)
    assert strata.stats().kernels == 0


X, W = Tensor.ones(2, 4), Tensor.ones(4)
ERRORS = [
    (lambda: K.add_rms_norm(X, Tensor.ones(2, 5), W), strata.ShapeError,
     "[add_rms_norm] x (2, 4), residual (2, 5), weight (4,): x and residual are (..., n), weight (n,)"),
    (lambda: K.add_layer_norm(X, X, W, Tensor.ones(3)), strata.ShapeError,
     "[add_layer_norm] x (2, 4), residual (2, 4), weight (4,), bias (3,): x and residual are (..., n), "
     "weight and bias (n,)"),
    (lambda: K.add_rms_norm(Tensor([1]), Tensor([1]), W), strata.DTypeError,
     "[add_rms_norm] x is of int64: it takes floats, cast it first"),
    (lambda: K.add_rms_norm(X, X, W, -1.0), strata.UsageError,
     "[add_rms_norm] eps is -1.0: a finite number, at least 0"),
    (lambda: K.add_rms_norm(X, X, W, offset=float("nan")), strata.UsageError,
     "[add_rms_norm] offset is nan: a finite number"),
    (lambda: K.silu_and_mul(Tensor.ones(2, 3)), strata.ShapeError,
     "[silu_and_mul] x (2, 3): the last axis holds two halves, (..., 2 d)"),
    (lambda: K.gelu_and_mul(Tensor.ones(2, 4, dtype="int32")), strata.DTypeError,
     "[gelu_and_mul] x is of int32: it takes floats, cast it first"),
    (lambda: K.gelu_tanh_and_mul(3), strata.UsageError, "[gelu_tanh_and_mul] x is 3: give a tensor"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
