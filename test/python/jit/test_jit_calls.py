"""Calls of a captured function that its C slot answers without Python, and those that it has to leave to it."""

import collections
import gc
import threading
import weakref

import numpy as np
import pytest
import strata
from strata import Tensor, _strata

Pair = collections.namedtuple("Pair", ["first", "second"])


@strata.jit
def down(x, depth):
    return down(x + 1, depth - 1) if depth else x * 2


def tensor(*values):
    return Tensor(np.array(values, np.float32)).realize()


def warm(function, *args, **kwargs):
    """The function after calls that capture it."""
    for _ in range(4):
        function(*args, **kwargs)
    assert function.captures == 1
    return function


def test_defaults_names_and_more_arguments_than_named_are_told_apart():
    @strata.jit
    def f(x, scale=2.0, *more, shift=1.0, **named):
        for t in more:
            x = x + t
        return x * scale + shift + sum(named.values())

    x = tensor(1, 2)
    calls = [
        ((), {}),
        ((3.0,), {}),
        ((), {"scale": 3.0}),
        ((3.0, x), {}),
        ((3.0, x, x), {}),
        ((), {"shift": 5.0}),
        ((), {"other": 7.0}),
    ]
    for _ in range(4):
        for rest, named in calls:
            assert f(x, *rest, **named).tolist() == f.function(x, *rest, **named).tolist()
    assert f.captures == 7
    with pytest.raises(TypeError, match="missing a required argument"):
        f()
    with pytest.raises(TypeError, match="multiple values"):
        f(x, x=x)


def test_the_order_of_names_and_the_sign_of_nothing_count():
    f = strata.jit(lambda x, **named: x * list(named.values())[0])
    for _ in range(4):
        for named in ({"a": 2.0, "b": 4.0}, {"b": 4.0, "a": 2.0}, {"a": 0.0}, {"a": -0.0}):
            assert f(tensor(1, 2), **named).numpy().tobytes() == f.function(tensor(1, 2), **named).numpy().tobytes()
    assert f.captures == 4


def test_numbers_of_other_types_are_other_arguments():
    f = strata.jit(lambda x, n: x * n if isinstance(n, float) else x + n)
    for _ in range(4):
        assert [f(tensor(3), n).item() for n in (2, 2.0, True)] == [5, 6, 4]


def test_a_subclass_of_tensor_is_one():
    class Own(Tensor):
        pass

    f = warm(strata.jit(lambda x: x + 1), tensor(1, 2))
    assert f(Own(np.array([5, 6], np.float32))).tolist() == [6, 7] and f.captures == 1
    made = Own.__new__(Own)
    with pytest.raises((TypeError, RuntimeError, strata.UsageError)):
        f(made)
    with pytest.raises((TypeError, RuntimeError, strata.UsageError)):
        f(Tensor.__new__(Tensor))
    assert f(tensor(3, 4)).tolist() == [4, 5]


def test_nested_containers_come_back_as_they_were_made():
    @strata.jit
    def f(parts):
        a, (b, rest) = parts["a"], parts["more"]
        return {"sum": a + b, "none": None, "pair": Pair(a * 2, [b, (), {}]), "same": rest[0]}

    a, b, c = tensor(1), tensor(2), tensor(3)
    for call in range(6):
        given = f({"a": a, "more": (b, [c])})
        assert (
            type(given["pair"]) is Pair
            and given["none"] is None
            and given["same"] is c
            and given["pair"].second[0] is b
        )
        assert given["sum"].item() == 3 and given["pair"].first.item() == 2 and given["pair"].second[1:] == [(), {}]
        given["pair"].second.append(call)  # the next call gives a list of its own
    assert f.captures == 1
    assert f({"a": a, "more": (b, [c, c])})["sum"].item() == 3
    assert f({"more": (b, [c]), "a": a})["sum"].item() == 3


def test_nothing_comes_back_from_a_function_that_gives_nothing():
    state = tensor(1, 1)

    @strata.jit
    def f(x):
        state.assign(state + x)

    for call in range(1, 7):
        assert f(tensor(1, 2)) is None
        assert state.tolist() == [1 + call, 1 + 2 * call]


def test_one_tensor_given_twice_and_two_that_are_equal():
    f = strata.jit(lambda x, y: (x + y, x))
    x, y = tensor(1, 2), tensor(1, 2)
    for _ in range(4):
        for a, b in ((x, x), (x, y), (y, y)):
            total, first = f(a, b)
            assert total.tolist() == [2, 4] and first is a
    many = [tensor(i) for i in range(20)]
    g = strata.jit(lambda ts: sum(ts[1:], ts[0]))
    for _ in range(4):
        assert g(many).item() == 190 and g([*many[:19], many[0]]).item() == 171
    assert g.captures == 2


def test_outputs_that_are_one_and_views_of_one_memory():
    @strata.jit
    def f(x):
        y = x * 2
        return y, y, y.reshape(2, 2), x

    x = tensor(1, 2, 3, 4)
    kept = []
    for call in range(6):
        a, b, view, same = f(x)
        assert a is b and same is x and view.tolist() == [[2, 4], [6, 8]]
        kept.append(view)
        a.assign(a + call)
        assert view.tolist() == [[2, 4], [6, 8]]
    assert all(v.tolist() == [[2, 4], [6, 8]] for v in kept)


def test_results_that_are_kept_and_dropped_in_any_order_stay_what_they_are(rng):
    f = warm(strata.jit(lambda x: x * 3), tensor(1, 2))
    kept = {}
    for call in range(200):
        kept[call] = (f(tensor(call, -call)), kept.get(call - 1, (None,))[0] if call % 7 == 0 else None)
        kept.pop(int(rng.integers(0, call + 1)), None)
        for at, (result, _) in kept.items():
            assert result.tolist() == [3 * at, -3 * at]


def test_objects_of_tensors_that_went_come_back_as_others():
    f = warm(strata.jit(lambda x: x + 1), x := tensor(1, 2))
    gone = []
    for _ in range(40):
        result = f(x)
        seen = weakref.ref(result, gone.append)
        assert weakref.getweakrefcount(result) == 1 and seen() is result and result.tolist() == [2, 3]
        del result
        assert seen() is None and gone == [seen]
        gone.clear()
    assert len({id(t) for t in [f(x) for _ in range(40)]}) == 40


def test_a_tensor_that_went_holds_nothing_though_its_object_is_kept():
    _strata._collect()
    before = strata.stats().live_bytes
    for _ in range(3):
        held = [Tensor(np.ones(1 << 18, np.float32)).realize() for _ in range(4)]
        assert strata.stats().live_bytes >= before + (4 << 20)
        del held
        _strata._collect()
        assert strata.stats().live_bytes <= before


def test_what_looks_at_a_tensor_that_goes_may_make_others():
    f = warm(strata.jit(lambda x: x + 1), x := tensor(1, 2))
    made = []
    for _ in range(40):
        result = f(x)
        seen = weakref.ref(result, lambda _: made.append(f(x)))
        del result
    assert seen() is None and len(made) == 40 and all(t.tolist() == [2, 3] for t in made)


class Own(Tensor):
    pass


def test_objects_of_subclasses_do_not_come_back_as_tensors():
    f = warm(strata.jit(lambda x: x + 1), x := tensor(1, 2))
    for _ in range(40):
        own = Own(np.array([5, 6], np.float32))
        own.name = "mine"
        del own
        assert type(f(x)) is Tensor and not hasattr(f(x), "name")


def test_a_slot_of_a_subclass_and_calls_by_containers():
    class Counted(strata.jit):
        calls = 0

        def __call__(self, *args, **named):
            self.calls += 1
            return super().__call__(*args, **named)

    f = warm(Counted(lambda x, y=0.0, *more, **named: x + y + sum(more) + sum(named.values())), x := tensor(1, 2), 1.0)
    assert f(x, 1.0).tolist() == [2, 3] and f.calls == 5
    assert f(*(x, 2.0), **{"z": 3.0}).tolist() == [6, 7] and f.calls == 6
    g = warm(strata.jit(f.function), x, 1.0, z=2.0)
    assert g(*(x, 1.0), **{"z": 2.0}).tolist() == g.__call__(x, 1.0, z=2.0).tolist() == [4, 5] and g.captures == 1
    assert list(map(g, [x, x], [1.0, 1.0])) and g(x, y=1.0, z=2.0).tolist() == [4, 5]


def test_an_argument_that_was_deleted_and_the_collector_do_no_harm():
    f = warm(strata.jit(lambda x: x + 1), tensor(1, 2))
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(100):
            x = tensor(i, i)
            y = f(x)
            del x
            gc.collect(0)
            assert y.tolist() == [i + 1, i + 1]
    finally:
        gc.set_threshold(*thresholds)


def test_a_function_goes_with_what_it_captured():
    def made():
        f = strata.jit(lambda x: x + 1)
        return weakref.ref(warm(f, tensor(1)))

    assert made()() is None


def test_rings_through_what_was_captured_go():
    """An object with the captured function of its own method, and a function that calls itself."""

    class Model:
        def __init__(self):
            self.w = tensor(2)
            self.step = strata.jit(self.forward)

        def forward(self, x, *, more=None):
            return {"y": x * self.w}

    def of_itself():
        @strata.jit
        def f(x, depth):
            return f(x + 1, depth - 1) if depth else x * 2

        return f

    def made(held, call):
        warm(*call(held))
        return weakref.ref(held)

    gone = [
        made(Model(), lambda model: (model.step, tensor(1))),
        made(of_itself(), lambda f: (f, tensor(1), 2)),
        made(kept := Model(), lambda model: (model.step, tensor(1))),
    ]
    gc.collect()
    assert [ref() for ref in gone] == [None, None, kept]
    gc.collect()
    assert kept.step(tensor(3))["y"].item() == 6 and kept.step.captures == 1


def test_an_object_that_goes_with_a_capture_may_call_the_function():
    f = strata.jit(lambda x, held: x + 1)
    called = []

    class Held:
        def __del__(self):
            called.append(f(tensor(5), None).item())

    warm(f, tensor(1), Held())
    f._known.clear()
    for _ in range(3):
        assert f(tensor(1), None).item() == 2
    gc.collect()
    assert called == [6]


def test_calls_within_calls_end_as_without_it():
    for _ in range(4):
        assert [down(tensor(1), depth).item() for depth in (3, 0, 1)] == [8, 2, 4]

    class Endless(strata.jit):
        def _otherwise(self, *args):
            return self(*args)

    with pytest.raises(RecursionError):
        Endless(lambda x: x)(tensor(1))


def test_methods_have_lists_of_their_objects():
    class Layer:
        def __init__(self, w):
            self.w = tensor(w)

        @strata.jit
        def forward(self, x, *, more=0.0):
            return x * self.w + more

    a, b = Layer(2), Layer(3)
    for _ in range(4):
        assert [a.forward(tensor(5)).item(), b.forward(tensor(5)).item(), a.forward(tensor(5), more=1.0).item()] == [
            10,
            15,
            11,
        ]
    a.w = tensor(7)
    assert a.forward(tensor(5)).item() == 35


def test_gradients_turned_on_for_an_argument_and_other_settings_are_seen():
    f = warm(strata.jit(lambda x: x * 2), x := tensor(1, 2))
    x.requires_grad_()
    assert f(x).tolist() == [2, 4] and "gradient" in f.reason
    x.requires_grad_(False)
    with strata.config(garbage_mb=7):
        assert f(x).tolist() == [2, 4] and "settings" in f.reason
    g = strata.grad(lambda t: f(t).sum())(x)
    assert g.tolist() == [2, 2]


def test_an_exception_of_a_replay_is_pythons_and_the_next_call_goes_on():
    f = warm(strata.jit(lambda x: x + 1), tensor(1, 2))
    w = tensor(1, 2).requires_grad_()
    for past in (w * 2, (w * 2).realize()):
        with pytest.raises(strata.UsageError, match="detach"):
            f(past)
    assert f(tensor(1, 2)).tolist() == [2, 3]


def test_threads_call_one_function_at_once_and_change_what_it_reaches():
    w, failed = tensor(1, 1), []
    f = warm(strata.jit(lambda x: x * 2 + w), tensor(1, 2))

    def calls(seed):
        try:
            for i in range(200):
                x = tensor(seed, i)
                if i % 50 == 0:
                    f(tensor(*range(3 + seed)).sum().reshape(1).expand(2))
                assert f(x).tolist() == [2 * seed + 1, 2 * i + 1]
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
