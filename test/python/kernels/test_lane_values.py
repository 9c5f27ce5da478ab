"""Values of any lane, votes, fences, traps and counts of bits in UOp kernels: by both targets on every arch, in strict
mode, against NumPy.
"""

import numpy as np
import pytest
import strata
from kernel_author import Author
from strata import Tensor, dtypes, uop

WAVES = {"gfx1100": 32, "gfx1201": 32, "gfx942": 64, "gfx90a": 64}
THREADS = 128


@pytest.fixture(params=[(arch, target) for arch in WAVES for target in ("hip", "asm")], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


@pytest.mark.parametrize("dtype", [t.name for t in dtypes.all])
def test_a_lane_gets_the_value_of_the_lane_that_it_names(machine, rng, dtype):
    """The number counts modulo the wave; lanes name lanes of their own."""
    lanes = rng.integers(0, 256, THREADS).astype(np.int32)
    host = rng.integers(0, 2 if dtype == "boolean" else 8, THREADS)

    def kernel(out, x, lane):
        t = uop.special("lidx0", THREADS)
        return uop.sink(out[t].store(x[t].load().shuffle(lane[t].load())), name="lanes")

    x = Tensor(host.astype(np.float32)).cast(dtype)
    got = Tensor.empty(THREADS, dtype=dtype).custom_kernel(x, Tensor(lanes), kernel=kernel)[0]
    wave = WAVES[machine]
    want = host[np.arange(THREADS) // wave * wave + lanes % wave]
    assert np.array_equal(got.cast("float32").numpy(), want)


def test_one_lane_for_all(machine):
    def kernel(out):
        t = uop.special("lidx0", THREADS)
        return uop.sink(out[t].store(uop.shuffle((t * 3).cast("int64"), 5)), name="one")

    wave = WAVES[machine]
    got = Tensor.empty(THREADS, dtype="int64").custom_kernel(kernel=kernel)[0].numpy()
    assert np.array_equal(got, (np.arange(THREADS) // wave * wave + 5) * 3)


def votes(bits, wave):
    rows = bits.reshape(-1, wave).astype(np.uint64) << np.arange(wave, dtype=np.uint64)
    return np.repeat(rows.sum(1, dtype=np.uint64), wave)


def test_a_ballot_has_a_bit_for_each_lane(machine, rng):
    bits = rng.integers(0, 2, THREADS).astype(bool)

    def kernel(out, x):
        t = uop.special("lidx0", THREADS)
        return uop.sink(out[t].store(uop.ballot(x[t].load())), name="votes")

    got = Tensor.empty(THREADS, dtype="uint64").custom_kernel(Tensor(bits), kernel=kernel)[0].numpy()
    assert np.array_equal(got, votes(bits, WAVES[machine]))


def test_lanes_that_left_a_loop_do_not_vote(machine, rng):
    """Each thread leaves at its own step; who is left is what each step votes on."""
    counts = rng.integers(0, 6, THREADS).astype(np.int32)

    def kernel(out, x):
        k, t = Author(), uop.special("lidx0", THREADS)
        last = k.register(uop.const(0, "uint64"), "uint64")
        with k.loop() as r:
            k.break_if(r.cast("int32") >= k.load(x, t))
            k.store(last, 0, uop.ballot(r.cast("int32") < k.load(x, t)))
        k.store(out, t, k.load(last))
        return k.sink("left")

    got = Tensor.empty(THREADS, dtype="uint64").custom_kernel(Tensor(counts), kernel=kernel)[0].numpy()
    want = np.zeros(THREADS, np.uint64)
    for step in range(6):
        left = counts > step
        want[left] = votes(left, WAVES[machine])[left]
    assert np.array_equal(got, want)


def test_a_ballot_of_32_bits_is_of_waves_of_32(machine, rng):
    bits = rng.integers(0, 2, THREADS).astype(bool)

    def kernel(out, x):
        t = uop.special("lidx0", THREADS)
        return uop.sink(out[t].store(uop.ballot(x[t].load(), "uint32")), name="narrow")

    out = Tensor.empty(THREADS, dtype="uint32")
    if WAVES[machine] == 64:
        with pytest.raises(
            strata.UsageError, match=r"ballot as uint32, and waves of gfx9\w+ have 64 lanes; use uint64"
        ):
            out.custom_kernel(Tensor(bits), kernel=kernel)[0].numpy()
        return
    got = out.custom_kernel(Tensor(bits), kernel=kernel)[0].numpy()
    assert np.array_equal(got, votes(bits, 32).astype(np.uint32))


def test_lanes_of_a_wave_hand_over_through_local_memory(machine):
    """A wave of threads needs no barrier of the block."""
    wave = WAVES[machine]

    def kernel(out):
        k, t = Author(), uop.special("lidx0", wave)
        ring = uop.placeholder(wave, "int32", "local", 1)
        k.store(ring, t, t.cast("int32") * 5)
        k.effect(uop.wave_barrier(*k.last))
        value = k.register(k.load(ring, (t + 1) % wave))
        k.effect(uop.wave_barrier(*k.last))
        k.store(ring, t, k.load(value) + 1)
        k.effect(uop.wave_barrier(*k.last))
        k.store(out, t, k.load(ring, (t + 3) % wave))
        return k.sink("handed")

    got = Tensor.empty(wave, dtype="int32").custom_kernel(kernel=kernel)[0].numpy()
    assert np.array_equal(got, (np.arange(wave) + 4) % wave * 5 + 1)


@pytest.mark.parametrize("scope", ["workgroup", "device", "system"])
def test_a_fence_hands_memory_over(machine, scope):
    """The last of the blocks to count adds up what all stored."""
    groups = 3

    def kernel(out, cells, counter):
        k, t, g = Author(), uop.special("lidx0", 32), uop.special("gidx0", groups)
        k.effect(uop.trap(t < 0))
        k.store(cells, g * 32 + t, (g * 32 + t).cast("int32"))
        k.effect(uop.fence(*k.last, scope=scope))
        old = k.after(counter).index(0).atomic("add", 1)
        k.effect(old)
        k.effect(uop.fence(*k.last, scope=scope))
        with k.where(old == groups * 32 - 1):
            k.store(out, 0, old + 1)
        return k.sink("fenced")

    out = Tensor.zeros(1, dtype="int32").contiguous()
    cells, counter = (Tensor.zeros(n, dtype="int32").contiguous() for n in (96, 1))
    assert out.custom_kernel(cells, counter, kernel=kernel)[0].item() == 96


def test_a_trap_ends_the_kernel_where_its_condition_holds(machine):
    def kernel(at):
        def body(out):
            k, t = Author(), uop.special("lidx0", THREADS)
            k.effect(uop.trap(t >= at))
            k.store(out, t, uop.const(1, "int32"))
            return k.sink("trapped")

        return body

    assert Tensor.zeros(THREADS, dtype="int32").contiguous().custom_kernel(kernel=kernel(THREADS))[0].numpy().all()
    with pytest.raises(strata.Error):
        Tensor.zeros(THREADS, dtype="int32").contiguous().custom_kernel(kernel=kernel(THREADS - 1))[0].numpy()


@pytest.mark.parametrize("dtype", [t.name for t in dtypes.all if t.is_integer])
def test_counts_of_bits(machine, rng, dtype):
    info = np.iinfo(dtype)
    x = np.concatenate([[0, 1, info.max, info.min], rng.integers(info.min, info.max, 60, dtype, endpoint=True)])
    x = x.astype(dtype)

    def kernel(out, x):
        t = uop.special("lidx0", 64)
        value = x[t].load()
        rows = [value.popcount(), value.leading_zeros(), value.trailing_zeros(), value.reverse_bits()]
        return uop.sink(*[out[n * 64 + t].store(row) for n, row in enumerate(rows)], name="bits")

    got = Tensor.empty(256, dtype=dtype).custom_kernel(Tensor(x), kernel=kernel)[0].numpy().reshape(4, 64)
    width = info.bits
    text = [format(int(v) % 2**width, f"0{width}b") for v in x]
    want = [
        [t.count("1") for t in text],
        [len(t) - len(t.lstrip("0")) for t in text],
        [len(t) - len(t.rstrip("0")) for t in text],
        [int(t[::-1], 2) for t in text],
    ]
    wrapped = np.array([[v % 2**width for v in row] for row in want], np.uint64).astype(f"uint{width}").view(dtype)
    assert np.array_equal(got, wrapped)
