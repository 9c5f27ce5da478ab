"""Microscaling formats, integers of 4 bits and AITER's order of tiles, against NumPy's bits."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, close, exact, kernels, of, strict, wide
from formats import encode, values_of
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
LARGEST = {"fp4": 6.0, "fp8e4m3": 448.0, "fp8e5m2": 57344.0}
EXPONENT = {"fp4": 2, "fp8e4m3": 8, "fp8e5m2": 15}


def fp4_codes(x):
    """The nearest of FP4, a tie to the even code; the sign is bit 3."""
    size = np.minimum(abs(x), 6)
    above = np.searchsorted(FP4, size).clip(1, 7)
    down, up = size - FP4[above - 1], FP4[above] - size
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, above - 1)
    return (code | np.where(np.signbit(x), 8, 0)).astype(np.uint8)


def scale_bytes(x, format, rounding):
    """E8M0 of blocks of 32 (..., k / 32) of float64, whose powers of two are exact."""
    most = abs(x).max(-1)
    mantissa, exponent = np.frexp(most)  # most = mantissa * 2^exponent, mantissa in [0.5, 1)
    n = exponent - 1 - EXPONENT[format]
    if rounding == "ceil":
        n = n + (mantissa * 2 > LARGEST[format] / 2.0 ** EXPONENT[format])
    n = np.where(most == 0, -127, n).clip(-127, 127)
    return np.where(np.isfinite(most), n + 127, 255).astype(np.uint8)


def expected(x, format, rounding):
    k = x.shape[-1]
    padded = np.pad(x, ((0, 0), (0, -k % 32)))
    blocks = padded.reshape(len(x), -1, 32)
    scale = scale_bytes(blocks, format, rounding)
    values = (blocks / 2.0 ** (scale.astype(float) - 127)[..., None]).reshape(padded.shape)[:, :k]
    if format != "fp4":
        return encode(format, values.clip(-LARGEST[format], LARGEST[format])), scale
    codes = np.pad(fp4_codes(values), ((0, 0), (0, k % 2)))
    return codes[:, 0::2] | codes[:, 1::2] << 4, scale


CASES = [
    ("gfx1100", "fp4", "ceil", 96, "float32", 2),
    ("gfx1201", "fp4", "floor", 130, "bfloat16", 1),
    ("gfx942", "fp8e4m3", "ceil", 64, "float16", 1),
    ("gfx90a", "fp8e5m2", "floor", 33, "float32", 1),
    ("gfx942", "fp4", "ceil", 31, "bfloat16", 2),
    ("gfx1201", "fp8e4m3", "floor", 32, "float32", 1),
]


@pytest.mark.parametrize("arch, format, rounding, k, dtype, count", CASES)
def test_blocks_share_a_power_of_two_and_are_rounded_to_the_nearest(arch, format, rounding, k, dtype, count, rng):
    x = rng.standard_normal((3, k)) * np.exp2(rng.integers(-9, 9, (3, 1)))
    x[0, : k // 2] = 0
    x[1, :4] = [6, -5, 2.5, 0.25]
    with strict(arch):
        given = of(x, dtype)
        q, scale = K.mx_quantize(given, format, rounding)
        want, of_blocks = expected(wide(given), format, rounding)
        assert kernels(q, scale) == count
        exact(scale, of_blocks)
        exact(q, want)


@pytest.mark.parametrize("arch, format", [*zip(ARCHS, ["fp4", "fp8e4m3", "fp8e5m2", "fp4"])])
def test_packed_blocks_come_back_as_their_values(arch, format, rng):
    k = 70
    codes = rng.integers(0, 256, (2, k // 2 if format == "fp4" else k), np.uint8)
    scale = np.array([[127, 130, 96], [255, 1, 254]], np.uint8)
    values = values_of(format)[codes] if format != "fp4" else np.stack([codes & 15, codes >> 4], -1).reshape(2, -1)
    if format == "fp4":
        values = np.where(values & 8, -1, 1) * FP4[values & 7]
    powers = np.where(scale == 255, np.nan, 2.0 ** (scale.astype(float) - 127)).repeat(32, 1)[:, :k]
    want = (values * powers).astype(np.float32)
    with strict(arch):
        y = K.mx_dequantize(Tensor(codes), Tensor(scale), format)
        assert y.dtype == "float32" and kernels(y) == 1
        np.testing.assert_array_equal(y.numpy(), want)
        close(K.mx_dequantize(Tensor(codes), Tensor(scale), format, "bfloat16")[:1], want[:1], "bfloat16", tolerance=0)


def test_the_low_half_of_a_byte_comes_first(rng):
    x = rng.standard_normal((2, 64))
    q, scale = K.mx_quantize(of(x))
    swapped = (q >> 4) | (q << 4)
    right, wrong = (wide(K.mx_dequantize(b, scale)) for b in (q, swapped))
    most = abs(x.reshape(2, 2, 32)).max(-1).repeat(32, 1)
    assert (abs(right - x) <= most / 3 + 1e-6).all() and (abs(wrong - x) > most / 3).any()
    packed = Tensor(np.array([0x21, 0xF8], np.uint8))
    exact(K.unpack_int4(packed), [1, 2, -8, -1])
    assert (K.unpack_int4((packed >> 4) | (packed << 4)).numpy() != [1, 2, -8, -1]).any()


def test_a_block_that_is_not_finite_is_nan_and_its_neighbours_are_not():
    x = np.ones((1, 96), np.float32)
    x[0, 5], x[0, 40] = np.nan, -np.inf
    q, scale = K.mx_quantize(of(x))
    exact(scale, [[255, 255, 125]])
    back = wide(K.mx_dequantize(q, scale))
    assert np.isnan(back[0, :64]).all() and (back[0, 64:] == 1).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_every_byte_holds_two_integers(arch):
    bytes_ = np.arange(256, dtype=np.uint8).reshape(4, 64)
    halves = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(4, 128).astype(np.int8)
    with strict(arch):
        signed, unsigned = K.unpack_int4(Tensor(bytes_)), K.unpack_int4(Tensor(bytes_), signed=False)
        assert (signed.dtype, unsigned.dtype, kernels(signed)) == ("int8", "uint8", 1)
        exact(signed, np.where(halves > 7, halves - 16, halves))
        exact(unsigned, halves)


@pytest.mark.parametrize(
    "arch, dtype, layout",
    [("gfx942", "bfloat16", (16, 16)), ("gfx90a", "float32", (16, 16)), ("gfx1100", "int8", (16, 16)),
     ("gfx1201", "float16", (32, 16))],
)  # fmt: skip
def test_tiles_are_in_aiters_order_and_back(arch, dtype, layout, rng):
    n, k = 2 * layout[0], 64
    w = rng.integers(-100, 100, (3, n, k))
    vector = {"bfloat16": 8, "float16": 8, "float32": 4, "int8": 16}[dtype]
    order = w.reshape(3, n // layout[0], layout[0], k // 32, 32 // vector, vector).transpose(0, 1, 3, 4, 2, 5)
    with strict(arch):
        given = of(w, dtype)
        shuffled = K.shuffle_weight(given, layout)
        exact(shuffled.cast("int32"), order.reshape(w.shape))
        exact(K.unshuffle_weight(shuffled.realize(), layout).cast("int32"), w)
        assert kernels(shuffled) == 1 and kernels(of(rng.standard_normal((4, k))) @ K.shuffle_weight(of(w[0])).T) == 1


def test_gradients_go_through_the_order_of_tiles(rng):
    g, w = rng.standard_normal((16, 32)), of(rng.standard_normal((16, 32)))
    found = strata.grad(lambda w: (K.shuffle_weight(w) * of(g)).sum())(w)
    close(found, wide(K.unshuffle_weight(of(g))), "float32")


def test_sizes_of_0_launch_nothing():
    strata.reset_stats()
    for shape in ((0, 64), (3, 0)):
        for format in LARGEST:
            q, scale = K.mx_quantize(Tensor.zeros(*shape), format)
            assert q.shape[0] == scale.shape[0] == shape[0] and q.numpy().size == scale.numpy().size == 0
            assert K.mx_dequantize(q, scale, format).numpy().shape == shape
        assert K.unpack_int4(Tensor.zeros(*shape, dtype="uint8")).numpy().size == 0
    assert K.shuffle_weight(Tensor.zeros(0, 32)).numpy().shape == (0, 32)
    assert strata.stats().kernels == 0


X, Q = Tensor.ones(2, 64), Tensor.ones(2, 32, dtype="uint8")
ERRORS = [
    (lambda: K.mx_quantize(X, "fp6"), strata.UsageError,
     "[mx_quantize] format 'fp6': it is one of fp4, fp8e4m3, fp8e5m2"),
    (lambda: K.mx_quantize(X, rounding="even"), strata.UsageError,
     "[mx_quantize] rounding 'even': it is ceil or floor"),
    (lambda: K.mx_quantize(Q), strata.DTypeError, "[mx_quantize] x is of uint8: it takes floats, cast it first"),
    (lambda: K.mx_quantize(Tensor(1.0)), strata.ShapeError, "[mx_quantize] x (): it takes (..., k)"),
    (lambda: K.mx_dequantize(X, Q), strata.DTypeError, "[mx_dequantize] q is of float32: it takes uint8"),
    (lambda: K.mx_dequantize(Q, Q), strata.ShapeError,
     "[mx_dequantize] q (2, 32), scale (2, 32): a scale for each 32 elements of a row"),
    (lambda: K.unpack_int4(X), strata.DTypeError, "[unpack_int4] q is of float32: it takes uint8"),
    (lambda: K.unpack_int4(Tensor(1, dtype="uint8")), strata.ShapeError, "[unpack_int4] q (): it takes (..., k / 2)"),
    (lambda: K.shuffle_weight(X), strata.ShapeError,
     "[shuffle_weight] w (2, 64): it takes (..., n, k), n a multiple of 16, k of 32"),
    (lambda: K.unshuffle_weight(X, 16), strata.UsageError,
     "[unshuffle_weight] layout is 16: the rows and half of the columns of a tile, such as (16, 16)"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
