"""if, while, for and what else decides in a kernel do what Python does with the same numbers."""

import linecache

import numpy as np
import pytest
import strata
from random_programs import Drawn
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def helper(x, y):
    if x < y:
        return x - y
    return y * 2 % 97


def each_thread(function, *columns, dtype="int32"):
    """function of each row of the columns, by a kernel with a thread a row."""
    columns = [np.asarray(c, dtype) for c in columns]
    n = len(columns[0])

    @strata.kernel(grid=1, block=n)
    def each(out, given):
        i = lang.thread_idx.x
        out[i] = function(*[given[i * len(columns) + k] for k in lang.static_range(len(columns))])

    given = Tensor(np.stack(columns, 1).reshape(-1))
    (result,) = each(Tensor.zeros(n, dtype=dtype), given)
    return result.numpy().tolist()


def check(function, *columns):
    assert each_thread(function, *columns) == [function(*row) for row in zip(*columns)]


def test_an_if_takes_one_way_in_each_thread():
    def f(x):
        y = 5
        if x > 2:
            y = x * 2
        elif x == 1:
            y = -x
        else:
            y += 1
        return y

    check(f, [0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x > 2) and x * 10,
        lambda x: (x > 2) or x * 10,
        lambda x: x and (x > 2),
        lambda x: (x - 3) or (x > 2),
        lambda x: (x > 2) and (x < 5),
        lambda x: (x > 2) or 7,
        lambda x: (x > 2) and 7,
        lambda x: x and 7,
        lambda x: (x > 1) and (x > 3 or x * 5),
        lambda x: 1 < x < 4 and x + 100,
    ],
)
def test_and_and_or_give_the_operand_that_decides(f):
    check(f, [0, 1, 2, 3, 4, 5])


KEYS = {2: "a", 5: "b"}


@pytest.mark.parametrize(
    "f",
    [
        lambda i: i in (1, 2, 5),
        lambda i: i not in (1, 2, 5),
        lambda i: i in [i // 2 * 2],
        lambda i: 4 in (i, i + 1),
        lambda i: i in {1, 2, 5},
        lambda i: i in KEYS,
        lambda i: i in range(2, 6),
        lambda i: i in range(1, 8, 3),
        lambda i: i in range(6, 0, -2),
        lambda i: 3 in range(i),
        lambda i: i in (),
        lambda i: 3 in (3, i),
        lambda i: 3 in KEYS or i == 1,
        lambda i: 1 if i in (1, 2) and i not in (2,) else 0,
    ],
)
def test_in_asks_whether_one_that_is_held_is_equal(f):
    @strata.kernel(grid=1, block=8)
    def each(out: lang.Tensor):
        t = lang.thread_idx.x
        out[t] = 1 if f(t) else 0

    assert each(Tensor.zeros(8))[0].tolist() == [float(bool(f(i))) for i in range(8)]


def test_names_of_both_ways_join_without_a_value_before():
    def f(x):
        if x % 2:
            y, z = x, 1
        else:
            y, z = -x, x * x
        return y + z

    check(f, [0, 1, 2, 3])


def test_chains_and_or_not_and_conditional_expressions_decide_in_the_kernel():
    def f(x, y):
        return (
            (1 if 0 < x < y <= 4 else 2)
            + (10 if x == 1 or not y else 20)
            + (x and 100)
            + (y or 7)
            + (3 if x and y else 4)
        )

    check(f, [0, 1, 2, 5], [0, 4, 4, 9])


def test_a_loop_over_a_range_of_known_and_of_each_threads_length():
    def f(n):
        s = 0
        for i in range(3):
            s = s + i * n
        for i in range(n):
            s = s * 2 + i
        for i in range(n, -2, -2):
            s += i
        return s

    check(f, [0, 1, 2, 5, 7])


def test_a_while_loop_ends_for_each_thread_by_itself():
    def collatz(n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    check(collatz, [1, 2, 3, 6, 7, 27])


def test_break_continue_and_return_leave_loops():
    def f(n, stop):
        total = 0
        for i in range(n):
            if i == stop:
                break
            if i % 3 == 0:
                continue
            if total > 20:
                return -total
            total += i
        else:
            total += 1000
        return total

    check(f, [0, 5, 9, 12, 12], [3, 9, 4, 11, 100])


def test_an_endless_loop_ends_by_its_break():
    def f(n):
        k = 0
        while True:
            square = k * k
            if square >= n:
                break
            k += 1
        return square

    check(f, [0, 1, 5, 17])


def test_loops_nest_and_stop_each_by_itself():
    def f(n):
        found = 0
        for i in range(n):
            for j in range(i):
                if i * j > 6:
                    break
                found += 1
            else:
                found += 100
        return found

    check(f, [0, 1, 3, 5])


def test_two_names_swap_in_a_loop():
    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    check(fibonacci, [0, 1, 2, 9])


def test_lists_dicts_and_tuples_are_carried():
    def f(n):
        pair, table, top = [n, 1], {"sum": 0}, (0, (n, 2))
        for i in range(n):
            pair[0] = pair[0] + pair[1]
            table["sum"] += i
            top = (top[0] + 1, (top[1][1], top[1][0]))
            if i % 2:
                pair[1] = i
        return pair[0] * 1000 + table["sum"] * 10 + top[0] + top[1][0]

    check(f, [0, 1, 2, 5])


def test_an_object_that_a_branch_changes_is_changed_in_its_threads_alone():
    class Point:
        def __init__(self):
            self.x = 1

        def move(self, by):
            if by > 1:
                self.x += by

    def f(n):
        point, seen = Point(), [0, 0]
        alias = seen
        if n > 2:
            point.move(n)
            seen[0] = n
        return point.x * 100 + alias[0] + seen[1]

    check(f, [0, 2, 3, 9])


def test_a_list_that_a_step_replaces_leaves_the_first_one_alone():
    def f(n):
        first = [1, 2]
        now = first
        for _ in range(n):
            now = [now[1], now[0] + 1]
        return first[0] * 100 + first[1] * 10 + now[0]

    check(f, [0, 1, 2, 3])


def test_helpers_methods_closures_and_lambdas_are_rewritten_too():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by if x > 1 else -x

        def half(self, x):
            while x > self.by:
                x //= 2
            return x

    scale, clip = Scale(3), lambda x: 0 if x < 0 else x

    def f(x):
        def inner(y):
            if y > 4:
                return y - x
            return y

        return scale(x) + scale.half(x) * 10 + clip(x - 3) * 100 + inner(x + 1) + helper(x, 2)

    check(f, [0, 1, 2, 5, 9])


def test_what_is_not_taken_is_not_loaded():
    @strata.kernel(grid=1, block=64)
    def f(out, given, n):
        i = lang.thread_idx.x
        out[i] = given[i] if i < n else -1.0
        if i < n and given[i] > 2:
            out[i] = given[i] * 10

    given = Tensor(np.array([1, 2, 3], "float32"))
    with strata.config(check="raise"):
        (out,) = f(Tensor.zeros(64), given, 3)
    assert out.numpy().tolist() == [1, 2, 30] + [-1] * 61


def test_a_python_number_takes_the_type_that_it_meets():
    def f(x):
        s = 0
        for _ in range(3):
            s = s + x
        return s

    assert each_thread(f, [0.5, 1.25], dtype="float32") == [1.5, 3.75]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_random_programs_do_what_python_does(tmp_path, arch, target):
    columns = [0, 3, 7, -4, 2], [1, -2, 7, 9, 0]
    for seed in range(6):
        text, file = Drawn(seed).text, str(tmp_path / f"drawn{seed}.py")
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space = {"helper": helper}
        exec(compile(text, file, "exec"), space)
        f = space["f"]

        @strata.kernel(grid=1, block=len(columns[0]))
        def kernel(out, a, b):
            i = lang.thread_idx.x
            given = [a[i], b[i], 3]
            *numbers, listed = f(a[i], b[i], given)
            for k, x in enumerate((*numbers, *listed, *given)):
                out[i, k] = x

        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            a, b = (Tensor(np.array(c, "int32")) for c in columns)
            (out,) = kernel(Tensor.zeros(len(columns[0]), 10, dtype="int32"), a, b)
            got = out.numpy().tolist()
        for row, x, y in zip(got, *columns):
            given = [x, y, 3]
            *numbers, listed = f(x, y, given)
            assert row == [*numbers, *listed, *given], f"seed {seed}, {x}, {y}\n{text}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_store_after_a_loop_of_a_branch_is_the_branch_s(arch, target):
    """Threads that do not take the branch store nothing, after loops of every kind: there is no memory for them."""

    @strata.kernel(grid=1, block=64)
    def kernel(out):
        i = lang.thread_idx.x
        if i < out.shape[0]:
            total = 0
            for k in range(4):
                total += k * i
            out[i] = total
            while total > 9:
                total -= 7
            out[i] = out[i] * 100 + total

    def want(i):
        return 6 * i * 100 + (6 * i if 6 * i <= 9 else 6 * i - -(-(6 * i - 9) // 7) * 7)

    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        (out,) = kernel(Tensor.zeros(8, dtype="int32"))
        assert out.numpy().tolist() == [want(i) for i in range(8)]
        (found,) = kernel.interpret(Tensor.zeros(8, dtype="int32"))
        assert found.numpy().tolist() == [want(i) for i in range(8)]
