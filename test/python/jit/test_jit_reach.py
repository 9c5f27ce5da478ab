"""Captured functions and what they can reach: attributes, containers, arrays and bytes that change are traced
again or refused.
"""

import array
import collections

import numpy as np
import pytest
import strata
from strata import Tensor, jit


class Settings:
    scale = 2.0
    table = [1.0, 2.0]
    total = None


class Slotted:
    __slots__ = ("factor", "state")


def test_attributes_of_classes_and_slots_are_seen_and_put_in_place():
    held = Slotted()
    held.factor, held.state, Settings.total = 1.0, Tensor([0.0]).realize(), Tensor([0.0]).realize()

    @strata.jit
    def step(x):
        held.state = held.state + x.max()
        Settings.total = Settings.total + x.sum()
        return x * Settings.scale * held.factor + Settings.table[1]

    x = Tensor([1.0, 2.0]).realize()
    for calls, change in enumerate(
        [
            None,
            lambda: setattr(Settings, "scale", 5.0),
            lambda: Settings.table.__setitem__(1, 7.0),
            lambda: setattr(held, "factor", 3.0),
        ]
    ):
        if change:
            change()
        for call in range(1, 4):
            expected = np.array([1.0, 2.0]) * Settings.scale * held.factor + Settings.table[1]
            np.testing.assert_array_equal(step(x).numpy(), expected)
            assert held.state.tolist() == [2.0 * (3 * calls + call)] and Settings.total.tolist() == [
                3.0 * (3 * calls + call)
            ]
    assert step.captures == 4


class Holder:
    def __init__(self, array):
        self.array, self.unused = array, np.zeros(1 << 20, np.float32)
        self.inner = {"list": [np.ones(2, np.float32)]}
        self.recent = collections.deque([1.0, 2.0])

    @jit
    def scaled(self, x):
        return x * Tensor(self.array[:2]) + Tensor(self.inner["list"][0]) + self.recent[0]

    def fit(self):
        return self.scaled(Tensor([float(self.unused[0])] * 2))


def test_arrays_that_attributes_hold_are_compared_and_traced_anew_where_they_are_others():
    held = Holder(np.array([2.0, 3.0, 0.0], np.float32))
    x = Tensor([1.0, 2.0]).realize()

    def check(captures):
        for _ in range(3):
            want = np.array([1, 2]) * np.asarray(held.array)[:2] + held.inner["list"][0] + held.recent[0]
            np.testing.assert_array_equal(held.scaled(x).numpy(), want)
        assert Holder.scaled.captures == captures

    check(1)
    held.array[1] = 7.0
    check(2)
    assert "array is another" in Holder.scaled.reason
    held.inner["list"][0][:] = 5.0
    check(3)
    held.array.shape = (3, 1)  # the same bytes
    held.array = held.array.reshape(3)
    check(4)
    held.array = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)).T[2]
    check(5)
    held.array[0] = 9.0
    check(6)
    held.recent.rotate(1)
    check(7)
    held.unused[0] = 4.0  # whom only fit() names, which the function does not call
    check(7)
    held.fit()


def test_large_arrays_that_the_body_names_are_refused_and_those_of_others_are_not():
    held = Holder(np.zeros(1 << 15, np.float32))
    with pytest.raises(strata.UsageError, match=r"Holder.array is an array .* make it a strata.Tensor"):
        jit(lambda h, x: x * Tensor(h.array[:2]))(held, Tensor([1.0, 2.0]))
    held.array = np.array([{}, 1], object)
    with pytest.raises(strata.UsageError, match="Holder.array is an array of objects"):
        jit(lambda h: h.array[1] + Tensor([1.0]))(held)


def test_bytes_that_can_change_are_compared():
    data = bytearray([3])
    f = jit(lambda x, more: x * data[0] + more[0])
    more = array.array("d", [1.0])
    for _ in range(3):
        assert f(Tensor([2.0]), more).item() == 7
    data[0] = 4
    assert f(Tensor([2.0]), more).item() == 9
    more[0] = 2.0
    assert f(Tensor([2.0]), more).item() == 10
    data.append(1)  # nothing holds its memory
    assert f(Tensor([2.0]), more).item() == 10


def test_an_array_that_the_body_writes_to_is_refused_at_the_third_call():
    held = Holder(np.zeros(3, np.float32))

    def f(h, x):
        h.array[0] += 1
        return x * float(h.array[0])

    captured = jit(f)
    with pytest.raises(strata.UsageError, match="array was"):
        for _ in range(3):
            captured(held, Tensor([1.0]))


def test_functions_that_share_a_variable_are_captured_and_see_what_becomes_of_it():
    w, n = Tensor([1.0, 2.0]).realize(), 3

    def helped(x):
        return x * w + n

    @jit
    def f(x):
        return helped(x) + w * n

    x = Tensor([5.0, 6.0]).realize()
    for _ in range(4):
        assert f(x).tolist() == [11, 21]
    assert f.captures == 1
    n = 4
    for _ in range(4):
        assert f(x).tolist() == [13, 24]
    w = Tensor([0.0, 1.0]).realize()
    assert f(x).tolist() == [4, 14] and f.captures == 2


def test_a_variable_that_two_functions_share_is_put_in_place():
    total = Tensor([0.0]).realize()

    def add(x):
        nonlocal total
        total = total + x

    @jit
    def twice(x):
        add(x)
        add(x)
        return total * 1

    for call in range(1, 7):
        assert twice(Tensor([1.0]).realize()).item() == total.item() == 2 * call
    assert twice.captures == 1


def test_a_function_that_calls_itself_by_a_variable_of_the_one_around_it():
    @jit
    def down(x, depth):
        return down(x + 1, depth - 1) if depth else x * 2

    x = Tensor([1.0]).realize()
    for _ in range(4):
        assert [down(x, depth).item() for depth in (3, 0, 1)] == [8, 2, 4]
    assert down.captures == 3
    before, down = down, jit(lambda x, depth: x)
    assert before(x, 3).item() == 2 and before.reason == "down is another"
