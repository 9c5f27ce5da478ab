"""Movement: reshape, permute, expand, pad, shrink, flip and functions made of them."""

import numpy as np
import pytest
import strata
from hypothesis import given, strategies as st
from strata import Tensor

SHAPES = [(), (0,), (1,), (7,), (3, 0), (5, 7), (1, 1), (13, 1), (2, 3, 5), (2, 1, 3, 1, 5)]


def sample(shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)


def same(t, expected):
    assert t.shape == expected.shape
    np.testing.assert_array_equal(t.numpy(), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_every_shape_can_do(shape):
    x = sample(shape)
    t = Tensor(x)
    same(t.flatten() if shape else t.reshape(1), x.reshape(-1))
    same(t.T, x.T)
    same(t.unsqueeze(0), x[None])
    same(t.unsqueeze(-1), x[..., None])
    same(t.flip(), np.flip(x))
    same(t.squeeze(), np.squeeze(x))
    same(t.expand((4, *shape)), np.broadcast_to(x, (4, *shape)))
    same(t.pad([(1, 2)] * len(shape)), np.pad(x, [(1, 2)] * len(shape)) if shape else x)
    same(t.permute(*range(len(shape)))[...], x)
    same(t.contiguous(), x)


@pytest.mark.parametrize(
    "source, target",
    [
        ((6,), (2, 3)),
        ((2, 3), (3, 2)),
        ((2, 3, 4), (6, -1)),
        ((24,), (2, 3, 4)),
        ((0, 3), (3, 0)),
        ((1,), ()),
        ((), (1, 1, 1)),
        ((5, 7), (7, 5)),
        ((2, 1, 3), (3, 1, 2)),
        ((4, 6), (2, 2, 3, 2)),
        ((3, 5, 7), (105,)),
    ],
)
def test_reshape(source, target):
    x = sample(source)
    same(Tensor(x).reshape(target), x.reshape(target))
    if x.ndim >= 2:
        same(Tensor(x).T.reshape(target), x.T.reshape(target))  # not contiguous
        same(Tensor(x).flip(0).reshape(target), x[::-1].reshape(target))


def test_permute_and_transpose():
    x = sample((2, 3, 4, 5, 6))
    t = Tensor(x)
    same(t.permute(4, 2, 0, 1, 3), x.transpose(4, 2, 0, 1, 3))
    same(t.permute((0, -1, 1, 2, 3)), x.transpose(0, 4, 1, 2, 3))
    same(t.transpose(), x.swapaxes(-2, -1))
    same(t.transpose(0, 3), x.swapaxes(0, 3))
    same(t.mT, x.swapaxes(-2, -1))
    same(t.movedim(0, -1), np.moveaxis(x, 0, -1))
    same(t.movedim(3, 1), np.moveaxis(x, 3, 1))
    same(t.permute(1, 0, 2, 4, 3).permute(1, 0, 2, 4, 3), x)


def test_expand_pad_shrink_flip():
    x = sample((3, 1, 5))
    t = Tensor(x)
    same(t.expand(3, 4, 5), np.broadcast_to(x, (3, 4, 5)))
    same(t.expand(-1, 2, -1), np.broadcast_to(x, (3, 2, 5)))
    same(t.broadcast_to((2, 3, 4, 5)), np.broadcast_to(x, (2, 3, 4, 5)))
    same(t.pad([(1, 0), (2, 3), (0, 4)]), np.pad(x, [(1, 0), (2, 3), (0, 4)]))
    same(t.pad([(1, 1), (0, 0), (0, 1)], value=-7), np.pad(x, [(1, 1), (0, 0), (0, 1)], constant_values=-7))
    same(t.shrink([(1, 3), (0, 1), (2, 2)]), x[1:3, :, 2:2])
    same(t.shrink([(0, 2), (0, 1), (1, 4)]), x[0:2, :, 1:4])
    same(t.flip((0, -1)), x[::-1, :, ::-1])
    same(t.flip(2), x[..., ::-1])
    same(
        t.pad([(2, 2), (1, 1), (0, 3)]).flip(0).permute(2, 0, 1),
        np.pad(x, [(2, 2), (1, 1), (0, 3)])[::-1].transpose(2, 0, 1),
    )
    same(
        (t.pad([(1, 1), (0, 0), (1, 1)]) * 2).pad([(1, 1), (0, 0), (0, 0)], value=5),
        np.pad(np.pad(x, [(1, 1), (0, 0), (1, 1)]) * 2, [(1, 1), (0, 0), (0, 0)], constant_values=5),
    )


def test_a_pad_does_not_read_what_it_hides():
    x = Tensor([0.0, 1.0])
    same((1 / x).pad([(1, 1)]), np.array([0, np.inf, 1, 0], np.float32))


def test_squeeze_flatten_unflatten():
    x = sample((1, 2, 1, 6, 1))
    t = Tensor(x)
    same(t.squeeze(), x.squeeze())
    same(t.squeeze(0), x.squeeze(0))
    same(t.squeeze((0, -1)), x.squeeze((0, 4)))
    same(t.flatten(1), x.reshape(1, 12))
    same(t.flatten(1, 3), x.reshape(1, 12, 1))
    same(t.unflatten(3, (2, 3)), x.reshape(1, 2, 1, 2, 3, 1))
    same(t.unflatten(3, (-1, 2)), x.reshape(1, 2, 1, 3, 2, 1))


def test_joining_and_parting():
    x, y, z = sample((2, 3)), sample((4, 3)) * 10, sample((0, 3))
    same(strata.cat([Tensor(x), Tensor(y), Tensor(z)]), np.concatenate([x, y, z]))
    same(strata.cat([Tensor(x), Tensor(x) + 1], axis=-1), np.concatenate([x, x + 1], axis=1))
    same(strata.cat([Tensor(x.T), Tensor(y.T)], axis=1), np.concatenate([x.T, y.T], axis=1))
    same(strata.stack([Tensor(x), Tensor(x) * 2]), np.stack([x, x * 2]))
    same(strata.stack([Tensor(x)] * 3, axis=-1), np.stack([x] * 3, axis=-1))
    mixed = strata.cat([Tensor(x), Tensor(x.astype(np.float32) / 2)])
    assert mixed.dtype.name == "float32"
    same(mixed, np.concatenate([x, x / 2]).astype(np.float32))
    t, whole = Tensor(sample((7, 2))), sample((7, 2))
    for got, expected in [
        (t.split(3), np.split(whole, [3, 6])),
        (t.split([1, 4, 2]), np.split(whole, [1, 5])),
        (t.chunk(3), [whole[:3], whole[3:6], whole[6:]]),
    ]:
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            same(g, e)


def test_repeat_tile_roll():
    x = sample((2, 3))
    t = Tensor(x)
    same(t.repeat(3), np.repeat(x, 3))
    same(t.repeat(2, axis=0), np.repeat(x, 2, axis=0))
    same(t.repeat(2, axis=-1), np.repeat(x, 2, axis=-1))
    same(t.tile(2, 3), np.tile(x, (2, 3)))
    same(t.tile(2), np.tile(x, 2))
    same(t.tile(2, 1, 2), np.tile(x, (2, 1, 2)))
    for shift in (-4, -1, 0, 2, 5):
        same(t.roll(shift, 1), np.roll(x, shift, 1))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda t: t.reshape(5, 5), ["(3, 4)", "(5, 5)"]),
        (lambda t: t.reshape(-1, 5), ["(3, 4)", "5"]),
        (lambda t: t.expand(3, 5), ["(3, 4)", "(3, 5)"]),
        (lambda t: t.permute(0, 0), ["permute"]),
        (lambda t: t.squeeze(0), ["(3, 4)"]),
        (lambda t: t.transpose(0, 2), ["2"]),
        (lambda t: t.shrink([(0, 9), (0, 4)]), ["(3, 4)"]),
        (lambda t: t.pad([(1, 1)]), ["(3, 4)"]),
        (lambda t: strata.cat([t, Tensor.zeros(3, 5)]), ["(3, 4)", "(3, 5)"]),
        (lambda t: strata.stack([t, Tensor.zeros(4, 3)]), ["(3, 4)", "(4, 3)"]),
    ],
)
def test_errors_name_shapes(call, words):
    with pytest.raises(strata.Error) as e:
        call(Tensor.zeros(3, 4))
    assert isinstance(e.value, (strata.ShapeError, strata.UsageError))
    for word in words:
        assert word in str(e.value)


STEPS = ["flip", "permute", "pad", "shrink", "reshape", "expand"]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 10**6)), min_size=1, max_size=5))
def test_any_chain_of_movements(steps):
    x = sample((2, 3, 4))
    t = Tensor(x)
    for step, seed in steps:
        rng = np.random.default_rng(seed)
        n = x.ndim
        if step == "flip":
            axes = tuple(int(a) for a in np.flatnonzero(rng.integers(0, 2, n)))
            x, t = np.flip(x, axes), t.flip(axes) if axes else t
        elif step == "permute":
            order = [int(a) for a in rng.permutation(n)]
            x, t = x.transpose(order), t.permute(order)
        elif step == "pad":
            widths = [(int(a), int(b)) for a, b in rng.integers(0, 3, (n, 2))]
            x, t = np.pad(x, widths), t.pad(widths)
        elif step == "shrink":
            bounds = [sorted(int(v) for v in rng.integers(0, size + 1, 2)) for size in x.shape]
            bounds = [(a, b) if a < b else (0, size) for (a, b), size in zip(bounds, x.shape)]
            x, t = x[tuple(slice(a, b) for a, b in bounds)], t.shrink(bounds)
        elif step == "reshape":
            shape = (x.shape[0] * x.shape[1], *x.shape[2:]) if n > 1 else (1, -1)
            x, t = x.reshape(shape), t.reshape(shape)
        elif x.size < 2000:
            x, t = np.broadcast_to(x, (2, *x.shape)), t.expand((2, *x.shape))
    same(t, x)
