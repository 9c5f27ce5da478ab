"""Objects that each step of a loop makes and changes: they end with the step, whatever expression made them."""

import copy

import pytest
import strata
from strata import Tensor, lang


class Pair:
    def __init__(self, first):
        self.first, self.rest = first, [first]


KEPT = []


def of_a_method(n):
    total = n
    for _ in range(n):
        x = "a b".split()
        x[0] = total
        total = x[0] + 1
    return total


def of_a_copy(n):
    total, y = n, [n, 1]
    for _ in range(n):
        x = copy.copy(y)
        x[0] = total + x[0]
        total = x[0] + x[1]
    return total


def of_a_class(n):
    total = n
    for _ in range(n):
        pair = Pair(total)
        pair.first = pair.first + 1
        pair.rest[0] = pair.first * 2
        total = pair.rest[0]
    return total


def of_operators(n):
    total = n
    for i in range(n):
        for j in range(2):
            x, y = [0] * 2 + [1], {"a": 1} | {"b": 2}
            x[2], y["b"] = total, j
            total = x[2] + y["b"] + i
    return total


def of_slices(n):
    total = n
    for _ in range(n):
        x = [total, total + 1]
        y = x[:1]
        y[0] = x[1] * 2
        total = y[0] - x[0]
    return total


def in_branches(n):
    total = n
    while total < 20:
        if total % 2 == 0:
            x = [0] * 2
            x[0] = total
            total = x[0] + 3
        else:
            total = total + 1
    return total


def launched(f, n):
    @strata.kernel(grid=1, block=1)
    def kernel(out: lang.Tensor, n):
        out[0] = f(n)

    return kernel(Tensor.zeros(1, dtype="int32"), n)[0].item()


@pytest.mark.parametrize("f", [of_a_method, of_a_copy, of_a_class, of_operators, of_slices, in_branches])
def test_the_kernel_gives_what_python_does(f):
    assert [launched(f, n) for n in range(4)] == [f(n) for n in range(4)]


def kept_elsewhere(n):
    total = n
    for _ in range(n):
        x = [total]
        KEPT.append(x)
        total = x[0] + 1
    return total


class Known:
    all = []

    def __init__(self):
        self.all.append(self)


def made_and_known_elsewhere(n):
    total = n
    for _ in range(n):
        x = Known()
        x.first = total
        total = x.first + 1
    return total


@pytest.mark.parametrize(
    "f, why",
    [
        (kept_elsewhere, r"a list is changed in the loop of line \d+: list of \d+ before the loop"),
        (made_and_known_elsewhere, "changes a Known that each step creates, and that something else refers to"),
    ],
)
def test_what_outlives_the_step_is_refused(f, why):
    with pytest.raises(strata.UsageError, match=why):
        launched(f, 3)
