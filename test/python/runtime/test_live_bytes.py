"""Live bytes are what tensors hold: after every program, and as soon as a tensor goes, with no computation between."""

import gc

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim

KIB = 1 << 10


def held(shape, value=1.0, dtype="float32"):
    return Tensor(np.full(shape, value, np.float32)).cast(dtype).contiguous().realize()


def pieces():
    y = piece = held(KIB)
    for _ in range(3):
        y = strata.cat([y, piece]).realize()
    return [y, piece]


def several_results():
    x = held((64, 64))
    results = [x.exp(), (x @ x).softmax(-1), x.sum(0)]
    strata.realize(results)
    return [x, *results]


def written_over():
    x = held(KIB)
    for _ in range(3):
        x += 1
        x.realize()
    return [x]


def dropped_graphs():
    x = held(KIB)
    _ = (x + 1).sin().sum(), (x * 2).realize()
    y = held(KIB, 2.0) + 1
    del y
    return [x]


def sorted_values():
    x = Tensor(np.random.default_rng(0).normal(size=(8, 100)).astype(np.float32)).realize()
    values, order = x.sort(-1), x.argsort(-1)
    strata.realize(values, order)
    return [x, values, order]


def random_numbers():
    return [Tensor.rand(KIB).realize(), Tensor.randn(KIB).realize()]


def gradients_of_a_product():
    x, w = held((32, 64)), held((64, 32)).requires_grad_()
    (x @ w).square().sum().backward()
    grad = w.grad.realize()
    w.grad = None
    return [x, w, grad]


def training_steps():
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    step, x = optim.AdamW(net.parameters(), 1e-3), held((8, 16))
    for _ in range(3):
        loss = net(x).square().mean()
        loss.backward()
        step()
        loss.realize()
    del loss
    return [x, *net.parameters(), *(slot for state in step.state for slot in state.values())]


def training_with_kernels_of_its_own():
    """Those of sorts, of selections, and of what an embedding's gradient is made of."""
    table = nn.Embedding(300, 32)
    step, at = optim.AdamW(table.parameters(), 1e-3), Tensor(np.arange(48) % 7).realize()
    for _ in range(3):
        rows = table(at)
        loss = rows.sort(0)[:5].square().mean() + rows.topk(3)[0].sum()
        loss.backward()
        step()
        loss.realize()
    del loss, rows
    return [at, *table.parameters(), *(slot for state in step.state for slot in state.values())]


def one_that_fails():
    x = held(KIB)
    with pytest.raises(strata.ShapeError):
        (x + 1).realize() + held(KIB + 1)
    return [x]


PROGRAMS = [
    pieces,
    several_results,
    written_over,
    dropped_graphs,
    sorted_values,
    random_numbers,
    gradients_of_a_product,
    training_steps,
    training_with_kernels_of_its_own,
    one_that_fails,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_behind_a_program_what_is_alive_is_what_its_tensors_hold(program):
    strata._strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        program()  # what lives as long as the process, as a random state
        gc.collect()
        before = strata.stats().live_bytes
        tensors = program()
        gc.collect()
        assert strata.stats().live_bytes - before == sum(t.nbytes for t in tensors)
        while tensors:
            alive, nbytes = strata.stats().live_bytes, tensors[-1].nbytes
            del tensors[-1]
            assert strata.stats().live_bytes == alive - nbytes, "it went, and its memory did not"
        assert strata.stats().live_bytes == before


def test_the_memory_of_a_tensor_goes_while_another_one_of_the_same_memory_stays():
    strata._strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        before = strata.stats().live_bytes
        x = held((64, 16))
        view = x[:32].reshape(-1)
        del x
        assert strata.stats().live_bytes - before == 64 * 16 * 4
        del view
        assert strata.stats().live_bytes == before


def test_at_most_two_generations_of_a_growing_tensor_are_alive():
    strata._strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        y = piece = held(KIB)
        before = strata.stats().live_bytes - piece.nbytes
        for n in range(2, 12):
            strata.reset_stats()
            y = strata.cat([y, piece]).realize()
            assert strata.stats().peak_bytes - before <= (2 * n) * piece.nbytes
