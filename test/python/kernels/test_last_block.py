"""Reductions that are split over blocks: the block that comes last finishes them, so that they are one kernel."""

import numpy as np
import pytest
import strata
from strata import Tensor, emulator
from tested import EMULATED

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def lse(x, axis):
    top = x.max(axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis)) + np.squeeze(top, axis)


REDUCTIONS = {
    "sum": (lambda x, axis: x.sum(axis), lambda x, axis: x.sum(axis)),
    "mean, and more": (lambda x, axis: (x * 2).mean(axis).exp() + 1, lambda x, axis: np.exp((x * 2).mean(axis)) + 1),
    "max": (lambda x, axis: x.max(axis), lambda x, axis: x.max(axis)),
    "argmax": (lambda x, axis: x.argmax(axis), lambda x, axis: x.argmax(axis)),
    "var": (lambda x, axis: x.var(axis), lambda x, axis: x.var(axis)),
    "logsumexp": (lambda x, axis: x.logsumexp(axis), lse),
}
SHAPES = [
    ((1 << 16,), 0),
    ((100_003,), 0),
    ((3, 40_009), 1),
    ((64, 1 << 15), 1),
    ((1 << 15, 32), 0),
    ((3, 40_000, 7), 1),
]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_values_are_those_of_numpy(name, target, arch, rng):
    of_tensor, of_array = REDUCTIONS[name]
    with strata.config(device=f"emu:{arch}", target=target):
        for shape, axis in SHAPES if arch in ("gfx1100", "gfx942") else SHAPES[1:3]:
            x = rng.standard_normal(shape).astype(np.float32)
            got, wanted = of_tensor(Tensor(x), axis).numpy(), of_array(x.astype(np.float64), axis)
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4, err_msg=str(shape))


@pytest.mark.usual_schedules
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_kernel_reads_x_once_and_takes_less_time_than_two(name, target, rng):
    of_tensor = REDUCTIONS[name][0]
    x = Tensor(rng.standard_normal(1 << 18).astype(np.float32)).realize()
    times = {}
    for fusion in ("cost", "less"):
        with strata.config(target=target, fusion=fusion):
            strata.reset_stats()
            of_tensor(x, 0).realize()
            times[fusion] = strata.stats().time_ms
            if fusion == "cost":
                assert strata.stats().kernels == 1 and strata.stats().bytes < (1 << 20) + 16384
            else:
                assert strata.stats().kernels >= 2
    assert not EMULATED or times["cost"] < 0.75 * times["less"]  # on cards launches are no part of it


@pytest.mark.parametrize("schedule", ["none", "random"])
@pytest.mark.parametrize("target", ["hip", "asm"])
def test_any_schedule_of_what_all_blocks_do_leaves_the_finish_right(schedule, target, rng):
    x = rng.standard_normal((3, 40_009)).astype(np.float32)
    wide = x.astype(np.float64)
    for seed in range(6 if schedule == "random" else 1):
        with strata.config(target=target, schedule=schedule, schedule_seed=seed), emulator.check("raise", races=True):
            t = Tensor(x)
            np.testing.assert_allclose(t.sum(1).numpy(), wide.sum(1), rtol=1e-4, atol=1e-3)
            np.testing.assert_array_equal(t.max(1).numpy(), x.max(1))
            np.testing.assert_allclose(t.var(1).numpy(), wide.var(1), rtol=1e-4)
            np.testing.assert_allclose((t * 2).transpose().sum(0).numpy(), 2 * wide.sum(1), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_a_finish_of_one_number_is_left_to_one_thread(target, rng):
    x = rng.integers(0, 9, (16, 20)).astype(np.uint8)
    with strata.config(target=target), emulator.check("raise", races=True):
        y = Tensor(x).argmax(1).sum(0, keepdims=True).argmax(0)
        assert y.item() == 0
        assert Tensor(x).max(1).sum(0).item() == x.max(1).sum()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", ["hip", "asm"])
def test_strict_mode_finds_nothing_whatever_the_order_of_waves_and_blocks(target, arch, rng):
    x = rng.standard_normal(1 << 16).astype(np.float32)
    results = set()
    for seed in range(5):
        with (
            strata.config(device=f"emu:{arch}", target=target, emu_seed=seed, emu_timed=seed == 0),
            emulator.check("raise", races=True),
        ):
            t = Tensor(x)
            results.add((t.sum().item(), t.var().item(), t.argmax().item()))
    assert len(results) == 1, "the last block takes partial results in one order, whichever it is"


# Fences of the device: the first word of each, how many it has, and what does nothing.
FENCES = {
    ("gfx1100", "s_waitcnt_vscnt null, 0"): (0xBC7C0000, 1),
    ("gfx1100", "buffer_gl1_inv"): (0xE0B00000, 2),
    ("gfx1201", "s_wait_storecnt 0"): (0xBFC10000, 1),
    ("gfx1201", "global_inv scope:SCOPE_DEV"): (0xEE0AC07C, 3),
    ("gfx942", "buffer_wbl2 sc1"): (0xE0A08000, 2),
    ("gfx942", "buffer_inv sc1"): (0xE0A48000, 2),
    ("gfx90a", "buffer_wbinvl1_vol"): (0xE0FC0000, 2),
}


def without(arch, word, count):
    """The kernel of a sum without an instruction, over the arguments (partial results, sum, x, counter)."""
    kernel = strata.compile(Tensor.ones(1 << 16).realize().sum(), arch=arch, target="asm").kernels[0]
    words = np.frombuffer(bytes(kernel.code_object), np.uint32).copy()
    places = np.flatnonzero(words == word)
    assert places.size
    for place in places:
        if count < 3 or words[place + 1] == 0x80000:  # RDNA4's scope
            words[place : place + count] = 0xBF800000  # s_nop 0
    return strata.asm_kernel(words.tobytes(), arch=arch, grid=kernel.grid, block=kernel.block)


@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch, text", FENCES)
def test_without_either_fence_strict_mode_finds_the_race(arch, text):
    with strata.config(device=f"emu:{arch}"):
        zeros = lambda n, dtype: Tensor.zeros(n, dtype=dtype).contiguous().realize()
        with emulator.check(races=True) as report:
            without(arch, *FENCES[arch, text])(
                zeros(64, strata.dtypes.float32),
                zeros(1, strata.dtypes.float32),
                Tensor.ones(1 << 16).contiguous().realize(),
                zeros(1, strata.dtypes.int32),
            )
        assert "global-race" in [f.kind for f in report], report


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_it_runs_again_and_again_also_as_part_of_what_is_captured(target, rng):
    with strata.config(target=target):
        step = strata.jit(lambda x: (x.sum(), (x * 2).max()))
        for _ in range(5):
            x = rng.standard_normal(1 << 16).astype(np.float32)
            total, top = step(Tensor(x).realize())
            np.testing.assert_allclose(total.item(), x.astype(np.float64).sum(), atol=1e-2)
            assert top.item() == (x * 2).max()


@pytest.mark.emulated
def test_a_launch_that_ends_early_leaves_the_counter_for_the_next(rng):
    x = rng.standard_normal(1 << 16).astype(np.float32)
    t = Tensor(x).realize()
    wanted = t.sum().item()
    with (
        strata.config(emu_launch_budget=10000),
        pytest.raises(strata.LaunchError, match="the launch ran 10000 instructions"),
    ):
        (t * 1).sum().item()
    assert (t * 1).sum().item() == wanted
    with strata.config(emu_sampled=True):
        (t * 1).sum().realize()
    assert (t * 1).sum().item() == wanted


def test_threads_of_the_host_and_streams_share_no_counter_at_a_time(rng):
    import threading

    arrays = [rng.standard_normal(1 << 16).astype(np.float32) for _ in range(4)]
    wrong = []

    def work(x):
        t = Tensor(x).realize()
        first = t.sum().item()
        for _ in range(10):
            if (t * 1).sum().item() != first or abs(first - x.astype(np.float64).sum()) > 1e-2:
                wrong.append(first)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_explain_says_what_the_last_block_does():
    text = strata.explain(Tensor.ones(1 << 16).realize().sum())
    assert "1 kernel" in text and "last block" in text
    with strata.config(fusion="less"):
        assert "last block" not in strata.explain(Tensor.ones(1 << 16).realize().sum())


@pytest.mark.usual_schedules
def test_the_search_keeps_what_is_right_and_may_take_two_kernels(tmp_path, rng):
    x = rng.standard_normal(1 << 18).astype(np.float32)
    with strata.config(cache_dir=str(tmp_path), beam=1, search_candidates=8):
        t = Tensor(x).sum()
        t.tune()
        np.testing.assert_allclose(t.item(), x.astype(np.float64).sum(), atol=1e-1)


@pytest.mark.emulated
def test_workgroups_still_share_the_cores_of_the_host(rng):
    """The last block's work is modelled the same whatever the threads."""
    x = Tensor(rng.standard_normal(1 << 20).astype(np.float32)).realize()
    times = set()
    for threads in (1, 2, 4):
        with strata.config(emu_threads=threads):
            strata.reset_stats()
            (x * 1).sum().item()
            times.add(strata.stats().time_ms)
    assert len(times) == 1
