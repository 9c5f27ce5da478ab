"""Windows, convolutions and pooling of one to three axes against NumPy's sliding windows, and their gradients."""

import itertools

import numpy as np
import pytest
import strata
from strata import Tensor, functional, nn

AXES = {1: (9,), 2: (7, 6), 3: (5, 4, 6)}


def windows(x, window, stride, dilation):
    axes = tuple(range(x.ndim - len(window), x.ndim))
    reach = [d * (w - 1) + 1 for w, d in zip(window, dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    at = tuple(slice(None, None, s) for s in stride)
    return view[(..., *at, *[slice(None, None, d) for d in dilation])]


def padded(x, padding, value=0):
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding], constant_values=value)


def conv(x, weight, stride, padding, dilation, groups):
    under = windows(padded(x, padding), weight.shape[2:], stride, dilation)
    n, axes = x.shape[0], len(stride)
    under = under.reshape(n, groups, -1, *under.shape[2:])
    weight = weight.reshape(groups, -1, *weight.shape[1:])
    places, inside = "xyz"[:axes], "uvw"[:axes]
    return np.einsum(f"ngc{places}{inside},goc{inside}->ngo{places}", under, weight).reshape(
        n, -1, *under.shape[3 : 3 + axes]
    )


CASES = [(1, 0, 1, 1), (2, 1, 1, 1), (3, 2, 2, 1), (1, 1, 1, 2), (2, 1, 2, 4)]


@pytest.mark.parametrize("stride, padding, dilation, groups", CASES)
@pytest.mark.parametrize("axes", AXES)
def test_convolutions(axes, stride, padding, dilation, groups, rng):
    x = rng.integers(-4, 5, (2, 4, *AXES[axes])).astype(np.float32)
    weight = rng.integers(-4, 5, (8, 4 // groups, *(3, 2, 3)[:axes])).astype(np.float32)
    bias = rng.integers(-4, 5, 8).astype(np.float32)
    got = functional.conv(Tensor(x), Tensor(weight), Tensor(bias), stride, padding, dilation, groups)
    want = conv(x, weight, [stride] * axes, [padding] * axes, [dilation] * axes, groups) + bias.reshape(8, *[1] * axes)
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_convolutions_on_every_arch(arch, target, dtype, rng):
    x, weight = rng.integers(-3, 4, (2, 16, 12, 9)).astype(dtype), rng.integers(-3, 4, (20, 16, 3, 3)).astype(dtype)
    with strata.config(device=f"emu:{arch}", target=target):
        got = functional.conv(Tensor(x), Tensor(weight), padding=(1, 0)).numpy()
    want = conv(x.astype(np.float64), weight.astype(np.float64), [1, 1], [1, 0], [1, 1], 1)
    if (arch, dtype) == ("gfx1100", "float16"):  # whose matrix instructions leave a last bit of sums on the way
        np.testing.assert_allclose(got, want, rtol=0, atol=2.0**-24 * np.abs(want).max())
    else:
        np.testing.assert_array_equal(got, want.astype(dtype))


def test_numbers_for_each_axis(rng):
    x, weight = rng.uniform(-1, 1, (1, 2, 8, 9)), rng.uniform(-1, 1, (3, 2, 2, 3))
    got = functional.conv(Tensor(x), Tensor(weight), stride=(2, 1), padding=(0, 2), dilation=(1, 3))
    np.testing.assert_allclose(got.numpy(), conv(x, weight, (2, 1), (0, 2), (1, 3), 1), rtol=1e-12)


@pytest.mark.parametrize("stride, padding, dilation, groups", CASES)
@pytest.mark.parametrize("axes", AXES)
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(axes, stride, padding, dilation, groups, rng):
    sizes = AXES[axes]
    weight = rng.uniform(-1, 1, (8, 4 // groups, *(3, 2, 3)[:axes]))
    x = rng.uniform(-1, 1, (2, 4, *sizes))
    f = lambda x: functional.conv(x, Tensor(weight), None, stride, padding, dilation, groups)  # noqa: E731
    y, pull_back = strata.vjp(f, Tensor(x))
    g = rng.uniform(-1, 1, y.shape)
    back = pull_back(Tensor(g))[0].numpy()
    reach = [dilation * (w - 1) + 1 for w in weight.shape[2:]]
    beyond = [n - ((p - 1) * stride + r - 2 * padding) for n, p, r in zip(sizes, y.shape[2:], reach)]
    if max(beyond) < stride and all(padding < r for r in reach):
        got = functional.conv_transpose(Tensor(g), Tensor(weight), None, stride, padding, beyond, dilation, groups)
        np.testing.assert_allclose(got.numpy(), back, atol=1e-12)
    # <g, conv(x)> = <conv'(g), x>, by NumPy's convolution
    want = conv(x, weight, [stride] * axes, [padding] * axes, [dilation] * axes, groups)
    np.testing.assert_allclose((g * want).sum(), (back * x).sum(), rtol=1e-9)


def test_the_gradient_of_weights(rng):
    x, weight = rng.uniform(-1, 1, (2, 3, 6, 6)), rng.uniform(-1, 1, (4, 3, 3, 3))
    got = strata.grad(lambda w: functional.conv(Tensor(x), w, stride=2, padding=1).square().sum())(
        Tensor(weight)
    ).numpy()
    y = conv(x, weight, (2, 2), (1, 1), (1, 1), 1)
    under = windows(padded(x, (1, 1)), (3, 3), (2, 2), (1, 1))
    np.testing.assert_allclose(got, np.einsum("noxy,ncxyuv->ocuv", 2 * y, under), rtol=1e-10)


@pytest.mark.parametrize(
    "window, stride, padding, dilation",
    [((2, 2), None, 0, 1), ((3, 2), 1, 1, 1), ((2, 3), (1, 2), (0, 1), 2), (2, None, 0, 1)],
)
def test_pooling(window, stride, padding, dilation, rng):
    x = rng.uniform(-2, -1, (2, 3, 8, 7))
    sizes = (window,) if isinstance(window, int) else window
    each = lambda n: (n,) * len(sizes) if isinstance(n, int) else n  # noqa: E731
    steps = sizes if stride is None else each(stride)
    last = tuple(range(-len(sizes), 0))
    want = windows(padded(x, each(padding), -np.inf), sizes, steps, each(dilation)).max(last)
    np.testing.assert_array_equal(functional.max_pool(Tensor(x), window, stride, padding, dilation).numpy(), want)
    sums = windows(padded(x, each(padding)), sizes, steps, each(1)).sum(last)
    there = windows(padded(np.ones_like(x), each(padding)), sizes, steps, each(1)).sum(last)
    np.testing.assert_allclose(
        functional.avg_pool(Tensor(x), window, stride, padding).numpy(), sums / np.prod(sizes), rtol=1e-12
    )
    np.testing.assert_allclose(
        functional.avg_pool(Tensor(x), window, stride, padding, False).numpy(), sums / there, rtol=1e-12
    )


def test_pooling_of_integers():
    x = np.arange(16, dtype=np.int32).reshape(4, 4) - 20
    np.testing.assert_array_equal(
        functional.max_pool(Tensor(x), (2, 2), padding=1).numpy(),
        padded(x, (1, 1), -99).reshape(3, 2, 3, 2).max((1, 3)),
    )


def test_windows_of_every_size():
    x = np.arange(11)
    for size, window, stride, dilation in itertools.product((1, 5, 11), (1, 2, 4), (1, 2, 5), (1, 3)):
        if dilation * (window - 1) < size:
            got = functional.windows(Tensor(x[:size]), window, stride, dilation).numpy()
            np.testing.assert_array_equal(got, windows(x[:size], [window], [stride], [dilation]))


def test_a_convolution_is_one_kernel_and_reads_its_inputs_once():
    x, weight = (
        Tensor(np.ones((4, 8, 32, 32), np.float32)).realize(),
        Tensor(np.ones((16, 8, 3, 3), np.float32)).realize(),
    )
    strata.reset_stats()
    functional.conv(x, weight, padding=1).relu().realize()
    assert strata.stats().kernels == 1 and strata.stats().bytes == 4 * (x.size + weight.size + 4 * 16 * 32 * 32)


@pytest.mark.parametrize("axes", AXES)
def test_layers(axes, rng):
    layer = getattr(nn, f"Conv{axes}d")(4, 6, 3, stride=2, padding=1, groups=2, dtype="float64")
    x = rng.uniform(-1, 1, (2, 4, *AXES[axes]))
    want = conv(x, layer.weight.numpy(), [2] * axes, [1] * axes, [1] * axes, 2) + layer.bias.numpy().reshape(
        6, *[1] * axes
    )
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), want, rtol=1e-12, atol=1e-14)
    other = getattr(nn, f"ConvTranspose{axes}d")(6, 4, 3, stride=2, padding=1, output_padding=1)
    assert other(Tensor.zeros(2, 6, *(4,) * axes)).shape == (2, 4, *(8,) * axes)
    with pytest.raises(strata.ShapeError, match=f"{axes} sizes"):
        layer(Tensor.zeros(4, 8))


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("kind", ["Max", "Avg"])
def test_pooling_layers_have_as_many_axes_as_their_names(rng, axes, kind):
    x = Tensor(rng.uniform(-1, 1, (2, 3, *AXES[axes])))
    layer, general = getattr(nn, f"{kind}Pool{axes}d"), getattr(nn, f"{kind}Pool")
    np.testing.assert_array_equal(layer(2)(x).numpy(), general((2,) * axes)(x).numpy())
    np.testing.assert_array_equal(layer(3, 1, 1)(x).numpy(), general((3,) * axes, 1, 1)(x).numpy())
    assert repr(layer(2)) == f"{kind}Pool{axes}d({(2,) * axes})"
    with pytest.raises(strata.UsageError, match=rf"{kind}Pool{axes}d\] a kernel_size of {axes + 1} axes"):
        layer((2,) * (axes + 1))


def test_an_image_goes_through_a_small_net(rng):
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm(4),
        nn.ReLU(),
        nn.MaxPool((2, 2)),
        nn.AvgPool((2, 2)),
        nn.Flatten(),
        nn.Linear(16, 10),
    )
    x, target = Tensor(rng.uniform(0, 1, (5, 1, 8, 8)).astype(np.float32)), Tensor(rng.integers(0, 10, 5))
    first = None
    step = strata.optim.Adam(net.parameters(), 0.02)
    for _ in range(12):
        loss = nn.cross_entropy(net(x), target)
        first = first or loss.item()
        loss.backward()
        step()
    assert loss.item() < 0.5 * first


def test_errors_name_shapes_and_numbers():
    x, weight = Tensor.zeros(1, 4, 8, 8), Tensor.zeros(6, 4, 3, 3)
    for call, kind, text in [
        (lambda: functional.conv(x, Tensor.zeros(6, 3, 3, 3)), strata.ShapeError, "channels do not fit"),
        (lambda: functional.conv(x, weight, groups=3), strata.ShapeError, "3 groups"),
        (lambda: functional.conv(x, weight, Tensor.zeros(5)), strata.ShapeError, r"must be \(6,\)"),
        (lambda: functional.conv(x, weight, stride=0), strata.UsageError, "stride.*at least 1"),
        (lambda: functional.conv(x, weight, stride=(1, 2, 3)), strata.UsageError, "3 axes|for 2 axes"),
        (lambda: functional.conv(x, Tensor.zeros(6, 4, 9, 3)), strata.ShapeError, "do not fit axis"),
        (lambda: functional.conv(x, Tensor.zeros(6, 4, 3)), strata.ShapeError, "as many axes"),
        (lambda: functional.max_pool(x, 2, padding=2), strata.UsageError, "more than half"),
        (lambda: functional.conv_transpose(x, Tensor.zeros(4, 2, 3, 3), output_padding=1), strata.UsageError,
            "below the stride"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=text):
            call()


@pytest.mark.parametrize(
    "x, weight, stride, padding",
    [
        ((2, 32, 16, 32), (64, 32, 3, 3), 1, 1),
        ((1, 3, 64, 64), (64, 3, 7, 7), 2, 3),
        ((2, 64, 14, 14), (64, 64, 1, 1), 1, 0),
        ((4, 20, 300), (96, 20, 3), 1, 1),
        ((8, 16, 28, 28), (16, 16, 3, 3), 1, 1),
        ((8, 16, 28, 28), (5, 16, 3, 3), 1, 1),
    ],
)
def test_convolutions_in_tiles(x, weight, stride, padding, rng):
    x, weight = rng.integers(-4, 5, x).astype("float32"), rng.integers(-4, 5, weight).astype("float32")
    axes = x.ndim - 2
    got = (nn.functional.conv1d if axes == 1 else nn.functional.conv2d)(
        Tensor(x), Tensor(weight), stride=stride, padding=padding
    )
    np.testing.assert_array_equal(got.numpy(), conv(x, weight, (stride,) * axes, (padding,) * axes, (1,) * axes, 1))


@pytest.mark.usual_schedules
@pytest.mark.parametrize(
    "x, weight, stride, padding, tflops",
    [
        ((16, 64, 32, 32), (64, 64, 3, 3), 1, 1, 15),
        ((1, 3, 224, 224), (64, 3, 7, 7), 2, 3, 12),
        ((8, 256, 28, 28), (256, 256, 1, 1), 1, 0, 28),
        ((8, 16, 28, 28), (16, 16, 3, 3), 1, 1, 1.8),
    ],
)
def test_convolutions_are_tiled_by_both_factors_without_a_search(x, weight, stride, padding, tflops):
    with strata.config(emu_model="7900xtx", emu_sampled=True, device="emu:gfx1100", target="asm"):
        y = nn.functional.conv2d(
            Tensor.empty(*x).realize(), Tensor.empty(*weight).realize(), stride=stride, padding=padding
        )
        strata.reset_stats()
        y.realize()
    assert 2 * y.numel() * np.prod(weight[1:]) / strata.stats().time_ms * 1e-9 >= tflops
