"""Atomics of UOp kernels that return the old value: every operation, type, scope and space, by both targets on every
arch. They run in strict mode, while many threads meet at few places.
"""

import numpy as np
import pytest
import strata
from kernel_author import Author
from strata import Tensor, uop

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
THREADS, GROUPS, PLACES = 96, 2, 4
COUNT = THREADS * GROUPS


@pytest.fixture(params=[(arch, target) for arch in ARCHS for target in ("hip", "asm")], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def thread():
    return uop.special("gidx0", GROUPS) * THREADS + uop.special("lidx0", THREADS)


def combined(operation, old, value):
    """The reference of one operation, of Python numbers."""
    if operation in ("and", "or", "xor"):
        return {"and": old & value, "or": old | value, "xor": old ^ value}[operation]
    results = {
        "add": lambda: old + value,
        "max": lambda: max(old, value),
        "min": lambda: min(old, value),
        "exchange": lambda: value,
        "inc": lambda: 0 if old >= value else old + 1,
        "dec": lambda: value if old == 0 or old > value else old - 1,
    }
    return results[operation]()


def explains(operation, first, last, pairs):
    """True if some order of the operations gives the value that each found, from first to last. Each operation is an
    edge of a graph; the order is a path along all of them.
    """
    edges = {}
    for found, value in pairs:
        edges.setdefault(found, []).append(combined(operation, found, value))
    at, way, stack = first, [], [first]
    while stack:  # Hierholzer
        if edges.get(stack[-1]):
            stack.append(edges[stack[-1]].pop())
        else:
            way.append(stack.pop())
    way.reverse()
    return at == way[0] and way[-1] == last and len(way) == len(pairs) + 1


def operations(dtype):
    names = ["add", "max", "min", "exchange"]
    if "float" not in dtype:
        names += ["and", "or", "xor"]
    if dtype.startswith("uint"):
        names += ["inc", "dec"]
    return names


def start(operation, dtype):
    if operation == "and":
        return np.full(PLACES, 255, dtype)
    return np.full(PLACES, 3, dtype)


def values_of(operation, dtype, rng):
    values = rng.integers(1, 30, COUNT)
    if operation == "and":
        values |= 0xF0
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("space", ["global", "local"])
def test_each_thread_gets_what_was_there_before(machine, rng, dtype, space):
    for operation in operations(dtype):
        values, places = values_of(operation, dtype, rng), rng.integers(0, PLACES, COUNT).astype(np.int32)
        first = start(operation, dtype)

        def in_global(out, cells, x, at):
            k, t = Author(), thread()
            old = k.after(cells)[at[t].load()].atomic(operation, x[t].load())  # noqa: B023
            return uop.sink(out[t].store(old), name="atomics")

        def in_local(out, cells, x, at):
            k, t, lane = Author(), thread(), uop.special("lidx0", THREADS)
            held = uop.placeholder(PLACES, dtype, "local", 1)
            inside = lane < PLACES
            k.effect(held.index(lane, inside).store(k.load(cells, lane % PLACES)))
            k.barrier()
            old = k.after(held)[at[t].load()].atomic(operation, x[t].load())  # noqa: B023
            k.effect(out[t].store(old))
            k.barrier()
            mine = uop.special("gidx0", GROUPS)
            k.effect(out.index(COUNT + mine * PLACES + lane, inside).store(k.after(held).index(lane, inside).load()))
            return k.sink("atomics")

        size = COUNT + (GROUPS * PLACES if space == "local" else 0)
        out, cells = Tensor.zeros(size, dtype=dtype).contiguous(), Tensor(first).contiguous()
        got = out.custom_kernel(
            cells, Tensor(values), Tensor(places), kernel=in_global if space == "global" else in_local
        )
        found = got[0].numpy()
        for group in range(1 if space == "global" else GROUPS):
            last = got[1].numpy() if space == "global" else found[COUNT + group * PLACES :][:PLACES]
            here = np.ones(COUNT, bool) if space == "global" else np.arange(COUNT) // THREADS == group
            for place in range(PLACES):
                chosen = here & (places == place)
                pairs = list(zip(found[:COUNT][chosen].tolist(), values[chosen].tolist(), strict=True))
                assert explains(operation, first[place].item(), last[place].item(), pairs), (operation, place)


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32"])
@pytest.mark.parametrize("space", ["global", "local"])
def test_compare_exchange_lets_one_thread_win(machine, dtype, space):
    def kernel(out, cell):
        k, lane, g = Author(), uop.special("lidx0", THREADS), uop.special("gidx0", GROUPS)
        t = g * THREADS + lane
        place = cell[g]
        if space == "local":
            held = uop.placeholder(1, dtype, "local", 1)
            k.effect(held.index(0, lane < 1).store(cell[g].load()))
            k.barrier()
            place = k.after(held)[0]
        old = place.atomic("compare_exchange", (lane + 10).cast(dtype), expected=5)
        return uop.sink(out[t].store(old), name="winners")

    out = Tensor.zeros(COUNT, dtype=dtype).contiguous()
    cell = Tensor(np.full(GROUPS, 5, dtype)).contiguous()
    found, _ = (x.numpy() for x in out.custom_kernel(cell, kernel=kernel))
    for group in found.reshape(GROUPS, THREADS):
        assert (group == 5).sum() == 1
        winner = int(np.flatnonzero(group == 5)[0]) + 10
        assert set(group.tolist()) <= {5, winner}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("space", ["global", "local"])
def test_two_halves_are_added_to_neighbours(machine, rng, dtype, space):
    """Small whole numbers, whose sums are exact in any order; one thread sees what was there."""

    def kernel(out, cells, x):
        k, t, lane = Author(), thread(), uop.special("lidx0", THREADS)
        held, group = uop.placeholder(8, dtype, "local", 1), uop.special("gidx0", GROUPS)
        k.effect(held.index(lane, lane < 8).store(uop.const(1, dtype)))
        k.barrier()
        memory = k.after(cells if space == "global" else held)
        values = memory[(t % 4) * 2].atomic_add_pair(x[t * 2].load(), x[t * 2 + 1].load())
        k.effect(values[1])
        k.store(out, t, values[0] + values[1])
        k.barrier()
        if space == "local":
            k.effect(k.after(cells).index(group * 8 + lane, lane < 8).store(k.load(held, lane % 8)))
        return k.sink("pairs")

    native = {"gfx1201": ("float16", "bfloat16"), "gfx942": ("float16", "bfloat16")}
    x = rng.integers(-3, 4, COUNT * 2)
    cells = Tensor(np.ones(8 * GROUPS, np.float32)).cast(dtype).contiguous()
    out = Tensor.zeros(COUNT, dtype=dtype).contiguous()
    got = out.custom_kernel(cells, Tensor(x.astype(np.float32)).cast(dtype), kernel=kernel)
    by_loop = dtype == "float16" or strata.settings()["target"] == "hip"
    if dtype not in native.get(machine, ()) and not by_loop:
        with pytest.raises(strata.Unsupported, match=f"direct lowering for {machine} has no .*atomic"):
            got[1].numpy()
        return
    sums = np.ones((GROUPS, 8))
    for t in range(COUNT):
        sums[0 if space == "global" else t // THREADS, t % 4 * 2 : t % 4 * 2 + 2] += x[t * 2 : t * 2 + 2]
    if space == "global":
        sums[1] = 1
    assert np.array_equal(got[1].cast("float32").numpy(), sums.ravel())


@pytest.mark.parametrize("scope", ["workgroup", "device", "system"])
def test_scopes(machine, scope):
    def kernel(out):
        return uop.sink(out[0].atomic("add", 1, scope=scope), name="scoped")

    def within(out):
        return uop.sink(
            out[uop.special("gidx0", GROUPS) + uop.special("lidx0", THREADS) * 0].atomic("add", 1, scope=scope)
        )

    out = Tensor.zeros(GROUPS, dtype="int32").contiguous()
    assert np.array_equal(out.custom_kernel(kernel=within)[0].numpy(), [THREADS] * GROUPS)
    assert Tensor.zeros(1, dtype="int32").contiguous().custom_kernel(kernel=kernel)[0].item() == 1


def test_a_place_whose_predicate_is_false_is_left(machine, rng):
    def kernel(out, cells):
        t = thread()
        old = cells.index(t * 7, t < 3).atomic("exchange", 9)
        return uop.sink(out.index(t, t < 3).store(old), name="gated")

    out, cells = Tensor.zeros(COUNT, dtype="int32").contiguous(), Tensor(np.arange(15, dtype=np.int32)).contiguous()
    found, left = (x.numpy() for x in out.custom_kernel(cells, kernel=kernel))
    want = np.arange(15)
    assert found[:3].tolist() == [0, 7, 14] and (found[3:] == 0).all()
    want[[0, 7, 14]] = 9
    assert np.array_equal(left, want)


def test_atomics_in_a_loop_that_threads_leave(machine, rng):
    """Tickets: each thread takes as many as it wants, and no two have the same."""

    def kernel(out, counter, wants):
        k, t = Author(), thread()
        total = k.register(0)
        with k.loop() as r:
            k.break_if(r.cast("int32") >= k.load(wants, t))
            ticket = k.after(counter)[0].atomic("add", 1)
            k.effect(ticket)
            k.store(out, ticket, t.cast("int32") + 1)
        k.store(out, COUNT * 4 + t, k.load(total))
        return k.sink("tickets")

    wants = rng.integers(0, 5, COUNT).astype(np.int32)
    out, counter = Tensor.zeros(COUNT * 5, dtype="int32").contiguous(), Tensor.zeros(1, dtype="int32").contiguous()
    tickets, counted = (x.numpy() for x in out.custom_kernel(counter, Tensor(wants), kernel=kernel)[:2])
    assert counted[0] == wants.sum()
    assert np.array_equal(np.bincount(tickets[: wants.sum()] - 1, minlength=COUNT), wants)


def test_equal_atomics_are_one_and_numbers_tell_them_apart(machine):
    def kernel(out):
        twice = [out[0].atomic("add", 1, number=n) for n in (1, 2)]
        same = [out[1].atomic("add", 1) for _ in range(2)]
        return uop.sink(*twice, *same, name="numbered")

    out = Tensor.zeros(2, dtype="int32").contiguous()
    assert out.custom_kernel(kernel=kernel)[0].numpy().tolist() == [2, 1]


@pytest.mark.parametrize(
    "message, use",
    [
        ("unknown atomic operation 'nand'; known: add, max, min, and, or", lambda p: p.atomic("nand", 1)),
        ("unknown scope 'world'; known: workgroup, device, system", lambda p: p.atomic("add", 1, scope="world")),
        ("'compare_exchange' needs what the place is expected", lambda p: p.atomic("compare_exchange", 1)),
        ("'add' has no expected value", lambda p: p.atomic("add", 1, expected=1)),
        ("'inc' counts in uint32 or uint64, and the place holds int32", lambda p: p.atomic("inc", 1)),
        ("atomic_add_pair is of float16 and bfloat16, and the place holds int32", lambda p: p.atomic_add_pair(1, 2)),
        ("atomic needs an indexed buffer", lambda p: p.load().atomic("add", 1)),
    ],
)
def test_a_wrong_operation_is_an_error(message, use):
    place = uop.placeholder(4, "int32", "global")[0]
    with pytest.raises((strata.UsageError, strata.DTypeError), match=message):
        use(place)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_type_without_atomics_is_unsupported_and_named(arch):
    with (
        strata.config(device=f"emu:{arch}"),
        pytest.raises(strata.Unsupported, match=f"{arch} has no atomic max of int16; use a type of 32 or 64 bits"),
    ):
        Tensor.zeros(4, dtype="int16").contiguous().custom_kernel(
            kernel=lambda out: uop.sink(out[0].atomic("max", 1), name="narrow")
        )[0].numpy()


def test_registers_have_no_atomics():
    def kernel(out):
        held = uop.placeholder(1, "int32", "reg")
        return uop.sink(out[0].store(held[0].atomic("add", 1)), name="private")

    with pytest.raises(strata.UsageError, match="which no other thread has: use global or local memory"):
        Tensor.zeros(4, dtype="int32").contiguous().custom_kernel(kernel=kernel)[0].numpy()


@pytest.mark.parametrize("dtype", TYPES)
def test_nvidia_s_compiler_takes_every_operation(dtype):
    def kernel(out, cells):
        k, t = Author(), thread()
        held = uop.placeholder(PLACES, dtype, "local", 1)
        for operation in [*operations(dtype), "compare_exchange"]:
            more = {"expected": 2} if operation == "compare_exchange" else {}
            for memory in (cells, held):
                for scope in ("workgroup", "device", "system"):
                    old = k.after(memory)[0].atomic(operation, t.cast(dtype), scope=scope, **more)
                    k.effect(old)
                    k.store(out, t, old)
        return k.sink("atomics")

    out = Tensor.empty(COUNT, dtype=dtype).custom_kernel(Tensor.empty(PLACES, dtype=dtype), kernel=kernel)[0]
    with strata.config(target="hip"):
        try:
            artifact = strata.compile(out, arch="sm_90")
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    assert "strata_atomic_compare_exchange<strata_system>(&" in artifact.source
