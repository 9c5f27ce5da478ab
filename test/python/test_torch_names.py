"""strata.nn.functional: torch.nn.functional's names and arguments, against NumPy, and against torch where that is installed."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import strata
import strata.nn.functional as F
from strata import Tensor, nn

try:
    import torch
except ImportError:
    torch = None

RNG = np.random.default_rng(2)


def f32(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def close(got, want):
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-5)


def windows(x, window, stride, padding=0, fill=0.0):
    """(n, channels, places, window)."""
    axes = len(window)
    x = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * axes, constant_values=fill)
    return sliding_window_view(x, window, tuple(range(2, 2 + axes)))[(..., *[slice(None, None, stride)] * axes, *[slice(None)] * axes)]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_and_pools_of_one_to_three_sizes(axes):
    x, w, b = f32(2, 3, *(7, 6, 5)[:axes]), f32(4, 3, *(3, 2, 3)[:axes]), f32(4)
    conv, transposed = getattr(F, f"conv{axes}d"), getattr(F, f"conv_transpose{axes}d")
    want = np.tensordot(windows(x, w.shape[2:], 2, 1), w, (([1, *range(-axes, 0)]), [1, *range(2, 2 + axes)]))
    want = np.moveaxis(want, -1, 1) + b.reshape(-1, *[1] * axes)
    close(conv(Tensor(x), Tensor(w), Tensor(b), 2, 1), want)
    close(conv(Tensor(x[0]), Tensor(w), Tensor(b), stride=2, padding=1), want[0])
    y = f32(*want.shape)
    back = strata.vjp(lambda x: conv(x, Tensor(w), stride=2, padding=1), Tensor(x))[1](Tensor(y))[0]
    more = [size - (2 * (places - 1) + k - 2) for size, places, k in zip(x.shape[2:], y.shape[2:], w.shape[2:])]
    close(transposed(Tensor(y), Tensor(w), None, 2, 1, more), back.numpy())
    window = (3, 2, 2)[:axes]
    inner = tuple(range(-axes, 0))
    close(getattr(F, f"max_pool{axes}d")(Tensor(x), window, 2), windows(x, window, 2).max(inner))
    close(getattr(F, f"max_pool{axes}d")(Tensor(x), 2), windows(x, (2,) * axes, 2).max(inner))
    close(getattr(F, f"avg_pool{axes}d")(Tensor(x), window, 1, 1), windows(x, window, 1, 1).mean(inner))
    with pytest.raises(strata.ShapeError, match=f"conv{axes}d"):
        conv(Tensor(f32(3)), Tensor(w))
    with pytest.raises(strata.UsageError, match=f"max_pool{axes}d"):
        getattr(F, f"max_pool{axes}d")(Tensor(x), (2,) * 4)


def test_dropout_is_that_of_the_layer():
    x = Tensor.ones(50, 40)
    strata.manual_seed(3)
    got = F.dropout(x, 0.25).numpy()
    strata.manual_seed(3)
    np.testing.assert_array_equal(got, nn.Dropout(0.25)(x).numpy())
    assert set(np.unique(got)) == {0.0, np.float32(1 / 0.75)} and abs(got.mean() - 1) < 0.06
    assert F.dropout(x, 0.5, training=False) is x and F.dropout(x, 1.0).sum().item() == 0
    with pytest.raises(strata.UsageError, match="between 0 and 1"):
        F.dropout(x, 1.5)


def test_others_are_numpys():
    x, y, w, b = f32(3, 8), f32(3, 8), f32(5, 8), f32(5)
    t, u, e = Tensor(x), Tensor(y), np.exp(x)
    centred = x - x.mean(1, keepdims=True)
    for got, want in [
        (F.linear(t, Tensor(w), Tensor(b)), x @ w.T + b), (F.softmax(t, dim=0), e / e.sum(0)), (F.log_softmax(t, 1), np.log(e / e.sum(1, keepdims=True))), (F.leaky_relu(t, 0.2), np.where(x > 0, x, 0.2 * x)), (F.elu(t, 2.0), np.where(x > 0, x, 2 * np.expm1(x))),
        (F.softplus(t), np.log1p(e)), (F.logsigmoid(t), -np.log1p(1 / e)), (F.glu(t), x[:, :4] / (1 + np.exp(-x[:, 4:]))), (F.layer_norm(t, 8), centred / np.sqrt(x.var(1, keepdims=True) + 1e-5)), (F.normalize(t), x / np.linalg.norm(x, axis=1, keepdims=True)),
        (F.cosine_similarity(t, u), (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)), (F.mse_loss(t, u), ((x - y) ** 2).mean()), (F.l1_loss(t, u, "sum"), abs(x - y).sum()), (F.huber_loss(t, u, delta=0.5), np.where(abs(x - y) < 0.5, (x - y) ** 2 / 2, 0.5 * (abs(x - y) - 0.25)).mean()),
        (F.cross_entropy(t, Tensor([1, 0, 7])), -np.log(e / e.sum(1, keepdims=True))[range(3), [1, 0, 7]].mean()), (F.nll_loss(t, Tensor([1, 0, 7])), -x[range(3), [1, 0, 7]].mean()), (F.pad(t, (1, 2)), np.pad(x, ((0, 0), (1, 2)))), (F.pad(t, (1, 2, 0, 3), value=4), np.pad(x, ((0, 3), (1, 2)), constant_values=4)),
        (F.pad(t, (2, 1), "reflect"), np.pad(x, ((0, 0), (2, 1)), "reflect")), (F.one_hot(Tensor([2, 0]), 3), np.eye(3)[[2, 0]]),
    ]:  # fmt: skip
        close(got, want)


def test_names_that_tensors_do_not_have_lead_there():
    for name in ("conv2d", "conv_transpose1d", "max_pool2d", "dropout"):
        with pytest.raises(AttributeError, match=rf"strata\.nn\.functional\.{name}\("):
            getattr(Tensor([1.0]), name)
        assert callable(getattr(F, name))


@pytest.mark.skipif(torch is None, reason="torch is not installed")
def test_arguments_in_order_mean_what_they_do_in_torch():
    T = torch.nn.functional
    image, kernel, bias, square = f32(2, 4, 6, 5), f32(4, 2, 3, 3), f32(4), f32(4, 4, 3, 3)
    for name, given in [
        ("conv2d", (image, kernel, bias, (2, 1), 1, 1, 2)), ("conv_transpose2d", (image, kernel, None, 2, 1, 1, 2, 1)), ("conv_transpose2d", (image, square, bias, 2, 1, 0, 1, 2)), ("max_pool2d", (image, 3, 2, 1)), ("avg_pool2d", (image, (2, 3), (1, 2), 1)), ("pad", (image, (1, 1, 2, 0), "replicate")),
        ("layer_norm", (image, (6, 5))), ("glu", (image, 1)), ("normalize", (image, 1.0, 2)), ("softmax", (image, 1)), ("gelu", (image,)),
    ]:  # fmt: skip
        ours, theirs = ([make(v) if isinstance(v, np.ndarray) else v for v in given] for make in (Tensor, torch.tensor))
        close(getattr(F, name)(*ours), getattr(T, name)(*theirs).numpy())
