"""Gradients fuse as their functions do: how many kernels they are, and how many bytes they move."""

import numpy as np
import pytest
import strata
from strata import Tensor, functional, nn


def ones(*shape):
    return Tensor(np.ones(shape, np.float32)).realize()


def whole(high, *shape):
    return Tensor((np.arange(np.prod(shape)) % high).reshape(shape).astype(np.int32)).realize()


LABELS, PLACES, GROUPS = whole(256, 64), whole(256, 64, 32), nn.GroupNorm(2, 8)
# function, tensors that it is differentiated by, the most kernels of all these gradients together. A kernel more is a
# value written to memory and read again.
KERNELS = {
    "gelu": (lambda x: x.gelu() * 2, [ones(64, 256)], 1),
    "softmax": (lambda x: x.softmax(-1), [ones(64, 256)], 1),
    "log_softmax": (lambda x: x.log_softmax(-1), [ones(64, 256)], 1),
    "rmsnorm by x": (nn.rmsnorm, [ones(64, 256)], 1),
    "rmsnorm": (nn.rmsnorm, [ones(64, 256), ones(256)], 1),
    "layernorm": (lambda x, w, b: nn.layernorm(x, 1, w, b), [ones(64, 256), ones(256), ones(256)], 2),
    "GroupNorm": (GROUPS, [ones(4, 8, 32, 32)], 1),
    "matmul": (lambda a, b: a @ b, [ones(64, 256), ones(256, 64)], 2),
    "linear, gelu": (lambda x, w, b: nn.linear(x, w, b).gelu(), [ones(64, 256), ones(64, 256), ones(64)], 4),
    "attention": (lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True), [ones(2, 4, 32, 16)] * 3, 6),
    "matmul, relu": (lambda a, b: (a @ b).relu(), [ones(64, 256), ones(256, 64)], 3),
    "conv1d": (lambda x, w: functional.conv(x, w, None, 1, 1), [ones(4, 8, 64), ones(16, 8, 3)], 2),
    "conv2d": (lambda x, w: functional.conv(x, w, None, 2, 1), [ones(4, 8, 32, 32), ones(16, 8, 3, 3)], 2),
    "conv3d": (lambda x, w: functional.conv(x, w, None, 1, 1), [ones(2, 4, 10, 10, 10), ones(8, 4, 3, 3, 3)], 2),
    "conv_transpose1d": (lambda x, w: functional.conv_transpose(x, w, None, 2, 1), [ones(4, 8, 64), ones(8, 16, 3)], 2),
    "conv_transpose2d": (
        lambda x, w: functional.conv_transpose(x, w, None, 2, 1),
        [ones(4, 8, 32, 32), ones(8, 16, 3, 3)],
        2,
    ),
    "conv_transpose3d": (
        lambda x, w: functional.conv_transpose(x, w, None, 2, 1),
        [ones(2, 4, 10, 10, 10), ones(4, 8, 3, 3, 3)],
        2,
    ),
    "windows": (lambda x: functional.windows(x, (3, 3), 2), [ones(4, 8, 32, 32)], 1),
    "max_pool": (lambda x: functional.max_pool(x, (3, 3), 2, 1), [ones(4, 8, 32, 32)], 2),
    "avg_pool": (lambda x: functional.avg_pool(x, (3, 3), 2, 1), [ones(4, 8, 32, 32)], 2),
    "take": (lambda x: x.take(LABELS, 1), [ones(64, 256)], 1),
    "gather": (lambda x: x.gather(1, PLACES), [ones(64, 256)], 1),
    "embedding": (lambda w: nn.embedding(PLACES, w), [ones(256, 16)], 1),
    "scatter_add": (lambda x, v: x.scatter_add(1, PLACES, v), [ones(64, 256), ones(64, 32)], 1),
    "cumsum": (lambda x: x.cumsum(1), [ones(64, 256)], 2),
    "cumprod": (lambda x: x.cumprod(1), [ones(64, 256)], 3),
    "logcumsumexp": (lambda x: strata.logcumsumexp(x, 1), [ones(64, 256)], 6),
    "cross_entropy": (lambda x: nn.cross_entropy(x, LABELS), [ones(64, 256)], 1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_fuse_as_their_functions_do(name):
    """With a given seed, so that no loss counts."""
    f, arguments, most = KERNELS[name]
    # Tensors of one value would be one tensor.
    arguments = [Tensor(x.numpy() + i).realize() for i, x in enumerate(arguments)]
    y, back = strata.vjp(f, *arguments)
    seed = Tensor(np.full(y.shape, 0.5, np.float32)).realize()
    assert len(strata.compile(list(back(seed))).kernels) <= most


@pytest.mark.usual_schedules
def test_gradients_of_products_move_little_more_than_the_factors():
    swiglu = lambda x, w, v: nn.linear(x, w).silu() * nn.linear(x, v)
    for f, arguments in (
        (KERNELS["linear, gelu"][0], [ones(64, 256), ones(128, 256), ones(128)]),
        (swiglu, [ones(64, 256), ones(128, 256), ones(128, 256)]),
    ):
        arguments = [Tensor(x.numpy() + i).realize() for i, x in enumerate(arguments)]
        y, back = strata.vjp(f, *arguments)
        gradients = back(Tensor(np.full(y.shape, 0.5, np.float32)).realize())
        strata.reset_stats()
        strata.realize(list(gradients))
        assert strata.stats().bytes < 5 * 4 * sum(x.size for x in arguments)


def test_the_gradient_of_a_weighted_sum_is_the_weights_and_no_kernel():
    x, w = ones(64, 256), Tensor(np.linspace(-2, 3, 64 * 256, dtype=np.float32).reshape(64, 256)).realize()
    before = w.numpy()
    gradient = strata.grad(lambda x: (x * w).sum())(x)
    strata.reset_stats()
    gradient.realize()
    assert strata.stats().kernels == 0
    w[0] = 7
    gradient[1] = 9
    assert np.array_equal(gradient.numpy()[[0, *range(2, 64)]], before[[0, *range(2, 64)]])
    assert np.array_equal(w.numpy()[1:], before[1:])
    captured = strata.jit(lambda x, w: strata.grad(lambda x: (x * w).sum())(x))
    for factor in (1, 2, 3, 4):
        assert np.array_equal(captured(x, (x * factor).realize()).numpy(), np.full((64, 256), factor, np.float32))


def test_gradients_of_rounded_products_read_the_seed_where_it_lies():
    def of(x, w, g):
        return strata.grad(lambda x, w: ((x @ w) * g).cast("float32").sum(), (0, 1))(x, w)

    large = of(*(Tensor.empty(2048, 2048, dtype="bfloat16") for _ in range(3)))
    assert len(strata.compile(list(large), arch="gfx942", target="asm").kernels) == 2
    gradients = of(*(Tensor(np.full((64, 64), value)).cast("bfloat16") for value in (1, 2, 3)))
    assert [float(d.cast("float32").mean().item()) for d in gradients] == [3 * 2 * 64, 3 * 64]
