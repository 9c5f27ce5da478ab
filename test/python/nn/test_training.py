"""Cost and result of training: the same bits each time, less memory with checkpoints, gradients in as few kernels as
they can be.
"""

import gc

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim


class Net(nn.Module):
    def __init__(self):
        self.image = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.GELU(), nn.MaxPool((2, 2)), nn.Flatten()
        )
        self.attention, self.norm = nn.MultiheadAttention(16, 2, causal=True), nn.LayerNorm(16)
        self.out = nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 5))

    def forward(self, x):
        x = self.image(x).reshape(-1, 4, 16)
        return self.out((x + self.attention(self.norm(x))).flatten(1))


def trained(threads, captured):
    """The bytes of all losses and parameters after a few steps."""
    with strata.config(emu_threads=threads):
        strata.manual_seed(11)
        rng = np.random.default_rng(5)
        net = Net()
        step = optim.AdamW(net.parameters(), optim.cosine(1e-2, 5, warmup=1))

        def train(x, y):
            loss = nn.cross_entropy(net(x), y)
            loss.backward()
            optim.clip_grad_norm(net.parameters(), 1.0)
            step()
            return loss

        run = strata.jit(train) if captured else train
        losses = [
            run(Tensor(rng.standard_normal((8, 1, 8, 8)).astype(np.float32)), Tensor(rng.integers(0, 5, 8))).numpy()
            for _ in range(5)
        ]
        assert losses[-1] < losses[0] * 2
        return [a.tobytes() for a in losses], {name: t.numpy().tobytes() for name, t in net.state_dict().items()}


def test_a_model_trained_twice_gives_the_same_bits_on_any_number_of_threads():
    first = trained(1, False)
    for threads, captured in ((1, False), (2, False), (1, True), (2, True)):
        assert trained(threads, captured) == first, (threads, captured)


def peak(wrap, layers=8, rows=4096, width=32):
    """(bytes of device memory that a step takes at its peak, gradients)."""
    rng = np.random.default_rng(0)
    weights = [
        Tensor(rng.uniform(-0.2, 0.2, (width, width)).astype(np.float32)).requires_grad_() for _ in range(layers)
    ]
    x = Tensor(rng.uniform(-1, 1, (rows, width)).astype(np.float32))
    strata.realize([x, *weights])
    gc.collect()
    strata.reset_stats()
    before, h = strata.stats().live_bytes, x
    for w in weights:
        h = wrap(lambda h, w=w: ((h @ w).tanh() @ w).tanh() + h)(h)
    h.square().mean().backward()
    strata.realize([w.grad for w in weights])
    return strata.stats().peak_bytes - before, [w.grad.numpy() for w in weights]


def test_checkpoints_keep_less_memory_and_give_the_same_gradients():
    with strata.config(emu_timed=False):
        plain, wanted = peak(lambda f: f)
        less, got = peak(strata.checkpoint)
    assert less < 0.75 * plain, (less, plain)
    for a, b in zip(wanted, got):
        np.testing.assert_array_equal(a, b)


# Kernels of a value, and of the gradients by all of its arguments.

IDS = np.random.default_rng(0).integers(0, 32, 16)
KERNELS = {
    "sum": (lambda x: x.sum(1), [(64, 256)], 1, 1),
    "max": (lambda x: x.max(1), [(64, 256)], 1, 1),
    "logsumexp": (lambda x: x.logsumexp(1), [(64, 256)], 1, 1),
    "softmax": (lambda x: x.softmax(-1), [(64, 256)], 1, 1),
    "variance": (lambda x: x.var(1), [(64, 256)], 1, 1),
    "product": (lambda x: x.prod(1), [(64, 256)], 1, 1),
    "running sum": (lambda x: x.cumsum(1), [(64, 256)], 1, 2),
    "running product": (lambda x: x.cumprod(1), [(64, 256)], 1, 3),  # of values that may be zero
    "rows of a table": (lambda x: x.take(Tensor(IDS), 0), [(32, 64)], 1, 4),
    "matmul": (lambda a, b: a @ b, [(64, 64), (64, 64)], 1, 2),
    "layernorm": (lambda x, w, b: nn.layernorm(x, 1, w, b), [(64, 256), (256,), (256,)], 1, 3),
    "rmsnorm": (lambda x, w: nn.rmsnorm(x, w), [(64, 256), (256,)], 1, 2),
    "attention": (lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True), [(2, 32, 16)] * 3, 1, 6),
    "convolution": (lambda x, w: strata.functional.conv(x, w, padding=1), [(2, 4, 8, 8), (8, 4, 3, 3)], 1, 4),
}


@pytest.mark.parametrize("name", KERNELS)
def test_values_and_gradients_take_so_few_kernels(name, rng):
    f, shapes, forward, backward = KERNELS[name]
    arguments = [Tensor(rng.uniform(0.5, 1, s).astype(np.float32)).realize() for s in shapes]
    y = f(*arguments)
    assert len(strata.compile(y).kernels) == forward
    seed = Tensor(rng.uniform(-1, 1, y.shape).astype(np.float32)).realize()
    gradients = list(strata.vjp(f, *arguments)[1](seed))
    strata.reset_stats()
    strata.realize([g.contiguous() for g in gradients])
    assert strata.stats().kernels <= backward
