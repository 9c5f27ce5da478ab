"""A new value of a tensor takes the memory of the old one where nothing else reaches that. State of an optimiser is in
memory once. Whoever holds the old value, in whatever way, keeps it."""

import threading

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim

N = 1 << 15  # elements: 128 KiB
OLD = np.arange(N, dtype=np.float32)


@pytest.fixture(autouse=True)
def emulated():
    with strata.config(device="emu:gfx942", target="asm"):
        yield


def moment():
    return Tensor(OLD).contiguous().realize()


def update(m, g=1.0):
    m.assign(m * 0.5 + g)


def taken_by(computation):
    """Bytes taken at most meanwhile."""
    before = strata.stats().live_bytes
    strata.reset_stats()
    computation()
    return strata.stats().peak_bytes - before


def test_a_new_value_takes_the_memory_of_the_old_one():
    m, expected = moment(), OLD
    for step in range(4):
        update(m, step)
        assert taken_by(m.realize) == 0
        expected = expected * np.float32(0.5) + np.float32(step)
        np.testing.assert_array_equal(m.numpy(), expected)


def test_moments_of_an_optimiser_are_in_memory_once():
    net = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 256))
    step, x = optim.AdamW(net.parameters(), 1e-3), Tensor.ones(8, 256).contiguous().realize()

    def train():
        net(x).square().mean().backward()
        step()

    train()
    parameters = sum(p.nbytes for p in net.parameters())
    assert taken_by(train) < 1.5 * parameters, "the new parameters, and nothing for two moments of their size"


HELD = {
    "a view": lambda m: m[: N // 2],
    "a transposed view": lambda m: m.reshape(128, -1).T,
    "the same tensor by another name": lambda m: m.reshape(N),
    "a graph": lambda m: m * 2,
    "a graph of the old value and of nothing else": lambda m: m.sum(),
    "a graph of part of the update": lambda m: m * 0.5,
    "a detached one": lambda m: m.detach(),
    "a view of the host's": lambda m: m.numpy(),
    "a graph that is half computed": lambda m: [(m + 3).realize(), m + 3 + m],
    "a captured function": lambda m: captured(m),
}


def captured(m):
    f = strata.jit(lambda x: x + m)
    x = Tensor.zeros(N).contiguous().realize()
    for _ in range(3):
        f(x)
    return [m.reshape(N), f]


def value(held):
    if isinstance(held, list):
        held = held[0]
    return np.array(held.numpy() if isinstance(held, Tensor) else held)


@pytest.mark.parametrize("way", HELD)
def test_who_holds_an_old_value_keeps_it(way):
    wanted = value(HELD[way](moment()))
    m = moment()
    held = HELD[way](m)
    update(m)
    m.realize()
    np.testing.assert_array_equal(value(held), wanted)
    np.testing.assert_array_equal(m.numpy(), OLD * np.float32(0.5) + 1)
    last = held[-1] if isinstance(held, list) and isinstance(held[-1], Tensor) else None
    if last is not None:
        np.testing.assert_array_equal(last.numpy(), OLD + 3 + OLD)


def test_what_two_updates_read_is_no_ones():
    a, b = moment(), moment()
    new_a, new_b = a + b, a * b
    a.assign(new_a), b.assign(new_b)
    del new_a, new_b
    strata.realize(a, b)
    np.testing.assert_array_equal(a.numpy(), OLD + OLD)
    np.testing.assert_array_equal(b.numpy(), OLD * OLD)


def test_a_value_that_is_moved_about_is_not_written_over():
    m = moment()
    m.assign(m.flip(0) + m)
    m.realize()
    np.testing.assert_array_equal(m.numpy(), OLD[::-1] + OLD)


def test_what_was_written_over_is_there_after_an_error():
    m, other = moment(), Tensor.ones(4).contiguous().realize()
    update(m)
    with pytest.raises(strata.Error):
        strata.realize(m, other.expand(1 << 46, 4).contiguous())
    np.testing.assert_array_equal(m.numpy(), OLD * np.float32(0.5) + 1)


def test_threads_that_update_tensors_at_once_get_their_own_values():
    right = []

    def train(seed):
        with strata.config(device="emu:gfx942", target="asm"):
            m, expected = Tensor(OLD + seed).contiguous().realize(), OLD + np.float32(seed)
            for step in range(12):
                before = m.reshape(N) if step % 3 == 0 else None
                update(m, seed)
                m.realize()
                if before is not None and not np.array_equal(before.numpy(), expected):
                    return
                expected = expected * np.float32(0.5) + np.float32(seed)
            right.append(np.array_equal(m.numpy(), expected))

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert right == [True] * 4


def captured_update():
    """A captured function that changes a tensor which it closes over, called until it is captured; the tensor."""
    m = moment()

    @strata.jit
    def step(g):
        update(m, g)

    g = Tensor.full((N,), 1.0).contiguous().realize()
    for _ in range(4):
        step(g)
    assert step.captures == 1
    return m, lambda: step(g)


def test_a_captured_function_keeps_its_state_in_memory_once():
    m, step = captured_update()
    before, expected = strata.stats().live_bytes, m.numpy()
    for _ in range(5):
        assert taken_by(step) == 0
        expected = expected * np.float32(0.5) + 1
        np.testing.assert_array_equal(m.numpy(), expected)
    assert strata.stats().live_bytes == before


@pytest.mark.parametrize("way", HELD)
def test_who_holds_an_old_value_keeps_it_when_a_captured_function_changes_it(way):
    m, step = captured_update()
    wanted = value(HELD[way](Tensor(m.numpy().copy())))
    expected = np.array(m.numpy())
    held = HELD[way](m)
    for _ in range(3):
        step()
        expected = expected * np.float32(0.5) + 1
    np.testing.assert_array_equal(value(held), wanted)
    np.testing.assert_array_equal(m.numpy(), expected)


def test_a_result_over_the_state_keeps_its_value():
    m = moment()

    @strata.jit
    def step(g):
        update(m, g)
        return m.reshape(2, -1), m.sum()

    g, expected, kept = Tensor.full((N,), 1.0).contiguous().realize(), OLD, []
    for _ in range(6):
        whole, total = step(g)
        expected = expected * np.float32(0.5) + 1
        kept.append((whole, expected))
        assert abs(total.item() - expected.sum(dtype=np.float64)) < 1e-3 * N
    for whole, wanted in kept:
        np.testing.assert_array_equal(whole.numpy().reshape(-1), wanted)


def test_states_that_take_turns_are_told_apart():
    @strata.jit
    def step(m, g):
        m.assign(m * 0.5 + g)

    g = Tensor.full((N,), 2.0).contiguous().realize()
    states = [moment() for _ in range(3)]
    expected = [OLD] * 3
    for call in range(12):
        which = call % 3 if call < 9 else 0
        step(states[which], g)
        expected[which] = expected[which] * np.float32(0.5) + 2
    for m, wanted in zip(states, expected, strict=True):
        np.testing.assert_array_equal(m.numpy(), wanted)


def test_a_captured_step_of_an_optimiser_is_the_plain_one_and_keeps_no_second_state():
    def trained(captured):
        rng = np.random.default_rng(5)
        net = nn.Sequential(nn.Linear(160, 160), nn.GELU(), nn.Linear(160, 160))
        for p in net.parameters():
            p.assign(Tensor(rng.random(p.shape, np.float32) * 0.1))
        step, x = optim.AdamW(net.parameters(), 1e-2), Tensor(rng.random((8, 160), np.float32)).realize()

        def train():
            net(x).square().mean().backward()
            step()

        run, before = strata.jit(train) if captured else train, strata.stats().live_bytes
        for _ in range(8):
            run()
        return [p.numpy() for p in net.parameters()], strata.stats().live_bytes - before, net, step

    plain, captured = trained(False), trained(True)
    for a, b in zip(plain[0], captured[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)
    parameters = sum(a.nbytes for a in plain[0])
    assert captured[1] < 4.5 * parameters, "state, gradients and one more value of a parameter in three"
