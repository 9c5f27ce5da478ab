"""A kernel sees every change of what it read while it was traced, in a process and across processes on disk."""

import array
import collections
import functools
import operator
import os
import random
import subprocess
import sys
import types

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import specialisations


class Slots:
    __slots__ = ("v",)

    def __init__(self):
        self.v = 1


class Named:
    v = 1
    items: dict = {"a": 1}

    @classmethod
    def of_class(cls):
        return cls.v

    @staticmethod
    def of_name():
        return Named.v

    def __getitem__(self, key):
        return self.items[key]


class Whole(int):
    more = 0


MODULE = types.ModuleType("made")
MODULE.v = 1
SLOTS, SET, ARRAY, DEQUE = Slots(), {1}, np.ones(3, "int64"), collections.deque([1, 2])
SCALAR, FLAT, WHOLE, GENERATOR = np.array(1), array.array("i", [1]), Whole(3), random.Random(5)
NAMED, BY_NAME, GET, TABLE, VIEWED = Named(), "v", operator.attrgetter("v"), {"a": 1}, {"a": 1}
VIEW = types.MappingProxyType(VIEWED)
SPACE = types.SimpleNamespace(v=1)
COMPUTED = 1


def attributed():
    return attributed.v


attributed.v = 1


def defaulted(x=1):
    return x


def environment():
    return int(os.environ.get("STRATA_READ_BY_A_TEST", "1"))


def set_environment():
    os.environ["STRATA_READ_BY_A_TEST"] = "2"


def reads_of(container):
    return container.v


READS = {
    "a variable of the environment": (environment, set_environment),
    "an attribute of a module by its name": (lambda: getattr(MODULE, BY_NAME), lambda: setattr(MODULE, "v", 2)),
    "an attribute by attrgetter": (lambda: GET(MODULE), lambda: setattr(MODULE, "v", 3)),
    "an attribute that a helper names": (lambda: reads_of(Named), lambda: setattr(Named, "v", 2)),
    "an attribute of cls": (lambda: Named.of_class(), lambda: setattr(Named, "v", 3)),
    "an attribute of a class that its own method names": (lambda: Named.of_name(), lambda: setattr(Named, "v", 4)),
    "what an operator of an object reads": (lambda: NAMED["a"], lambda: Named.items.update(a=5)),
    "an attribute of an instance that hides one of its class": (lambda: NAMED.v, lambda: setattr(NAMED, "v", 9)),
    "a slot": (lambda: SLOTS.v, lambda: setattr(SLOTS, "v", 2)),
    "a set": (lambda: len(SET), lambda: SET.add(5)),
    "an array": (lambda: int(ARRAY.sum()), lambda: ARRAY.__setitem__(0, 9)),
    "an array without dimensions": (lambda: int(SCALAR), lambda: SCALAR.fill(7)),
    "a flat array": (lambda: FLAT[0], lambda: FLAT.append(FLAT.pop() + 1)),
    "a deque": (lambda: DEQUE[0], lambda: DEQUE.appendleft(5)),
    "a view of a dict": (lambda: VIEW["a"], lambda: VIEWED.update(a=6)),
    "a key that a dict gets": (lambda: TABLE.get("b", 1), lambda: TABLE.update(b=2)),
    "a global by its text": (lambda: globals()["COMPUTED"], lambda: globals().update(COMPUTED=8)),
    "an attribute of a function": (lambda: attributed(), lambda: setattr(attributed, "v", 4)),
    "the code of a function": (
        lambda: defaulted(),
        lambda: setattr(defaulted, "__code__", (lambda x=0: x + 1).__code__),
    ),
    "a built-in function that a global hides": (lambda: abs(-3), lambda: globals().update(abs=lambda x: 11)),
    "a limit of the interpreter": (lambda: sys.getrecursionlimit() % 7, lambda: sys.setrecursionlimit(1234)),
    "the state of a generator": (lambda: GENERATOR.getstate()[1][1] % 1000, lambda: GENERATOR.seed(6)),
    "an attribute of a number": (lambda: WHOLE + WHOLE.more, lambda: setattr(WHOLE, "more", 2)),
    "a namespace's attribute": (lambda: SPACE.v, lambda: setattr(SPACE, "v", 2)),
}


def value(kernel, *given):
    return kernel(Tensor.zeros(1, dtype="int32"), *given)[0].item()


@pytest.mark.parametrize("name", READS)
def test_a_kernel_sees_a_change_of(name, monkeypatch):
    read, change = READS[name]
    if "environment" in name:
        monkeypatch.delenv("STRATA_READ_BY_A_TEST", raising=False)
    limit = sys.getrecursionlimit()

    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = read()

    try:
        before = read()
        assert value(kernel) == before == value(kernel)
        change()
        after = read()
        assert before != after and value(kernel) == after == value(kernel)
    finally:
        sys.setrecursionlimit(limit)
        globals().pop("abs", None)
        os.environ.pop("STRATA_READ_BY_A_TEST", None)


def test_what_has_not_changed_is_traced_once():
    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = SLOTS.v + len(SET) + int(ARRAY[0]) + DEQUE[0] + SPACE.v + len(os.environ) * 0

    assert value(kernel) == value(kernel) and specialisations(kernel) == 1


def test_what_nothing_shows_is_traced_at_each_call_and_kept_once():
    numbers = (n for n in range(100))

    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = next(numbers)

    assert [value(kernel) for _ in range(5)] == [0, 1, 2, 3, 4] and specialisations(kernel) == 1


def test_a_function_that_is_compiled_in_is_known_by_what_it_reads():
    scale = 2

    @strata.kernel(grid=1, block=1)
    def kernel(out, f: lang.Constexpr):
        out[0] = f(10)

    def scaled(x):
        return x * scale

    assert value(kernel, scaled) == 20 == value(kernel, scaled)
    scale = 3
    assert value(kernel, scaled) == 30
    assert [value(kernel, lambda x: x + 1) for _ in range(100)] == [11] * 100 and specialisations(kernel) <= 3


@pytest.mark.parametrize("one, other", [(0.0, -0.0), (1, True), (1, 1.0), (0j, -0j), (b"1", "1"), ((0.0,), (-0.0,))])
@pytest.mark.parametrize("through", ["an argument", "a tuple", "a dataclass"])
def test_constants_that_python_calls_equal_are_two(one, other, through):
    class Box(tuple):
        pass

    def of(x):
        return Box((x,)) if through == "a dataclass" else (x,) if through == "a tuple" else x

    said = []

    @strata.kernel(grid=1, block=1)
    def kernel(out, c: lang.Constexpr):
        said.append(repr(c))
        out[0] = 1

    for x in (one, other, one, other):
        value(kernel, of(x))
    # said is read by the kernel too: each call sees that it grew.
    assert set(said) == {repr(of(one)), repr(of(other))}


def test_zeros_of_both_signs_and_nan_are_constants_of_their_own():
    @strata.kernel(grid=1, block=1)
    def kernel(out, c: lang.Constexpr):
        out[0] = 5 if c != c else 1 if str(c)[0] == "-" else 2

    nan = float("nan")
    assert [value(kernel, c) for c in (0.0, -0.0, nan, 0.0, -0.0, float("nan"))] == [2, 1, 5, 2, 1, 5]
    assert specialisations(kernel) == 3


EDITED = """import strata
from strata import lang
@strata.kernel(grid=1, block=1)
def k(out: lang.Tensor):
    out[0] = {}
"""


def ran(folder, before_launch="", keep_bytecode=False):
    given = {k: v for k, v in os.environ.items() if k not in ("STRATA_NO_CACHE", "PYTHONDONTWRITEBYTECODE")}
    given |= {"STRATA_CACHE_DIR": str(folder / "cache"), "STRATA_DEVICE": "emu:gfx1100", "STRATA_TARGET": "asm"}
    if not keep_bytecode:
        given["PYTHONDONTWRITEBYTECODE"] = "1"
    program = (
        f"import edited, os\n{before_launch}\nfrom strata import Tensor\n"
        "print(edited.k(Tensor.zeros(1, dtype='int32'))[0].item())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_file_edited_before_the_first_launch_leaves_no_wrong_kernel_on_disk(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text(EDITED.format(1))
    edit = functools.partial("open('edited.py', 'w').write({!r})".format, EDITED.format(22))
    assert ran(tmp_path, edit()) == 1
    file.write_text(EDITED.format(1))
    assert ran(tmp_path) == 1
    file.write_text(EDITED.format(22))
    assert ran(tmp_path) == 22


def test_stale_bytecode_leaves_no_wrong_kernel_on_disk(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text(EDITED.format(1))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert ran(tmp_path, keep_bytecode=True) == 1
    file.write_text(EDITED.format(2))  # as long, and of the same second: Python imports the old code
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert ran(tmp_path, keep_bytecode=True) == 1
    file.write_text(EDITED.format(2) + "\n")
    assert ran(tmp_path, keep_bytecode=True) == 2
