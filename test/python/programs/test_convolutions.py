"""Convolutions of narrow types and their gradients by matrix instructions, with values compared with float64."""

import itertools

import numpy as np
import pytest
import strata
import strata.nn.functional as F
from strata import Tensor

pytestmark = pytest.mark.usual_schedules
ARCHS = ["gfx1100", "gfx942", "sm_90"]
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CASES = {  # name: (x, weights, options), of odd sizes
    "one axis": ((3, 40, 517), (56, 40, 3), {"padding": 1}),
    "two axes": ((4, 40, 19, 17), (56, 40, 3, 3), {"padding": 1}),
    "three axes": ((1, 24, 9, 11, 13), (24, 24, 3, 3, 3), {"padding": 1}),
    "without padding": ((2, 64, 19, 21), (48, 64, 3, 3), {}),
    "stride": ((4, 48, 31, 30), (48, 48, 3, 3), {"stride": 2, "padding": 1}),
    "dilation": ((2, 64, 21, 19), (48, 64, 3, 3), {"dilation": 2, "padding": (2, 1)}),
    "all of them": ((3, 40, 41, 37), (56, 40, 4, 3), {"stride": (1, 2), "padding": (2, 0), "dilation": (2, 1)}),
    "few channels": ((2, 3, 67, 65), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
}


def taps(x, w, stride=1, padding=0, dilation=1):
    """x padded; of each element of the window its place, and what of x lies under it."""
    axes = w.ndim - 2
    each = lambda n: (n,) * axes if isinstance(n, int) else tuple(n)  # noqa: E731
    stride, padding, dilation = each(stride), each(padding), each(dilation)
    padded = np.pad(x, [(0, 0), (0, 0)] + [(n, n) for n in padding])
    places = [(padded.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(axes)]
    found = []
    for tap in itertools.product(*map(range, w.shape[2:])):
        along = [
            slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, places, stride, strict=True)
        ]
        found.append((tap, (slice(None), slice(None), *along)))
    return padded, tuple(slice(n, n + m) for n, m in zip(padding, x.shape[2:], strict=True)), found


def convolved(x, w, **options):
    padded, _, found = taps(x, w, **options)
    return sum(np.einsum("ni...,oi->no...", padded[at], w[(..., *tap)]) for tap, at in found)


def gradients_of(x, w, g, **options):
    padded, inside, found = taps(x, w, **options)
    of_x, of_w = np.zeros_like(padded), np.zeros_like(w)
    for tap, at in found:
        of_x[at] += np.einsum("no...,oi->ni...", g, w[(..., *tap)])
        of_w[(..., *tap)] = np.tensordot(g, padded[at], [[0, *range(2, g.ndim)]] * 2)
    return of_x[(slice(None), slice(None), *inside)], of_w


def multiplies_matrices(kernel, arch):
    text = kernel.source if arch == "sm_90" else kernel.assembly
    return any(name in text for name in ("wgmma_", "mma_f32_", "v_wmma_", "v_mfma_"))


def drawn(shape, rng, dtype):
    return Tensor((rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.25).astype(np.float32)).cast(dtype).realize()


def with_gradients(options):
    def f(x, w, g):
        conv = CONV[len(w.shape) - 2]
        y = conv(x, w, **options)
        return [y, *strata.grad(lambda a, b: (conv(a, b, **options) * g).sum(), argnums=(0, 1))(x, w)]

    return f


def places_of(name):
    x, w, options = CASES[name]
    return convolved(np.zeros((x[0], 1, *x[2:])), np.zeros((1, 1, *w[2:])), **options).shape[2:]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", CASES)
def test_matrix_instructions_compute_each(name, arch):
    x, w, options = CASES[name]
    with strata.config(device=f"emu:{arch if arch != 'sm_90' else 'gfx1100'}"):
        tensors = [Tensor.empty(*s, dtype="bfloat16").realize() for s in (x, w, (x[0], w[0], *places_of(name)))]
        outs = with_gradients(options)(*tensors)
        kernels = strata.compile(outs, arch=arch, target="hip" if arch == "sm_90" else "asm").kernels
    narrow = x[1] < 16  # the gradient of x has fewer channels than instructions have rows
    assert sum(multiplies_matrices(kernel, arch) for kernel in kernels) == 3 - narrow


def test_operands_of_large_ones_are_copied_channels_last():
    with strata.config(device="emu:gfx942"):
        x, w, g = (
            Tensor.empty(*s, dtype="bfloat16").realize() for s in ((8, 128, 23, 21), (128, 128, 3, 3), (8, 128, 23, 21))
        )
        kernels = strata.compile(with_gradients({"padding": 1})(x, w, g), target="asm").kernels
    written = [elements for k in kernels for name, _, elements in k.buffers if name.startswith("out")]
    assert written.count(8 * 25 * 23 * 128) == 2  # x and what arrives at the result, each once


@pytest.mark.parametrize("shape", [(64, 256, 56), (16, 256, 14)], ids=["56x56", "14x14"])
def test_groups_of_waves_compute_those_with_tiles_for_all_units(shape):
    n, channels, side = shape
    with strata.config(device="emu:gfx1100"):
        x = Tensor.empty(n, channels, side, side, dtype="bfloat16")
        y = F.conv2d(x, Tensor.empty(channels, channels, 3, 3, dtype="bfloat16"), padding=1)
        *_, last = strata.compile(y, arch="sm_90").kernels
    assert "wgmma_f32_" in last.source


def test_groups_of_waves_compute_the_gradient_of_weights_in_parts():
    with strata.config(device="emu:gfx1100"):
        x = Tensor.empty(64, 256, 28, 28, dtype="bfloat16")
        w, g = Tensor.empty(256, 256, 3, 3, dtype="bfloat16"), Tensor.empty(64, 256, 28, 28, dtype="bfloat16")
        of_w = strata.grad(lambda b: (F.conv2d(x, b, padding=1) * g).sum())(w)
        kernels = strata.compile(of_w, arch="sm_90").kernels
    (product,) = (kernel for kernel in kernels if "wgmma_f32_" in kernel.source)
    assert product.grid[2] > 1  # parts of the sum: 18 tiles of 128 x 256 leave most units idle


@pytest.mark.parametrize("x, w, options", [
    ((5, 48, 19, 19), (80, 48, 3, 3), {"padding": 1}), ((32, 3, 224, 224), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
])  # fmt: skip
def test_warpgroups_multiply_only_what_lies_in_local_memory(x, w, options):
    """Rows of these begin where no copy of 16 bytes does: waves multiply them alone."""
    with strata.config(device="emu:gfx1100"):
        y = F.conv2d(Tensor.empty(*x, dtype="bfloat16"), Tensor.empty(*w, dtype="bfloat16"), **options)
        (kernel,) = strata.compile(y, arch="sm_90").kernels
    assert "mma_f32_16x16x16_bf16" in kernel.source and "wgmma" not in kernel.source


@pytest.mark.parametrize("fusion", ["cost", "less"])  # less: with copies, whatever the size
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_float64(name, arch, fusion, rng):
    x, w, options = CASES[name]
    with strata.config(device=f"emu:{arch}", target="asm", check="raise", fusion=fusion):
        tensors = [drawn(s, rng, "float16") for s in (x, w, (x[0], w[0], *places_of(name)))]
        got = [t.cast("float32").numpy() for t in with_gradients(options)(*tensors)]
        a, b, g = (t.cast("float64").numpy() for t in tensors)
    for value, expected in zip(got, [convolved(a, b, **options), *gradients_of(a, b, g, **options)], strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=2.0**-9 * np.abs(expected).max())
