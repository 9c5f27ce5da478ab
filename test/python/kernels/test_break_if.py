"""Loops that threads leave by themselves, conditions and nested loops of UOp kernels: by both targets on every arch, in
strict mode, against NumPy.
"""

import numpy as np
import pytest
import strata
from kernel_author import ENDLESS, Author
from strata import Tensor, uop

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
THREADS, GROUPS = 96, 2
COUNT = THREADS * GROUPS


@pytest.fixture(params=[(arch, target) for arch in ARCHS for target in ("hip", "asm")], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def thread():
    return uop.special("gidx0", GROUPS) * THREADS + uop.special("lidx0", THREADS)


def run(kernel, *inputs, shape=COUNT, dtype="int32"):
    return Tensor.full(shape, -7, dtype=dtype).contiguous().custom_kernel(*inputs, kernel=kernel)[0].numpy()


def collatz_steps(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def test_each_thread_has_its_own_number_of_steps(machine):
    def kernel(out, x):
        k, i = Author(), thread()
        n, steps = k.register(x[i].load()), k.register(0)
        with k.loop():
            now = k.load(n)
            k.break_if(now == 1)
            odd = (now & 1) == 1
            k.store(n, 0, uop.where(odd, now * 3 + 1, now >> 1))
            k.store(steps, 0, k.load(steps) + 1)
        k.store(out, i, k.load(steps))
        return k.sink("collatz")

    x = np.arange(1, COUNT + 1, dtype=np.int32)
    assert np.array_equal(run(kernel, Tensor(x)), [collatz_steps(int(n)) for n in x])


def test_a_count_that_differs_between_threads_ends_each_thread_s_loop(machine, rng):
    def kernel(out, x):
        k, i = Author(), thread()
        total = k.register(0)
        with k.loop() as r:
            k.break_if(r.cast("int32") >= x[i].load())
            k.store(total, 0, k.load(total) + r.cast("int32"))
        k.store(out, i, k.load(total))
        return k.sink()

    x = rng.integers(0, 20, COUNT).astype(np.int32)
    assert np.array_equal(run(kernel, Tensor(x)), x * (x - 1) // 2)


def test_whiles_in_whiles(machine, rng):
    """Sums of i * j for i below n, j below i."""

    def kernel(out, x):
        k, t = Author(), thread()
        total, i = k.register(0), k.register(0)
        with k.loop():
            k.break_if(k.load(i) >= x[t].load())
            j = k.register(0)
            with k.loop():
                k.break_if(k.load(j) >= k.load(i))
                k.store(total, 0, k.load(total) + k.load(i) * k.load(j))
                k.store(j, 0, k.load(j) + 1)
            k.store(i, 0, k.load(i) + 1)
        k.store(out, t, k.load(total))
        return k.sink()

    x = rng.integers(0, 9, COUNT).astype(np.int32)
    want = [sum(i * j for i in range(n) for j in range(i)) for n in x]
    assert np.array_equal(run(kernel, Tensor(x)), want)


def test_several_ways_out_of_a_loop_and_one_in_an_if(machine, rng):
    """Walks right from its place until it meets a negative number, has seen 5, or an even one while its sum is odd."""

    def kernel(out, x):
        k, t = Author(), thread()
        total, at, done = k.register(0), k.register(t.cast("int32")), k.register(0)
        with k.loop():
            k.break_if(k.load(at) >= COUNT)
            value = k.load(x, k.load(at))
            k.break_if(value < 0)
            with k.where((k.load(total) & 1) == 1):
                k.store(total, 0, k.load(total) + 100)
                with k.where((value & 1) == 0):
                    k.store(done, 0, uop.const(1, "int32"))
            k.break_if(k.load(done) == 1)
            k.store(total, 0, k.load(total) + value)
            k.store(at, 0, k.load(at) + 1)
            k.break_if(k.load(at) - t.cast("int32") >= 5)
        k.store(out, t, k.load(total) * 1000 + k.load(at))
        return k.sink()

    x = rng.integers(-1, 9, COUNT).astype(np.int32)
    want = []
    for t in range(COUNT):
        total, at, done = 0, t, 0
        while at < COUNT and x[at] >= 0:
            if total & 1:
                total += 100
                done |= x[at] % 2 == 0
            if done:
                break
            total, at = total + int(x[at]), at + 1
            if at - t >= 5:
                break
        want.append(total * 1000 + at)
    assert np.array_equal(run(kernel, Tensor(x)), want)


@pytest.mark.parametrize("vectors", [1, 4])
def test_what_is_not_taken_is_neither_loaded_nor_stored(machine, vectors):
    """Places beyond the buffer would be a fault."""

    def kernel(out, x):
        k, t = Author(), thread()
        for lane in range(vectors):
            with k.where(t < COUNT // 2):
                k.store(out, t * vectors + lane, k.load(x, t * vectors + lane) + 1)
        return k.sink()

    x = np.arange(COUNT // 2 * vectors, dtype=np.int32)
    out = run(kernel, Tensor(x), shape=COUNT * vectors)
    assert np.array_equal(out[: x.size], x + 1) and (out[x.size :] == -7).all()


def test_a_list_is_walked_to_its_end(machine, rng):
    """next is -1 at the end: nothing is after it."""
    order = rng.permutation(COUNT).astype(np.int32)
    following = np.full(COUNT, -1, np.int32)
    ends = np.arange(COUNT) % 7 == 6
    following[order[:-1]] = np.where(ends[:-1], -1, order[1:])

    def kernel(out, follow):
        k, t = Author(), thread()
        at, length = k.register(t.cast("int32")), k.register(0)
        with k.loop():
            k.break_if(k.load(at) < 0)
            k.store(length, 0, k.load(length) + 1)
            k.store(at, 0, k.load(follow, k.load(at)))
        k.store(out, t, k.load(length))
        return k.sink()

    def length(i):
        return 0 if i < 0 else 1 + length(following[i])

    assert np.array_equal(run(kernel, Tensor(following)), [length(i) for i in range(COUNT)])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "boolean"])
def test_a_thread_keeps_what_it_had_when_it_left(machine, rng, dtype):
    """Memory and registers of every width; register arrays at places of each thread's own."""

    def kernel(out, x, n):
        k, t = Author(), thread()
        held = uop.placeholder(3, dtype, "reg", 40)
        for i in range(3):
            k.store(held, i, uop.const(0, dtype))
        with k.loop() as r:
            k.break_if(r.cast("int32") >= n[t].load())
            value = k.load(x, t * 8 + r)
            k.store(held, (r + t) % 3, value)
            k.store(out, t, value)
        for i in range(3):
            k.store(out, COUNT * (i + 1) + t, k.load(held, i))
        return k.sink()

    kind = "bool" if dtype == "boolean" else dtype
    x, n = rng.integers(0, 2 if kind == "bool" else 100, COUNT * 8).astype(kind), rng.integers(0, 8, COUNT)
    want = np.zeros((4, COUNT), kind)
    start = np.full(COUNT, True if kind == "bool" else 7).astype(kind)
    want[0] = start
    for t in range(COUNT):
        for r in range(n[t]):
            want[1 + (r + t) % 3, t] = want[0, t] = x[t * 8 + r]
    before = Tensor(np.concatenate([start, np.zeros(3 * COUNT, kind)])).contiguous()
    got = before.custom_kernel(Tensor(x), Tensor(n.astype(np.int32)), kernel=kernel)[0].numpy()
    assert np.array_equal(got.reshape(4, COUNT), want)


@pytest.mark.parametrize("by", ["block", "register", "local"])
def test_a_barrier_in_a_loop_that_all_threads_leave_together(machine, by):
    """Rounds of a rotation through local memory, as many as the block's number. The number is known to the scalar unit,
    kept in registers, or read from local memory.
    """

    def kernel(out):
        k, t, g = Author(), uop.special("lidx0", THREADS), uop.special("gidx0", GROUPS)
        ring = uop.placeholder(THREADS, "int32", "local", 50)
        limit = uop.placeholder(1, "int32", "local", 51)
        k.store(ring, t, (t + g * 1000).cast("int32"))
        k.effect(k.after(limit).index(0, t < 1).store((g * 3 + 2).cast("int32")))
        k.barrier()
        rounds = k.register((g * 3 + 2).cast("int32"))
        with k.loop() as r:
            if by == "block":
                k.break_if(r >= g * 3 + 2)
            elif by == "register":
                k.break_if(k.load(rounds) <= 0)
                k.store(rounds, 0, k.load(rounds) - 1)
            else:
                k.break_if(r.cast("int32") >= k.load(limit, 0))
            value = k.register(k.load(ring, (t + 1) % THREADS))
            k.barrier()
            k.store(ring, t, k.load(value))
            k.barrier()
        k.store(out, g * THREADS + t, k.load(ring, t))
        return k.sink()

    want = [(t + g * 3 + 2) % THREADS + g * 1000 for g in range(GROUPS) for t in range(THREADS)]
    assert np.array_equal(run(kernel), want)


def test_a_condition_of_the_block_around_loops_of_threads(machine, rng):
    def kernel(out, x):
        k, t, g = Author(), thread(), uop.special("gidx0", GROUPS)
        total = k.register(5)
        with k.where(g < 1):
            with k.loop(16) as r:
                k.break_if(k.load(x, t) <= r.cast("int32"))
                with k.where((r & 1) == 0):
                    k.store(total, 0, k.load(total) * 3 + k.load(x, t))
        with k.where(g >= 1):
            k.store(total, 0, k.load(total) + 1)
        k.store(out, t, k.load(total))
        return k.sink()

    x = rng.integers(0, 12, COUNT).astype(np.int32)

    def value(t):
        if t >= THREADS:
            return 6
        total = 5
        for r in range(x[t]):
            total = total * 3 + int(x[t]) if r % 2 == 0 else total
        return total

    assert np.array_equal(run(kernel, Tensor(x)), [value(t) for t in range(COUNT)])


def test_a_loop_of_counted_steps_has_the_same_number_in_all_threads_of_a_block(machine):
    def kernel(out):
        k, t = Author(), thread()
        total = k.register(0)
        with k.loop(8, count=uop.special("gidx0", GROUPS) * 5) as r:
            k.store(total, 0, k.load(total) + r.cast("int32") + 1)
        k.store(out, t, k.load(total))
        return k.sink()

    assert np.array_equal(run(kernel), np.repeat([0, 15], THREADS))


def test_values_of_other_lanes_in_a_loop_that_the_wave_leaves_together(machine):
    """Lanes that left take part: registers of all lanes are there to be read."""

    def kernel(out):
        k, t = Author(), thread()
        total = k.register(t.cast("int32"))
        with k.loop(3) as r:
            k.break_if(r >= uop.special("gidx0", GROUPS) + 1)
            k.store(total, 0, k.load(total) + uop.shuffle_xor(k.load(total), 1))
        k.store(out, t, k.load(total))
        return k.sink()

    want = np.arange(COUNT)
    for g in range(GROUPS):
        part = want[g * THREADS : (g + 1) * THREADS]
        for _ in range(g + 1):
            part += part[np.arange(THREADS) ^ 1]
    assert np.array_equal(run(kernel), want)


def test_atomics_are_those_of_the_threads_that_are_left(machine, rng):
    def kernel(out, x):
        k, t = Author(), thread()
        with k.loop() as r:
            k.break_if(r.cast("int32") >= k.load(x, t))
            k.effect(uop.atomic_add(k.after(out)[r], 1))
        return k.sink()

    x = rng.integers(0, 8, COUNT).astype(np.int32)
    out = Tensor.zeros(8, dtype="int32").contiguous().custom_kernel(Tensor(x), kernel=kernel)[0].numpy()
    assert np.array_equal(out, [(x > r).sum() for r in range(8)])


def broken(build):
    with strata.config(device="emu:gfx1100"):
        return run(build)


@pytest.mark.parametrize(
    "message, use",
    [
        ("break_if leaves the loop of a uop.range", lambda r: uop.break_if(True, uop.const(1, "int32"))),
        ("is 'local': use the axis 'loop'", lambda r: uop.break_if(True, uop.range(4, 9, "local"))),
        ("a condition is a bool, not index: compare it", lambda r: uop.break_if(r, r)),
    ],
)
def test_a_wrong_condition_or_range_is_an_error(message, use):
    with pytest.raises((strata.UsageError, strata.DTypeError), match=message):
        use(uop.range(4, 0))


def test_an_outer_loop_is_left_in_its_own_steps():
    def kernel(out):
        k, t = Author(), thread()
        with k.loop(4) as outer, k.loop(4):
            k.effect(uop.break_if(k.after(t < 3), outer))
            k.store(out, t, uop.const(1, "int32"))
        return k.sink()

    with pytest.raises(strata.UsageError, match="keep its condition in a register, and leave the outer loop after"):
        broken(kernel)


def test_unrolled_steps_are_not_left():
    def kernel(out):
        u, r = uop.range(2, 0, "upcast"), uop.range(ENDLESS, 1)
        left = uop.break_if(r >= u, r)
        return uop.sink(out.after(left)[thread() * 0 + u].store(uop.const(1, "int32")).end(r).end(u), name="unrolled")

    with pytest.raises(strata.UsageError, match="whose steps a thread makes together: use a loop"):
        broken(kernel)
