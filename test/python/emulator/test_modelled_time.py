"""Modelled times and bytes of tensor programs: what comes after a loop counts once, and what must move is
never less.
"""

import pytest
import strata
import strata.nn.functional as F
from strata import Tensor

pytestmark = pytest.mark.emulated


def launches(function, *shapes, dtype="float32", **config):
    with strata.config(device="emu:gfx1100", emu_sampled=True, **config):
        arguments = [Tensor.empty(*shape, dtype=dtype).realize() for shape in shapes]
        with strata.profile() as p:
            out = function(*arguments)
            for tensor in out if isinstance(out, (list, tuple)) else [out]:
                tensor.realize()
        return p.launches


@pytest.mark.parametrize(
    "function", [F.silu, lambda y: y.gelu(), lambda y: (y * 2 + 1).tanh()], ids=["silu", "gelu", "tanh"]
)
def test_what_follows_a_product_adds_its_own_cost_however_long_the_product_is(function):
    """Its cost is of the elements: four times as many take at most about four times as long, whatever the products'
    length.
    """

    def added(side, depth):
        shapes = (side, depth), (side, depth)
        alone, followed = (
            sum(
                launch["time_ms"]
                for launch in launches(lambda a, b, f=f: f(a @ b.T), *shapes, dtype="bfloat16", target="asm")
            )
            for f in (lambda y: y, function)
        )
        return followed - alone

    short = added(1536, 256)
    assert 0 < short < 0.02
    for depth in (1536, 4096):
        assert added(1536, depth) == pytest.approx(short, abs=0.003)


def gradient_of_cross_entropy(x):
    return strata.grad(lambda x: F.cross_entropy(x, Tensor.zeros(x.shape[0], dtype="int32")))(x)


def normalised(x):
    y = x - x.mean(-1, True)
    return y / ((y * y).mean(-1, True) + 1e-5).sqrt()


def added_in_place(x):
    x += 1
    return x


ROWS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "normalised": normalised,
    "variance": lambda x: x.var(-1),
    "sums of columns": lambda x: x.sum(0),
    "running sums": lambda x: x.cumsum(-1),
    "gradient of cross-entropy": gradient_of_cross_entropy,
    "in place": added_in_place,
    "added": lambda x: x + 1,
    "transposed": lambda x: x.T + 0,
}


@pytest.mark.parametrize("shape", [(2048, 32000), (4096, 1000), (64, 98304)], ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_dram_moves_no_fewer_bytes_than_a_launch_must(name, shape):
    shown = launches(ROWS[name], shape)
    assert all(launch["dram_bytes"] >= launch["least_bytes"] * 0.999 for launch in shown)
    least = 4 * shape[0] * shape[1] * (1 if name in ("variance", "sums of columns") else 2)
    assert sum(launch["dram_bytes"] for launch in shown) >= least * 0.98, (
        "each element is read once, each result written once"
    )


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize(
    "shape, window", [((1, 4, 512, 64), 0), ((2, 3, 333, 64), 0), ((1, 2, 1024, 64), 128)], ids=str
)
def test_a_sample_of_masked_attention_takes_as_long_as_all_of_it(arch, shape, window):
    at = Tensor.arange(shape[-2])
    before = at.reshape(-1, 1) - at.reshape(1, -1)
    mask = (before >= 0) & (before < window) if window else None
    times = {}
    for sampled in (True, False):
        with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=sampled):
            q, k, v = (Tensor.empty(*shape, dtype="float16").realize() for _ in range(3))
            with strata.profile() as p:
                F.scaled_dot_product_attention(q, k, v, mask, is_causal=not window).realize()
        times[sampled] = sum(launch["time_ms"] for launch in p.launches)
    assert times[True] == pytest.approx(times[False], rel=0.02)
