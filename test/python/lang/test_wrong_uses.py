"""Mistakes of authors and callers are errors that say what to write instead."""

import math

import numpy as np
import pytest
import strata
from strata import Tensor, lang


@strata.kernel(grid=1, block=4)
def twos(out: lang.Tensor):
    out[lang.block_idx.x * 4 + lang.thread_idx.x] = 2


def an_assert(i):
    assert i < 2, "small"
    return i


def a_match(i):
    match i:
        case 1:
            return 5
        case _:
            return 6


def a_match_of_several(i):
    match i:
        case 1 | 2 as n:
            return n
        case _:
            return 6


def a_caught_error(i):
    try:
        if i < 2:
            raise ValueError("of all threads")
    except ValueError:
        pass
    return i


def an_error_in_an_expression(i):
    def fails():
        raise ValueError("of all threads")

    try:
        return fails() if i < 2 else 3
    except ValueError:
        return i


def endless(i):
    if i < 5:
        return i
    return endless(i - 1)


def a_guard(i):
    match i, 3:
        case n, 3 if n > 2:
            return n
        case _:
            return 6


@pytest.mark.parametrize(
    "f, words",
    [
        (an_assert, "value of the kernel: write lang.device_assert"),
        (a_match, "a match compares while the kernel is traced, .*: write if and elif"),
        (a_match_of_several, "a match compares while the kernel is traced"),
        (a_caught_error, r"\[each\] line \d+: an exception left a branch or loop of the kernel and was caught"),
        (an_error_in_an_expression, "an exception left a conditional expression of the kernel and was caught"),
        (endless, "endless calls itself without an end while the kernel is traced: .* Write a while loop"),
        (a_guard, "a guard of match is decided while the kernel is traced: write an if in the case"),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_statements_that_decide_while_traced_say_what_to_write(f, words):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x)

    with pytest.raises(strata.UsageError, match=words):
        each(Tensor.zeros(4))


def test_asserts_and_matches_of_python_values_decide_while_traced():
    def f(i, how):
        assert isinstance(how, tuple)
        match how:
            case ("twice", n) if n > 1:
                return i * n
            case _:
                return i

    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor, how: lang.Constexpr):
        out[lang.thread_idx.x] = f(lang.thread_idx.x, how)

    assert each(Tensor.zeros(4), ("twice", 3))[0].tolist() == [0, 3, 6, 9]
    assert each(Tensor.zeros(4), ("once", 3))[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("grid", [1.5, "2", True, object(), lambda out: 4 / 2])
def test_a_grid_that_is_no_number_of_blocks_says_what_is_taken(grid):
    with pytest.raises(strata.LaunchError, match=r"grid .*: give an integer of at least 1, or a tuple of up to three"):
        twos(Tensor.zeros(4), grid=grid)


def test_numpy_s_integers_are_sizes():
    assert twos(Tensor.zeros(8), grid=np.int64(2))[0].tolist() == [2] * 8
    assert twos(Tensor.zeros(8), grid=(np.int32(2), 1), block=np.uint8(4))[0].tolist() == [2] * 8


@pytest.mark.parametrize("block", [2048, (64, 32), (1025, 1, 1)])
def test_a_block_of_too_many_threads_says_how_many_there_may_be(block):
    with pytest.raises(strata.LaunchError, match=r"\[twos\] block .* threads, and a block has at most 1024: take a"):
        twos(Tensor.zeros(4), block=block)


@pytest.mark.parametrize(
    "given, named, words",
    [
        ((), {}, r"twos\(out\) got 0 arguments: missing a required argument: 'out'"),
        ((1, 2), {}, r"twos\(out\) got 2 arguments: too many positional arguments"),
        (
            (1,),
            {"to": 3},
            r"twos\(out\) got 1 arguments and the names \['to'\]: got an unexpected keyword argument 'to'",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_errors_with_the_parameters(given, named, words):
    with pytest.raises(TypeError, match=words):
        twos(*given, **named)


def found(n, t):
    for i in lang.range(n):
        if i == t:
            return i * 10
    return -1


def found_pair(n, t):
    for i in lang.range(n):
        if i == t:
            pair = lang.registers(2, "int32")
            pair.fill(i)
            return pair
    other = lang.registers(2, "int32")
    other.fill(-1)
    return other


@pytest.mark.parametrize("n", [0, 2, 4])
def test_a_return_in_a_loop_of_a_helper_reads_nothing_that_nothing_wrote(n):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor, n):
        t = lang.thread_idx.x
        out[t] = found(n, t) + found_pair(n, t)[1] * 100

    zeros, expected = Tensor.zeros(4, dtype="int32"), [110 * t if t < n else -101 for t in range(4)]
    assert each.interpret(zeros, n)[0].tolist() == expected
    with strata.config(check="raise"):
        assert each(zeros, n)[0].tolist() == expected


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda i: math.sqrt(i), "math.sqrt computes numbers of the host, .*: write lang.sqrt"),
        (lambda i: np.exp(i), "numpy.exp computes numbers of the host, .*: write lang.exp"),
        (lambda i: math.gcd(i, 3), "math.gcd computes numbers of the host, .*: write it with functions of lang"),
    ],
)
def test_functions_of_the_host_say_which_are_those_of_the_kernel(f, words):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x) + math.gcd(6, 4) + np.exp(0.0)

    with pytest.raises(strata.UsageError, match=words):
        each(Tensor.zeros(4))


def looked_up(i):
    return {1: 5, 2: 6}.get(i, 0)


def taken_out(i):
    numbers = {1: 5, 2: 6}
    return numbers.pop(i, 0)


def discarded(i):
    numbers = {1, 2}
    numbers.discard(i)
    return len(numbers)


@pytest.mark.parametrize("f", [looked_up, taken_out, discarded], ids=lambda f: f.__name__)
def test_a_value_of_the_kernel_is_no_key(f):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x)

    with pytest.raises(strata.UsageError, match=r"(dict|set).\w+ looks up a key while the kernel is traced"):
        each(Tensor.zeros(4))


def test_keys_of_python_and_those_that_are_there_are_looked_up():
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        t = lang.thread_idx.x
        held = {t: 5, 2: 6}
        out[t] = held.get(t) + held.get(2, 0) + held.get(3, 1) + held.pop(2)

    assert each(Tensor.zeros(4))[0].tolist() == [18] * 4


def test_generators_and_coroutines_are_no_kernels():
    def yields(out):
        yield out

    async def awaits(out):
        return out

    for function in (yields, awaits):
        with pytest.raises(strata.UsageError, match="yields or awaits: a kernel is a plain function"):
            strata.kernel(function, grid=1)
