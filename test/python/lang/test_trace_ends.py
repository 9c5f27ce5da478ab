"""Objects around a kernel that a trace changes hold no value of the kernel when it ends."""

import pytest
import strata
from strata import Tensor, lang

NUMBER, HELD = 1, [1, 2]


class Settings:
    n = 3


def changes_all(i):
    global NUMBER
    Settings.n = i
    Settings.new = (0, [i])
    HELD[0] = i
    NUMBER = i
    return Settings.n + HELD[0] + NUMBER + Settings.new[1][0]


def in_a_branch(i):
    if i < 2:
        Settings.n = 5
    return Settings.n


def with_an_error(i):
    HELD.append(i)
    raise RuntimeError("later")


def traced(f):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x)

    return each(Tensor.zeros(4, dtype="int32"))[0].tolist()


def held():
    return Settings.n, hasattr(Settings, "new"), NUMBER, HELD


def test_classes_lists_and_globals_are_what_they_were():
    assert traced(changes_all) == [0, 4, 8, 12]
    assert held() == (3, False, 1, [1, 2])
    assert traced(in_a_branch) == [5, 5, 3, 3]
    assert held() == (3, False, 1, [1, 2])


def test_they_are_after_an_error_too():
    with pytest.raises(RuntimeError, match="later"):
        traced(with_an_error)
    assert held() == (3, False, 1, [1, 2])


def test_a_name_of_a_function_around_is_what_it_was():
    last = None

    def f(i):
        nonlocal last
        last = i
        return i + 1

    assert traced(f) == [1, 2, 3, 4]
    assert last is None


def test_values_of_python_stay():
    calls, names = [], {}

    def f(i):
        calls.append("f")
        names["f"] = len(calls)
        return i

    traced(f)
    traced(f)
    assert calls == ["f"] * len(calls) and calls and names == {"f": len(calls)}
