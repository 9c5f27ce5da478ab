"""Fourier transforms against numpy.fft: lengths, axes, norms, types, gradients, errors, kernels."""

import numpy as np
import pytest
import strata
from strata import Tensor, fft

LENGTHS = [1, 2, 3, 5, 8, 12, 16, 30, 61, 67, 202, 360, 1024]
NEAR = {np.complex64: 3e-6, np.complex128: 1e-13}


def numbers(rng, shape, dtype=np.complex128):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def assert_near(got, want, dtype=np.complex128):
    """Apart by so much of the largest."""
    got = got.numpy()
    assert got.shape == want.shape and got.dtype == (dtype if np.iscomplexobj(want) else dtype(0).real.dtype)
    scale = np.abs(want).max(initial=1e-30)
    np.testing.assert_allclose(got, want, rtol=0, atol=NEAR[dtype] * scale)


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_of_complex_numbers(n, dtype, rng):
    x = numbers(rng, (2, n), dtype)
    assert_near(fft.fft(Tensor(x)), np.fft.fft(x), dtype)
    assert_near(fft.ifft(Tensor(x)), np.fft.ifft(x), dtype)


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 64, 67, 100])
def test_transforms_of_real_numbers(n, dtype, rng):
    x = numbers(rng, (3, n), dtype)
    assert_near(fft.rfft(Tensor(x.real)), np.fft.rfft(x.real), dtype)
    assert_near(fft.ihfft(Tensor(x.real)), np.fft.ihfft(x.real), dtype)
    assert_near(fft.irfft(Tensor(x), n=n), np.fft.irfft(x, n=n), dtype)
    assert_near(fft.hfft(Tensor(x), n=n), np.fft.hfft(x, n=n), dtype)
    assert_near(fft.fft(Tensor(x.real)), np.fft.fft(x.real), dtype)
    if n > 1:
        assert_near(fft.irfft(Tensor(x)), np.fft.irfft(x), dtype)
        assert_near(fft.hfft(Tensor(x)), np.fft.hfft(x), dtype)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_lengths_axes_and_norms(name, norm, rng):
    x = numbers(rng, (4, 6, 5))
    x = x.real if name in ("rfft", "ihfft") else x
    for axis in (0, 1, -1):
        for n in (None, 3, 6, 9):
            assert_near(
                getattr(fft, name)(Tensor(x), n=n, axis=axis, norm=norm),
                getattr(np.fft, name)(x, n=n, axis=axis, norm=norm),
            )


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(
    ("s", "axes"), [(None, None), (None, (0, 2)), ((3, 8), (1, 0)), ((4, 7), (-2, -1)), (None, (1,))]
)
def test_several_axes(name, s, axes, rng):
    x = numbers(rng, (3, 4, 6))
    x = x.real if name == "rfftn" else x
    for norm in ("backward", "ortho", "forward"):
        assert_near(
            getattr(fft, name)(Tensor(x), s=s, axes=axes, norm=norm),
            getattr(np.fft, name)(x, s=s, axes=axes, norm=norm),
        )


def test_types_and_nothing():
    assert (
        fft.fft(Tensor([1, 2, 3])).dtype == "complex64"
        and fft.rfft(Tensor([1.0, 2], dtype="float16")).dtype == "complex64"
    )
    assert fft.fft([1.0, 2.0]).tolist() == [3, -1] and fft.irfft(Tensor([1.0, 0.0])).tolist() == [0.5, 0.5]
    assert fft.fft(Tensor.zeros(0, 4)).shape == (0, 4)
    with pytest.raises(strata.UsageError, match="at least 1"):
        fft.fft(Tensor.zeros(3, 0))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(n, rng):
    for d in (1.0, 0.25):
        np.testing.assert_allclose(fft.fftfreq(n, d=d, dtype="float64").numpy(), np.fft.fftfreq(n, d), rtol=1e-15)
        np.testing.assert_allclose(fft.rfftfreq(n, d=d).numpy(), np.fft.rfftfreq(n, d).astype(np.float32), rtol=1e-7)
    x = rng.normal(size=(n, 4, 3))
    for axes in (None, 0, (1, 2), [-1]):
        np.testing.assert_array_equal(fft.fftshift(Tensor(x), axes=axes).numpy(), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(fft.ifftshift(Tensor(x), axes=axes).numpy(), np.fft.ifftshift(x, axes))
    assert fft.fftfreq(4).dtype == "float32" and fft.fftfreq(4, device="emu:gfx942").device == "emu:gfx942"


@pytest.mark.parametrize("n", [6, 67])
def test_gradients(n, rng):
    x, weight = rng.normal(size=n), rng.normal(size=n // 2 + 1)
    got = strata.grad(lambda t: (fft.rfft(t).abs().square() * Tensor(weight)).sum())(Tensor(x)).numpy()
    spectrum = np.fft.rfft(x) * weight  # of sum w |X|^2: 2 Re of the transposed transform
    want = [
        2 * np.sum((np.conj(spectrum) * np.exp(-2j * np.pi * j * np.arange(n // 2 + 1) / n)).real) for j in range(n)
    ]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


def test_a_transform_is_a_kernel_a_factor(rng):
    x = Tensor(numbers(rng, (2, 1024), np.complex64)).realize()
    fft.fft(x).realize()  # the tables of roots
    strata.reset_stats()
    fft.fft(x.flip(-1)).realize()
    assert strata.stats().kernels == 3


WRONG = [
    (lambda x: fft.fft(x, n=0), strata.UsageError, "length of 0"),
    (lambda x: fft.fft(x, axis=1), strata.ShapeError, "axis 1"),
    (lambda x: fft.fft(x, norm="both"), strata.UsageError, "'both'"),
    (lambda x: fft.rfft(x * 1j), strata.DTypeError, "x.real"),
    (lambda x: fft.ihfft(x * 1j), strata.DTypeError, "x.real"),
    (lambda x: fft.fftn(x, s=(2, 2), axes=(0,)), strata.UsageError, "2 lengths"),
    (lambda x: fft.fftfreq(0), strata.UsageError, "at least 1"),
    (lambda x: fft.irfft(x[:1]), strata.UsageError, "length of 0"),
    (lambda x: fft.fftshift(x, axes=3), strata.ShapeError, "axis 3"),
]  # fmt: skip


@pytest.mark.parametrize("n", [10, 67, 131])  # one sum, two, a convolution
def test_captured_transforms_are_the_calls(n, rng):
    for f in (lambda x: fft.rfft(x).real, lambda x: fft.ifft(x, norm="ortho").imag):
        run = strata.jit(f)
        for _ in range(4):
            x = Tensor(rng.standard_normal((2, n)).astype(np.float32))
            np.testing.assert_array_equal(run(x).numpy(), f(x).numpy())


@pytest.mark.parametrize(("wrong", "kind", "said"), WRONG)
def test_errors(wrong, kind, said):
    with pytest.raises(kind, match=said):
        wrong(Tensor([1.0, 2.0, 3.0]))
