"""Changes outside of a branch or loop of the kernel are right, or refused: none is made for all threads."""

import collections

import pytest
import strata
from strata import Tensor, lang

NUMBER = 0


class Box:
    def __init__(self, x):
        self.held = {0: x}

    def __setitem__(self, key, x):
        self.held[key] = x


def assigns_global():
    global NUMBER
    NUMBER = 5


def by_helpers(i):
    assigns_global()


def by_nonlocal(i):
    n = 0

    def bump():
        nonlocal n
        n += 1

    if i > 3:
        bump()
    return n


def by_nonlocal_in_a_loop(i):
    n = 0

    def bump():
        nonlocal n
        n += 1

    for _ in range(i):
        bump()
    return n


def by_a_global_of_a_helper(i):
    if i > 3:
        by_helpers(i)
    return NUMBER


def by_an_item_of_a_class(i):
    c = Box(0)
    if i > 3:
        c[0] = 5
    return c.held[0]


def by_a_deque(i):
    d = collections.deque([1])
    if i > 3:
        d.append(3)
    return len(d)


def by_an_iterator(i):
    it = iter([1, 2, 3])
    if i > 3:
        next(it)
    return next(it)


REFUSED = {
    by_nonlocal: r"whether bump is called. It assigns n, which outlives it: return the value",
    by_nonlocal_in_a_loop: r"whether bump is called. It assigns n, which outlives it: return the value",
    by_a_global_of_a_helper: r"whether assigns_global is called. It assigns NUMBER, which outlives it",
    by_an_item_of_a_class: r"an item of a Box is assigned .* its __setitem__ would run for all threads",
    by_a_deque: r"a deque is changed in line",
    by_an_iterator: r"a list_iterator is changed in line",
}


def computed(f):
    @strata.kernel(grid=1, block=8)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x)

    return each(Tensor.zeros(8, dtype="int32"))[0].tolist()


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_a_change_that_cannot_be_each_threads_own_is_refused(f):
    with pytest.raises(strata.UsageError, match=REFUSED[f]):
        computed(f)


def test_the_same_changes_outside_of_branches_are_made():
    def f(i):
        n, c, d, it = 0, Box(0), collections.deque([1]), iter([1, 2, 3])

        def bump():
            nonlocal n
            n += 1

        bump()
        c[0] = 5
        d.append(3)
        next(it)
        return i + n + c.held[0] + len(d) + next(it)

    assert computed(f) == [i + 1 + 5 + 2 + 2 for i in range(8)]
