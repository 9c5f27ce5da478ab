"""A training step keeps little more than a careful implementation does. That is parameters, moments of an optimiser,
the logits of a head, and the activations that gradients need. Each value is kept once and in its own type.

Nothing is compiled or run: what is kept follows from the schedule, as strata.explain(..., memory=True) tells it.
"""

import numpy as np
import pytest
from strata import Tensor, _strata, nn, optim


def mlp(width=256, rows=1024, layers=3):
    net = nn.Sequential(
        *[m for _ in range(layers) for m in (nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))]
    )
    x = Tensor.rand(rows, width).cast("bfloat16").contiguous().realize()
    saved = layers * rows * 2 * (width + 2 * 4 * width)  # of each layer its input, and both sides of the activation
    return net, lambda: net(x).square().mean(), saved


class Block(nn.Module):
    """A block of a transformer without its attention."""

    def __init__(self, width):
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        return x + self.mlp(x)


def language_model(width, layers, rows, words):
    net = nn.Sequential(
        nn.Embedding(words, width),
        *[Block(width) for _ in range(layers)],
        nn.LayerNorm(width),
        nn.Linear(width, words),
    )
    r = np.random.default_rng(0)
    ids, wanted = (Tensor(r.integers(0, words, rows)).realize() for _ in range(2))
    saved = layers * rows * 2 * (2 * width + 2 * 4 * width) + rows * words * (2 + 2)  # logits and their gradient
    return net, lambda: nn.cross_entropy(net(ids), wanted), saved


def images(channels=32, blocks=2, batch=8, side=16):
    class Residual(nn.Module):
        def __init__(self):
            self.inner = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm(channels),
            )

        def forward(self, x):
            return (x + self.inner(x)).relu()

    net = nn.Sequential(*[Residual() for _ in range(blocks)])
    x = Tensor.rand(batch, channels, side, side).cast("bfloat16").contiguous().realize()
    saved = blocks * 4 * x.nbytes + 2 * channels * channels * 9 * 32 * 4  # inputs of convolutions and norms, split sums
    return net, lambda: net(x).square().mean(), saved


PROGRAMS = {
    "mlp": (mlp, 0.597),
    "wide rows": (lambda: language_model(128, 4, 1024, 512), 0.727),
    "many words": (lambda: language_model(128, 2, 512, 8192), 0.599),
    "deep": (lambda: language_model(64, 12, 1024, 256), 0.832),
    "images": (images, 0.556),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_step_keeps_little_more_than_it_must(name, monkeypatch):
    make, most = PROGRAMS[name]
    net, loss_of, saved = make()
    net.to("bfloat16")
    step = optim.AdamW(net.parameters(), 1e-3)
    state = sum(t.nbytes for t in [*net.parameters(), *(t for s in step.state for t in s.values())])
    outlines = []
    monkeypatch.setattr(
        _strata, "realize", lambda *given: outlines.append(_strata._memory_outline([t for g in given for t in g]))
    )
    loss = loss_of()
    loss.backward()
    step()
    (_, _, kept, _) = outlines[-1]
    assert max(kept) / (state + saved) <= most * 1.02


def test_a_widened_view_is_stored_in_the_type_of_what_it_shows():
    x, w = (Tensor.ones(64, 64, dtype="bfloat16").contiguous().realize() for _ in range(2))
    rows = (x @ w).reshape(128, 32).cast("float32")
    _, filled, _, _ = _strata._memory_outline([rows.softmax(-1).sum(0) + rows.sum(0)])
    assert all(value != "float32 (128, 32)" and value != "float32 (64, 64)" for _, value, *_ in filled)
