"""Values and votes of other lanes, scans of waves: both targets, every arch, strict mode, against NumPy."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

WAVES = {"gfx1100": 32, "gfx1201": 32, "gfx942": 64, "gfx90a": 64}


@pytest.fixture(params=[(arch, target) for arch in WAVES for target in TARGETS], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def each(function, x, dtype=None):
    @strata.kernel(grid=1, block=len(x))
    def kernel(out, given):
        t = lang.thread_idx.x
        out[t] = function(given[t])

    return kernel(Tensor.zeros(len(x), dtype=dtype or str(x.dtype)), Tensor(x))[0].numpy()


def lanes(count, wave):
    t = np.arange(count)
    return t, t // wave * wave, t % wave


@pytest.mark.parametrize("threads", [128, 80])
@pytest.mark.parametrize("width", [None, 8])
def test_a_lane_gets_the_value_of_another(machine, threads, width, rng):
    """Where no thread runs in that lane, or it is of another group, the own value stays."""
    x = rng.integers(-99, 99, threads).astype("int32")
    wave = WAVES[machine]
    t, first, lane = lanes(threads, wave)
    group = width or wave
    inside = lane % group

    def moved(source, is_there):
        is_there &= first + source < threads
        return np.where(is_there, x[np.where(is_there, first + source, t)], x)

    def told(function):
        return each(lambda v: function(v), x)

    assert np.array_equal(told(lambda v: lang.shuffle_up(v, 3, width=width)), moved(lane - 3, inside >= 3))
    assert np.array_equal(told(lambda v: lang.shuffle_down(v, 3, width=width)), moved(lane + 3, inside + 3 < group))
    assert np.array_equal(told(lambda v: lang.shuffle_xor(v, 5, width=width)), moved(lane ^ 5, lane >= 0))
    named = lane - inside + (x % group)
    assert np.array_equal(told(lambda v: lang.shuffle_idx(v, v, width=width)), moved(named, lane >= 0))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64", "bool"])
def test_values_of_every_width_move(machine, dtype, rng):
    x = rng.integers(0, 2 if dtype == "bool" else 100, 64).astype(dtype)
    _, first, lane = lanes(64, WAVES[machine])
    assert np.array_equal(each(lambda v: lang.shuffle_xor(v, 1), x), x[first + (lane ^ 1)])
    assert np.array_equal(each(lambda v: lang.shuffle_idx(v, 7), x), x[first + 7])


def test_fragments_move_element_by_element(machine):
    @strata.kernel(grid=1, block=64)
    def kernel(out):
        t = lang.thread_idx.x
        fragment = lang.registers(2, "int32")
        fragment[0], fragment[1] = t, t * 10
        out[t, None] = lang.shuffle_xor(fragment, 1)

    t = np.arange(64) ^ 1
    assert np.array_equal(kernel(Tensor.zeros(64, 2, dtype="int32"))[0].numpy(), np.stack([t, t * 10], 1))


def test_votes_of_a_wave(machine, rng):
    bits = rng.integers(0, 2, 96).astype(bool)
    bits[:64] = True
    wave = WAVES[machine]

    @strata.kernel(grid=1, block=96)
    def kernel(mask, some, every, in_branch, x):
        t = lang.thread_idx.x
        mask[t] = lang.ballot(x[t])
        some[t] = lang.any(x[t])
        every[t] = lang.all(x[t])
        if t % 2 == 0:
            in_branch[t] = lang.ballot(x[t])

    outs = [Tensor.zeros(96, dtype=d) for d in ("uint64", "bool", "bool", "uint64")]
    mask, some, every, in_branch = (o.numpy() for o in kernel(*outs, Tensor(bits)))
    t, first, lane = lanes(96, wave)

    def votes(which):
        return np.array(
            [sum(int(which[j]) << (j % wave) for j in range(f, min(f + wave, 96))) for f in first], "uint64"
        )

    assert np.array_equal(mask, votes(bits))
    assert np.array_equal(in_branch, np.where(t % 2 == 0, votes(bits & (t % 2 == 0)), 0))
    assert some.tolist() == [bits[f : f + wave].any() for f in first]
    assert every.tolist() == [bits[f : f + wave].all() for f in first]


def test_lanes_that_left_a_loop_do_not_vote(machine):
    @strata.kernel(grid=1, block=64)
    def kernel(out, counts):
        t = lang.thread_idx.x
        for i in range(counts[t]):
            out[t, i] = lang.popcount(lang.ballot(True))

    counts = np.arange(64, dtype="int32") * 7 % 5
    wave = WAVES[machine]
    got = kernel(Tensor.zeros(64, 5, dtype="int32"), Tensor(counts))[0].numpy()
    for t in range(64):
        own = counts[t // wave * wave :][:wave]
        assert got[t].tolist() == [int((own > i).sum()) if i < counts[t] else 0 for i in range(5)]


@pytest.mark.parametrize("op, numpy", [("add", np.add), ("max", np.maximum), ("xor", np.bitwise_xor)])
@pytest.mark.parametrize("width", [None, 16])
def test_scans_of_waves_and_blocks(machine, op, numpy, width, rng):
    x = rng.integers(0, 99, 96).astype("int32")
    wave, initial = WAVES[machine], -5

    @strata.kernel(grid=1, block=96)
    def kernel(up_to, before, of_block, given):
        t = lang.thread_idx.x
        up_to[t] = lang.wave_scan(given[t], op, width=width)
        before[t] = lang.wave_scan(given[t], op, width=width, exclusive=True, initial=initial)
        of_block[t] = lang.block_scan(given[t], op, width=width)

    def scanned(size):
        return np.concatenate([numpy.accumulate(x[i : i + size]) for i in range(0, 96, size)])

    outs = [Tensor.zeros(96, dtype="int32") for _ in range(3)]
    up_to, before, of_block = (o.numpy() for o in kernel(*outs, Tensor(x)))
    want, group = scanned(width or wave), width or wave
    assert np.array_equal(up_to, want)
    assert np.array_equal(before, np.where(np.arange(96) % group == 0, initial, np.roll(want, 1)))
    assert np.array_equal(of_block, scanned(width or 96))


def test_a_wave_barrier_orders_the_lanes_of_a_wave(machine):
    @strata.kernel(grid=1, block=64)
    def kernel(out):
        t = lang.thread_idx.x
        shared = lang.shared(64, "int32")
        shared[t] = t * 3
        lang.wave_barrier()
        out[t] = shared[t ^ 1]

    assert np.array_equal(kernel(Tensor.zeros(64, dtype="int32"))[0].numpy(), (np.arange(64) ^ 1) * 3)


def wrong(function, error, text, block=64):
    with pytest.raises(error, match=text), strata.config(device="emu:gfx1100"):
        strata.kernel(function, grid=1, block=block).graph(lang.TensorSpec(64))


def test_wrong_widths_and_lanes_say_what_to_give():
    wrong(lambda x: lang.shuffle_up(x[0], 1, width=48), strata.UsageError, "a power of two up to the wave's 32 lanes")
    wrong(lambda x: lang.shuffle_up(x[0], -1), strata.UsageError, "the distance -1 is negative")
    wrong(lambda x: lang.shuffle_xor(x[0], 32), strata.UsageError, "the mask 32 is outside of 0 to 31")
    wrong(lambda x: lang.shuffle_idx(x[0], 1.5), strata.UsageError, "lane is an integer, not 1.5")
    wrong(lambda x: lang.shuffle_idx(x[0], x[1]), strata.DTypeError, "lane is an integer, not float32")
    wrong(lambda x: lang.wave_scan(x[0], width=5), strata.UsageError, "a divisor of the wave's lanes, 32")
    wrong(lambda x: lang.wave_scan(x[0], "max", exclusive=True), strata.UsageError, "say initial=")
    wrong(lambda x: lang.block_scan(x[0], width=7), strata.UsageError, "a divisor of the block's threads, 64")
    with pytest.raises(strata.UsageError, match="lang.ballot is for kernels"):
        lang.ballot(True)
