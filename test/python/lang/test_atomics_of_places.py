"""Atomics on places, fences and traps in kernels of Python functions: both targets, every arch, strict mode, against
NumPy."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
THREADS, BLOCKS = 96, 2
TYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.fixture(params=[(arch, target) for arch in ARCHS for target in TARGETS], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def folded(operation, first, places, values):
    """The value of a place once all values reached it, of operations whose order does not matter."""
    out = first.copy()
    of = {
        "add": np.add, "max": np.maximum, "min": np.minimum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }[operation]  # fmt: skip
    of.at(out, places, values)
    return out


@pytest.mark.parametrize(
    "operation, dtype",
    [(o, d) for o in ("add", "max", "min") for d in TYPES]
    + [(o, d) for o in ("and", "or", "xor") for d in TYPES if "int" in d],
)
def test_a_place_holds_what_all_threads_did_to_it(machine, operation, dtype, rng):
    of = getattr(lang, f"atomic_{operation}")

    @strata.kernel(grid=BLOCKS, block=THREADS)
    def kernel(out, values, places):
        i = lang.block_idx.x * THREADS + lang.thread_idx.x
        if places[i] < 4:
            of(out.at(places[i]), values[i])

    count = THREADS * BLOCKS
    values, places = rng.integers(0, 100, count).astype(dtype), rng.integers(0, 6, count).astype("int32")
    first = rng.integers(0, 100, 6).astype(dtype)
    (out,) = kernel(Tensor(first), Tensor(values), Tensor(places))
    kept = places < 4
    assert np.array_equal(out.numpy(), folded(operation, first, places[kept], values[kept]))


def test_each_thread_gets_what_the_place_held(machine):
    """Tickets: every number once, in global memory and in the block's own."""

    @strata.kernel(grid=BLOCKS, block=THREADS)
    def tickets(of_device, of_block, counter):
        i, t = lang.block_idx.x * THREADS + lang.thread_idx.x, lang.thread_idx.x
        own = lang.shared(1, "int32")
        if t == 0:
            own[0] = 10
        lang.barrier()
        of_device[i] = lang.atomic_add(counter.at(0), 1)
        of_block[i] = lang.atomic_add(own.at(0), 2, scope="workgroup")

    count = THREADS * BLOCKS
    outs = [Tensor.zeros(count, dtype="int32") for _ in range(2)]
    of_device, of_block, counter = tickets(*outs, Tensor.zeros(1, dtype="int32"))
    assert sorted(of_device.numpy()) == list(range(count)) and counter.numpy().tolist() == [count]
    for block in of_block.numpy().reshape(BLOCKS, THREADS):
        assert sorted(block) == list(range(10, 10 + 2 * THREADS, 2))


def test_exchange_counting_and_compare_exchange(machine):
    @strata.kernel(grid=1, block=1)
    def one_thread(out, counter):
        place = counter.at(0)
        out[0] = lang.atomic_exchange(place, 7)
        out[1] = lang.atomic_compare_exchange(place, 6, 100)
        out[2] = lang.atomic_compare_exchange(place, 7, 3)
        for _ in range(3):
            out[3] = lang.atomic_inc(place, 4)
        for _ in range(2):
            out[4] = lang.atomic_dec(place, 9)
        out[5] = place.load()

    out, counter = one_thread(Tensor.zeros(6, dtype="uint32"), Tensor([5]).cast("uint32"))
    # 3 -> 4 -> 0 -> 1, then 1 -> 0 -> 9
    assert out.numpy().tolist() == [5, 7, 7, 0, 0, 9] and counter.numpy().tolist() == [9]


def test_a_maximum_of_any_function_by_compare_exchange(machine, rng):
    """A loop that threads leave each by itself: the product of all values modulo a prime."""

    @strata.kernel(grid=1, block=64)
    def product(out, values):
        place, done = out.at(0), False
        while not done:
            old = place.load()
            done = lang.atomic_compare_exchange(place, old, old * values[lang.thread_idx.x] % 997) == old

    values = rng.integers(1, 997, 64).astype("int32")
    want = 1
    for v in values.tolist():
        want = want * v % 997
    with strata.config(check="off"):  # a plain load beside atomics of other threads is a race to strict mode
        (out,) = product(Tensor.ones(1, dtype="int32"), Tensor(values))
        assert out.numpy().tolist() == [want]


def test_atomics_in_a_loop_happen_at_each_step(machine):
    @strata.kernel(grid=1, block=32)
    def kernel(out):
        t = lang.thread_idx.x
        for i in range(t):
            lang.atomic_add(out.at(i), 1)

    (out,) = kernel(Tensor.zeros(32, dtype="int32"))
    assert out.numpy().tolist() == [31 - i for i in range(32)]


def test_a_bounded_view_has_nothing_beyond_its_end(machine):
    @strata.kernel(grid=1, block=16)
    def kernel(out, counts):
        t = lang.thread_idx.x
        out[t] = lang.atomic_add(lang.bounded(counts).at(t), 1)

    out, counts = kernel(Tensor.full((16,), -1, dtype="int32"), Tensor.full((10,), 5, dtype="int32"))
    assert out.numpy().tolist() == [5] * 10 + [0] * 6 and counts.numpy().tolist() == [6] * 10


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pairs_of_halves(dtype):
    @strata.kernel(grid=1, block=64)
    def kernel(out):
        lang.atomic_add_pair(out.at(lang.thread_idx.x % 2 * 2), 1.0, 2.0)

    with strata.config(device="emu:gfx942", check="raise"):
        (out,) = kernel(Tensor.zeros(4, dtype=dtype))
        assert out.cast("float32").numpy().tolist() == [32, 64, 32, 64]


def test_the_last_block_sees_what_the_others_stored(machine):
    """The pattern of a fence: store, fence, count; who counts last reads everything."""

    @strata.kernel(grid=4, block=32)
    def sums(out, parts, counter, x):
        block, t = lang.block_idx.x, lang.thread_idx.x
        last = lang.shared(1, "int32")
        total = lang.block_reduce(x[block * 32 + t])
        if t == 0:
            parts[block] = total
            lang.fence()
            last[0] = lang.atomic_add(counter.at(0), 1)
        lang.barrier()
        if last[0] == 3:
            lang.fence()
            if t == 0:
                out[0] = parts[0] + parts[1] + parts[2] + parts[3]

    x = np.arange(128, dtype="int32")
    with strata.config(check="off"):
        zeros = [Tensor.zeros(n, dtype="int32") for n in (1, 4, 1)]
        out = sums(*zeros, Tensor(x))[0]
        assert out.numpy().tolist() == [x.sum()]


def test_a_trap_is_a_fault_of_the_threads_that_come_there(machine):
    @strata.kernel(grid=1, block=32)
    def kernel(out, at):
        t = lang.thread_idx.x
        out[t] = t
        if t == at:
            lang.trap()

    assert kernel(Tensor.zeros(32, dtype="int32"), 32)[0].numpy().tolist() == list(range(32))
    with pytest.raises(strata.Error, match="trap"):
        kernel(Tensor.zeros(32, dtype="int32"), 3)[0].numpy()


def wrong(function, out, error, text):
    with pytest.raises(error, match=text):
        strata.kernel(function, grid=1, block=4).graph(out)


def test_wrong_places_types_and_scopes_say_what_to_do():
    i32, f16, f32 = (lang.TensorSpec(8, t) for t in ("int32", "float16", "float32"))
    wrong(lambda x: lang.atomic_add(x[0], 1), i32, strata.UsageError, r"takes a place in memory, v.at\(c\)")
    wrong(lambda x: lang.atomic_add(lang.registers(2).at(0), 1), i32, strata.UsageError, "is of one thread")
    wrong(lambda x: lang.atomic_add(x.at(0), 1), f16, strata.DTypeError, "lang.atomic_add_pair")
    wrong(lambda x: lang.atomic_xor(x.at(0), 1), f32, strata.DTypeError, "is of integers")
    wrong(lambda x: lang.atomic_inc(x.at(0), 1), i32, strata.DTypeError, "counts in uint32 or uint64")
    wrong(lambda x: lang.atomic_add(x.at(0), 1, scope="world"), i32, strata.UsageError, "workgroup, device, system")
    wrong(lambda x: lang.atomic_add(x.recast("float32").at(0), 1), i32, strata.DTypeError, "of the memory's own type")
    wrong(lambda x: lang.atomic_add_pair(x.at(1), 1, 1), f16, strata.UsageError, "even offset")
    wrong(lambda x: lang.fence("all"), i32, strata.UsageError, "workgroup, device, system")
    with pytest.raises(strata.UsageError, match="for kernels"):
        lang.fence()
