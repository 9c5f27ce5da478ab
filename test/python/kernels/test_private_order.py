"""Private functions of the extension, out of their order or with other values: errors of Python's, nothing
worse.
"""

import contextvars
import subprocess
import sys
import threading

import pytest
import strata
from strata import Tensor, _strata


def captured(x, f=lambda x: x * 2):
    """A capture of f that is whole."""
    guards = _strata._Guards()
    guards.sees([0])
    capture = _strata._Capture([x])
    capture.enter()
    try:
        y = f(x)
        capture.finish([y], guards, (x,), {}, ("tensor", 0), [], [])
    finally:
        capture.exit()
    return capture


def refused(*calls):
    for call in calls:
        with pytest.raises(
            (strata.UsageError, TypeError, ValueError, IndexError, OverflowError, KeyError, AttributeError)
        ):
            call()


def test_captures_that_are_not_whole():
    x, guards = Tensor([1.0, 2.0]).realize(), _strata._Guards()
    capture = _strata._Capture([x])
    finish = lambda: capture.finish([], guards, (), {}, ("plain", None), [], [])  # noqa: E731
    refused(finish, lambda: capture.launches, lambda: capture.own_bytes, lambda: capture.mismatch([x]),
        lambda: capture.replay([x], (x,), {}), lambda: capture.difference(capture),
        lambda: captured(x).difference(capture), lambda: _strata._Capture([None]), lambda: _strata._Capture([1]),
        lambda: _strata._Capture(5))  # fmt: skip
    capture.exit()
    capture.enter()
    refused(capture.enter)
    finish()
    refused(finish, capture.enter)
    capture.exit()
    capture.exit()
    assert capture.launches == 0 and (x * 2).tolist() == [2, 4]


def test_a_capture_is_left_by_the_thread_that_entered():
    x, failed = Tensor([1.0, 2.0]).realize(), []
    capture = _strata._Capture([x])
    thread = threading.Thread(target=capture.enter)
    thread.start()
    thread.join()
    refused(capture.exit, lambda: capture.finish([], _strata._Guards(), (), {}, ("plain", None), [], []))
    capture = None
    assert (x * 2).tolist() == [2, 4] and not failed


def test_replays_of_other_tensors():
    x = Tensor([1.0, 2.0]).realize()
    capture = captured(x)
    other = Tensor([3.0, 4.0])
    assert capture.replay([other], (other,), {}).tolist() == [6, 8]
    refused(lambda: capture.replay([], (), {}), lambda: capture.replay([x, x], (x,), {}),
        lambda: capture.replay([None], (), {}), lambda: capture.replay([Tensor([1.0])], (), {}),
        lambda: capture.replay([Tensor([1, 2])], (), {}), lambda: capture.mismatch([None]),
        lambda: capture.mismatch([Tensor.__new__(Tensor)]))  # fmt: skip
    assert capture.mismatch([Tensor([1, 2])]) and capture.mismatch([])


DESCRIPTIONS = [
    ("tensor", 1),
    ("tensor", -1),
    ("tensor", "a"),
    ("again", 0),
    ("argument", ()),
    ("argument", 5),
    ("nothing", 1),
    (),
    ("plain",),
    (list, 5),
    (list, [1]),
    (dict, [1]),
    (dict, [("a", 5)]),
    (dict, [("a",)]),
    (5, []),
    (None, []),
]


@pytest.mark.parametrize("described", DESCRIPTIONS, ids=str)
def test_descriptions_of_no_result(described):
    x, guards = Tensor([1.0]).realize(), _strata._Guards()
    guards.sees([0])
    capture = _strata._Capture([x])
    capture.enter()
    try:
        capture.finish([x * 2], guards, (x,), {}, described, [], [])
    except (strata.UsageError, TypeError, ValueError, IndexError, RuntimeError) as e:
        assert not isinstance(e, strata.InternalError)
    else:  # what it says is known when it is made
        capture.exit()
        refused(lambda: capture.replay([x], (x,), {}))
    finally:
        capture.exit()


def test_results_and_places_that_are_not_there():
    x, guards = Tensor([1.0]).realize(), _strata._Guards()
    guards.sees([0])
    for same, places in ([[(5, 0)], []], [[(0, 5)], []], [[], [([1], 0, 5)]]):
        capture = _strata._Capture([x])
        capture.enter()
        refused(
            lambda: capture.finish([x * 2], guards, (x,), {}, ("tensor", 0), same, places),
            lambda: capture.finish([None], guards, (x,), {}, ("plain", 1), [], []),
        )
        capture.exit()


def test_guards_of_odd_places():
    guards, variable = _strata._Guards(), contextvars.ContextVar("variable")
    refused(lambda: guards.add("nothing", (1, 2, 3)), lambda: guards.add("same", ()),
        lambda: guards.add("length", (5,)), lambda: guards.add("content", (1, 2, 3)),
        lambda: guards.add("keys", ({}, 1, [])),
        lambda: guards.add("function", (5, 1, (1, 2))), lambda: guards.add("function", (refused, 1, (1,))),
        lambda: guards.add("bases", (5, 1, ())), lambda: guards.add("bases", (int, "a", ())),
        lambda: guards.sees([1]), lambda: guards.sees([0, 0, 1]), lambda: guards.sees([-1]))  # fmt: skip
    for holder in (
        [1],
        (1,),
        {},
        5,
        "text",
        variable,
        refused,
        int,
        type("Own", (), {}),
        Tensor([1.0]),
        range(3),
        object(),
    ):
        for key in (0, -1, 5, 2**70, "name", None, 1.5, [], (), Tensor([1.0])):
            for kind in ("same", "tensor", "absent", "object", "keys"):
                guards = _strata._Guards()
                try:
                    guards.add(kind, (holder, key, () if kind == "keys" else 7))
                except (strata.UsageError, TypeError):
                    continue
                met = guards.met([])
                assert met in (0, -1, []), (holder, key, kind)


def test_stand_ins_keys_and_slots_of_others():
    x, keys = Tensor([1.0, 2.0]), _strata._Keys()
    refused(keys.exit, lambda: _strata._replaced(x, [x], []), lambda: _strata._replaced(x, [], [x]),
        lambda: _strata._replaced(None, [], []), lambda: _strata._stand_in(None), lambda: _strata._twin(5),
        lambda: _strata._with_gradient(x, [None], lambda g: g), lambda: _strata._fed(lambda: ["a"]),
        lambda: _strata._fed(5), lambda: _strata._Calls()._set_last(5), lambda: _strata._Calls()())  # fmt: skip
    keys.enter(False)
    keys.exit()
    refused(keys.exit)


def test_another_interpreter_of_the_process_is_refused():
    interpreters = pytest.importorskip("_xxsubinterpreters")
    child = (
        "import _xxsubinterpreters as i\ntry: i.run_string(i.create(), 'import strata')\nexcept i.RunFailedError "
        "as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, timeout=60)
    assert (
        interpreters and done.returncode == 0 and "ImportError" in done.stdout and "main interpreter" in done.stdout
    ), done
