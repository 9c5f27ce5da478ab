"""Graphs whose signature was computed before are not scheduled again, and have the values of their own memory and
numbers. They are compared with NumPy, over everything that a signature leaves out.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

LIMIT = 4000  # elements of a value


class Program:
    """A random program over int64 arrays: the same steps for the same seed, whatever the data and the numbers are."""

    def __init__(self, seed):
        self.seed = seed

    def run(self, inputs, numbers, use):
        """`use` is strata or numpy; gives all values that it makes."""
        rng = np.random.default_rng(self.seed)
        values, numbers = list(inputs), iter(numbers)
        for _ in range(10):
            x = values[rng.integers(len(values))]
            made = self.step(int(rng.integers(9)), x, values[rng.integers(len(values))], rng, numbers, use)
            if made is not None and int(np.prod(made.shape)) <= LIMIT:
                values.append(made)
        return values[len(inputs) :]

    def step(self, which, x, y, rng, numbers, use):
        axis = int(rng.integers(max(1, len(x.shape))))
        order = [int(a) for a in rng.permutation(len(x.shape))]
        turn = x.transpose if use is np else x.permute
        if which == 0:
            return x * next(numbers) + next(numbers)
        if which == 1:
            return (
                use.where(x < next(numbers), x, next(numbers))
                if use is strata
                else np.where(x < next(numbers), x, next(numbers))
            )
        if which == 2 and x.shape:
            return x.sum(axis=axis, keepdims=True)
        if which == 3 and x.shape:
            return turn(*order)
        if which == 4 and x.shape:
            return x[1:] - next(numbers)
        if which == 5:
            try:
                np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                return None
            return x + y * next(numbers)
        if which == 6 and x.shape:
            return (
                use.cat([x, x * next(numbers)], axis) if use is strata else np.concatenate([x, x * next(numbers)], axis)
            )
        if which == 7 and x.shape:
            width, value = [(1, 0)] * len(x.shape), next(numbers)
            return x.pad(width, value) if use is strata else np.pad(x, width, constant_values=value)
        return -x


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program_over_other_data_and_numbers(seed):
    rng = np.random.default_rng(1000 + seed)
    shapes = [[(4, 6), (6,), ()], [(2, 3, 4), (1, 5), (3, 1)], [(7, 1, 3), (3,), (7, 2, 3)]][seed % 3]
    program, kept = Program(seed), None
    for round in range(5):
        data = [rng.integers(-99, 100, shape) for shape in shapes]
        numbers = (
            kept if round == 2 else [int(n) for n in rng.integers(-50, 50, 64)]
        )  # once the same numbers over other data
        kept = numbers
        got = program.run([Tensor(d) for d in data], numbers, strata)
        strata.realize(got)
        for t, x in zip(got, program.run(data, numbers, np)):
            np.testing.assert_array_equal(t.numpy(), x)


def counted(call):
    """The result of call(), and (structures scheduled, structures known, milliseconds of compiling) meanwhile."""
    strata.reset_stats()
    value = call()
    s = strata.stats()
    return value, (s.plans_made, s.plans_found, s.programs)


def test_the_second_time_nothing_is_scheduled_and_from_the_third_number_on_neither():
    def step(x, number):
        return ((Tensor(x).realize() * number).sum(axis=1) - 5).realize().numpy()

    x, y = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    first, (made, found, programs) = counted(lambda: step(x, 1.25))
    np.testing.assert_allclose(first, (x * 1.25).sum(axis=1) - 5)
    assert (made, found) == (1, 0)
    again, (made, found, same) = counted(lambda: step(y, 1.25))
    np.testing.assert_allclose(again, (y * 1.25).sum(axis=1) - 5)
    assert (made, found, same) == (0, 1, programs)
    other, (made, found, programs) = counted(lambda: step(x, 2.5))
    np.testing.assert_allclose(other, (x * 2.5).sum(axis=1) - 5)
    assert (made, found) == (1, 0)
    for number in (3.75, -1.0, 0.0, 1.25, 2.5):
        value, (made, found, same) = counted(lambda number=number: step(y, number))
        np.testing.assert_allclose(value, (y * number).sum(axis=1) - 5)
        assert (made, found, same) == (0, 1, programs), number


def test_numbers_change_one_after_the_other():
    x = np.arange(6.0, dtype=np.float32)
    for a, b, c in [(1, 2, 3), (4, 2, 3), (5, 2, 3), (5, 7, 3), (1, 2, 3), (9, 9, 3), (9, 9, 9), (1, 8, 2), (2, 2, 2)]:
        np.testing.assert_array_equal(((Tensor(x) * a + b).maximum(c)).numpy(), np.maximum(x * a + b, c))


VALUES = {
    "float32": [1.5, -0.0, 0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-45],
    "float64": [1.5, -0.0, 0.0, np.inf, np.nan, 1e308, 1e-320, 0.1],
    "float16": [1.5, -0.0, 0.0, np.inf, np.nan, 65504.0, 6e-8],
    "int64": [1, -1, 0, 2**62, -(2**63), 2**63 - 1],
    "uint64": [1, 0, 2**64 - 1, 2**63],
    "int32": [1, -1, 0, 2**31 - 1, -(2**31)],
    "uint8": [1, 0, 255, 128],
    "int8": [1, 0, -128, 127],
    "bool": [True, False, True],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_numbers_of_every_type_come_with_their_exact_value(dtype):
    with np.errstate(all="ignore"):
        for data in ([1, 0, 3], [2, 5, 1]):
            x = np.array(data).astype(dtype)
            for value in VALUES[dtype]:
                number = np.array(value).astype(dtype)
                t = strata.where(Tensor(x) < 2, Tensor(x), number.item())
                want = np.where(x < 2, x, number)
                np.testing.assert_array_equal(t.numpy(), want)
                np.testing.assert_array_equal(np.signbit(t.numpy().astype("f8")), np.signbit(want.astype("f8")))


@pytest.mark.parametrize(
    "name,call",
    {
        "full": lambda x, n, use: Tensor.full((3,), n) if use is strata else np.full(3, n),
        "pow": lambda x, n, use: x**n,
        "divisor": lambda x, n, use: x // n,
        "dividend": lambda x, n, use: n // (abs(x) + 1),
        "modulo": lambda x, n, use: x % n,
        "shift": lambda x, n, use: x << n,
        "row": lambda x, n, use: x[n],
        "pad": lambda x, n, use: (
            x.pad([(1, 2), (0, 0)], n) if use is strata else np.pad(x, [(1, 2), (0, 0)], constant_values=n)
        ),
        "compare": lambda x, n, use: x <= n,
        "filled row": lambda x, n, use: (
            strata.cat([x, Tensor.full((1, 4), n)]) if use is strata else np.concatenate([x, np.full((1, 4), n)])
        ),
    }.items(),
)
def test_a_number_may_stand_anywhere(name, call):
    for round in range(2):
        x = np.arange(24).reshape(6, 4) + round
        for n in (1, 2, 3, 5, 2):
            np.testing.assert_array_equal(call(Tensor(x), n, strata).numpy(), call(x, n, np), err_msg=f"{name} {n}")


@pytest.mark.parametrize("seed", range(6))
def test_memory_that_is_shared_is_not_taken_for_memory_that_is_not(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 9, (2, 5, 4))
    x, y = Tensor(a).realize(), Tensor(b).realize()
    for left, right, wl, wr in [
        (x, y, a, b),
        (x, x, a, a),
        (y, x, b, a),
        (x[1:], x[:-1], a[1:], a[:-1]),
        (x[1:], y[:-1], a[1:], b[:-1]),
        (y[:-1], y[:-1], b[:-1], b[:-1]),
        (x.mT.contiguous().mT, x, a, a),
        (x.mT, y.mT, a.T, b.T),
    ]:
        np.testing.assert_array_equal((left * 3 - right).numpy(), wl * 3 - wr)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "uint8"])
def test_types_shapes_and_sizes_are_part_of_the_structure(dtype):
    for shape in [(12,), (3, 4), (4, 3), (2, 6), (1, 12), (13,)]:
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        np.testing.assert_array_equal(
            (Tensor(x) + Tensor(x)).sum(axis=0).numpy(),
            (x + x)
            .sum(axis=0, dtype=(x + x).sum(axis=0).dtype if dtype != "uint8" else None)
            .astype((Tensor(x) + Tensor(x)).sum(axis=0).numpy().dtype),
        )


def test_devices_targets_and_searches_have_plans_of_their_own():
    x = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    for round in range(2):
        for device in ("emu:gfx1100", "emu:gfx942"):
            for target in ("asm", "auto"):
                for beam in (0, 1):
                    with strata.config(device=device, target=target, beam=beam):
                        t = ((Tensor(x + round) * 2).sum(axis=1) + 1).realize()
                        assert t.device == device
                        np.testing.assert_array_equal(t.numpy(), ((x + round) * 2).sum(axis=1) + 1)


def test_what_a_users_kernel_changed_in_place_is_read_anew():
    add = strata.hip_kernel(
        'extern "C" __global__ void add(float* x) { x[threadIdx.x] += 1; }', name="add", grid=1, block=4
    )
    x = Tensor(np.zeros(4, np.float32)).realize()
    for n in range(1, 5):
        add(x)
        np.testing.assert_array_equal((x * 10).numpy(), np.full(4, 10.0 * n))


def test_a_users_kernel_inside_a_graph_runs_each_time():
    twice = strata.hip_kernel(
        'extern "C" __global__ void twice(float* out, const float* x) { out[threadIdx.x] = 2 * x[threadIdx.x]; }',
        name="twice",
        grid=1,
        block=4,
    )
    for n in range(4):
        x = np.full(4, n, np.float32)
        out = Tensor.empty(4).custom_kernel(Tensor(x) + 1, kernel=twice)[0]
        np.testing.assert_array_equal((out * 3).numpy(), (x + 1) * 6)


def test_results_that_are_asked_for_twice_or_are_views_of_what_is_read():
    for n in range(3):
        x = np.arange(6).reshape(2, 3) + n
        t = Tensor(x).realize()
        same, turned, sums = t + 1, t.mT, t.sum()
        again = t + 1
        strata.realize([same, turned, again, sums, t])
        for got, want in [(same, x + 1), (again, x + 1), (turned, x.T), (sums, x.sum()), (t, x)]:
            np.testing.assert_array_equal(got.numpy(), want)


def test_what_was_computed_before_is_read_from_memory_and_its_structure_says_so():
    for n in range(3):
        x = np.arange(5.0) + n
        base = (Tensor(x) * 2).contiguous()
        above = base + 1
        base.realize()
        np.testing.assert_array_equal(above.numpy(), x * 2 + 1)
        np.testing.assert_array_equal((base + 1).numpy(), x * 2 + 1)


def test_random_numbers_are_new_each_time():
    values = [Tensor.rand(100).numpy() for _ in range(5)]
    assert len({v.tobytes() for v in values}) == 5
    strata.manual_seed(3)
    first = Tensor.rand(100).numpy()
    strata.manual_seed(3)
    np.testing.assert_array_equal(Tensor.rand(100).numpy(), first)


def test_strict_mode_sees_every_value_in_memory_of_its_own():
    x = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    for check in ("off", "raise", "off", "raise"):
        with strata.config(check=check):
            y = Tensor(x)
            for _ in range(4):
                y = (y - y.max(axis=1, keepdims=True)).contiguous()
            np.testing.assert_array_equal(y.numpy(), x - x.max(axis=1, keepdims=True))


def test_memory_of_values_between_kernels_is_used_again():
    size = 1 << 16

    def chain():
        y = Tensor(np.ones(size, np.float32)).realize()
        for _ in range(20):
            y = (y * 2).contiguous()
        return y.realize()

    for _ in range(2):
        strata.reset_stats()
        before = strata.stats().live_bytes
        np.testing.assert_array_equal(chain().numpy(), np.full(size, 2.0**20))
        assert strata.stats().peak_bytes - before <= 2 * 4 * size + 4096


def residual(x, ws):
    for w in ws:
        x = x + x.softmax(-1) @ w
    return x


def test_what_is_added_to_a_product_takes_the_memory_of_what_it_is_added_to(rng):
    x, ws = (
        rng.standard_normal((128, 128)).astype(np.float32),
        [rng.standard_normal((128, 128)).astype(np.float32) / 9 for _ in range(6)],
    )
    t, us = Tensor(x).realize(), [Tensor(w).realize() for w in ws]
    for _ in range(2):
        strata.reset_stats()
        before = strata.stats().live_bytes
        y = residual(t, us).realize()
        assert strata.stats().peak_bytes - before <= 2 * x.nbytes + 4096, "the sum, and the softmax of what it was"
        want = x.astype(np.float64)
        for w in ws:
            e = np.exp(want - want.max(-1, keepdims=True))
            want = want + e / e.sum(-1, keepdims=True) @ w
        np.testing.assert_allclose(y.numpy(), want, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(t.numpy(), x)
        del y


def test_plans_beyond_their_budget_go():
    with strata.config(plans_mb=1):
        for n in range(2, 40):
            np.testing.assert_array_equal((Tensor(np.ones(n, np.int64)) + 1).numpy(), np.full(n, 2))
        assert strata.stats().plan_bytes <= 2 << 20


def test_a_chain_of_many_operations_ends_soon():
    parts = [Tensor(np.array([v], np.float32)).realize() for v in (1.0, 2.0)]
    y, want = parts[0], np.float32(1)
    for i in range(20_000):
        y = y + parts[i % 2] if i % 2 else y * 0.5
        want = np.float32(want + (2 if i % 2 else 0)) if i % 2 else np.float32(want * np.float32(0.5))
    assert y.item() == want


def test_a_sum_of_many_tensors_ends_soon():
    parts = [Tensor(np.array([v], np.float32)).realize() for v in range(1000)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    assert total.item() == 499500


def test_memory_is_flat_over_steps_of_training():
    w = Tensor(np.ones((16, 16), np.float32)).realize()
    sizes = []
    for step in range(10_000):
        x = Tensor(np.full((4, 16), 0.01, np.float32))
        y = (x @ w).tanh()
        grad = x.mT @ (y * (1 / (step + 1.0)))
        w = (w - grad * 3e-4).realize()
        if step in (1000, 9999):
            s = strata.stats()
            sizes.append((s.live_bytes, s.graph_nodes, s.programs, s.plans))
    assert sizes[1][2:] == sizes[0][2:], "neither programs nor plans"
    assert sizes[1][0] <= sizes[0][0] + (4 << 20) and sizes[1][1] <= 2 * sizes[0][1] + 20_000


def test_threads_that_compute_parts_of_one_graph_at_once_get_its_values():
    from concurrent.futures import ThreadPoolExecutor

    for round in range(12):
        x = np.arange(30).reshape(5, 6) + round
        base = (Tensor(x) * 3).contiguous()
        above, beside = base.sum(axis=1) + base.max(), base + 1
        with ThreadPoolExecutor(3) as pool:
            done = [pool.submit(strata.realize, t) for t in (base, above, beside)]
            for d in done:
                d.result()
        for got, want in [(base, x * 3), (above, (x * 3).sum(axis=1) + (x * 3).max()), (beside, x * 3 + 1)]:
            np.testing.assert_array_equal(got.numpy(), want)
