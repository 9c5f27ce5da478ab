"""Results of captured functions: from the third call on of the same types, with the same parts being one, as on the
first.
"""

import collections
import functools

import numpy as np
import pytest
import strata
from strata import Tensor, jit, nn

Pair = collections.namedtuple("Pair", "a b")
x = Tensor([1.0, 2.0]).realize()


class Twice(tuple):
    def __new__(cls, first, second):
        return super().__new__(cls, (first, second))


class NamedTwice(collections.namedtuple("NamedTwice", "a b")):
    __slots__ = ()

    def __new__(cls, both):
        return super().__new__(cls, *both)


class Items(list):
    def __init__(self, first, *more):
        super().__init__((first, *more))


class Table(dict):
    def __setitem__(self, key, value):
        raise AssertionError("a result is made of its items")


class Attributed(list):
    pass


def one_list_twice(x):
    part = [x * 2]
    return part, {"again": part, "in": (part,)}, [part]


def one_tuple_of_two(x):
    pair = (x + 1, 2.0)
    return Pair(pair, pair), collections.OrderedDict(first=pair)


held, nested = [1, 2.0, "a"], {"a": [1], "t": [x]}
RESULTS = {
    "ordered dict": lambda x: collections.OrderedDict(b=x * 2, a=1.0),
    "default dict": lambda x: collections.defaultdict(list, a=x * 2),
    "counter": lambda x: collections.Counter(a=2),
    "class of a dict": lambda x: Table(a=x * 2),
    "class of a list": lambda x: Items(x * 2, 1.0),
    "class of a tuple": lambda x: Twice(x * 2, x * 3),
    "named tuple": lambda x: Pair(x * 2, [x]),
    "named tuple with a constructor": lambda x: NamedTwice([x * 2, 5]),
    "one list twice": one_list_twice,
    "one tuple twice": one_tuple_of_two,
    "a list of the closure": lambda x: held,
    "parts of the closure": lambda x: (nested, nested["a"], {"b": nested["a"], "c": [nested["t"]]}),
    "an argument's containers": lambda x, given=None: (given, given["a"], [given["a"][0]]) if given else None,
    "an object of the closure": lambda x: (net, net.weight, RESULTS["an object of the closure"]),
    "nothing": lambda x: None,
    "empty": lambda x: ((), [], {}, collections.OrderedDict()),
}
net = nn.Linear(2, 2)


def structure(value, seen=None):
    """Types, keys, values and which parts are one, of a result."""
    seen = {} if seen is None else seen
    if id(value) in seen and not isinstance(value, (int, float, str, type(None))):
        return "again", seen[id(value)]
    seen[id(value)] = len(seen)
    seen.setdefault("kept", []).append(value)
    if isinstance(value, Tensor):
        return "tensor", value.tolist()
    if isinstance(value, dict):
        return type(value), getattr(value, "default_factory", None), [(k, structure(v, seen)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [structure(v, seen) for v in value]
    return value if isinstance(value, (int, float, str, type(None))) else id(value)


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_the_plain_function(name):
    plain, captured = RESULTS[name], jit(RESULTS[name])
    for call in range(6):
        given = {"a": [(x,)], "n": call // 5} if name.startswith("an argument") else None
        extra = {"given": given} if given else {}
        got, want = captured(x, **extra), plain(x, **extra)
        assert structure(got) == structure(want), call
        if given:
            assert got[0] is given and got[1] is given["a"] and got[2][0] is given["a"][0]
        if name in ("a list of the closure", "an object of the closure"):
            assert got is held or got[0] is net
    assert captured.captures == 1


def test_a_result_may_be_changed_without_harm_to_the_next_one():
    captured = jit(one_list_twice)
    for _ in range(6):
        part, table, outer = captured(x)
        assert part is table["again"] is table["in"][0] is outer[0] and len(part) == 1
        part.append("mine")


def test_what_cannot_be_made_again_is_refused_at_the_first_call():
    def attributed(x):
        made = Attributed([x])
        made.name = "mine"
        return made

    class Fields(dict):
        __slots__ = ("extra",)

    for f, said in [(attributed, "gives a Attributed back, which has more than its items: give a list back"),
        (lambda x: Fields(a=x), "gives a Fields back"),
                    (lambda x: {x * 2}, "gives a set back"), (lambda x: object(), "gives a object back")]:  # fmt: skip
        with pytest.raises(strata.UsageError, match=said):
            jit(f)(x)


def test_values_without_end_and_too_deep_ones_are_refused():
    ring = [x]
    ring.append(ring)
    table = {}
    table["self"] = (table,)
    deep, wide = [x], [x]
    for _ in range(5000):
        deep = [deep]
    for _ in range(60):
        wide = [wide, wide]
    for value, said in [
        (ring, "a list holds itself"),
        (table, "holds itself"),
        (deep, "within one another"),
        (wide, "more than"),
    ]:
        with pytest.raises(strata.UsageError, match=said):
            jit(lambda x, v: x * 2)(x, value)
    for kind, said in [("ring", "holds itself"), ("table", "holds itself"), ("deep", "within one another")]:
        with pytest.raises(strata.UsageError, match=said):
            jit(lambda x: made(kind, x))(x)
    reached = jit(lambda x: x * len(deep))
    assert [reached(x).tolist() for _ in range(4)] == [[1, 2]] * 4 and reached.captures == 1
    reached = jit(lambda x: x * len(ring))
    assert [reached(x).tolist() for _ in range(4)] == [[2, 4]] * 4


def made(kind, x):
    """A new container without end, or of 5,000 containers within one another."""
    if kind == "table":
        table = {}
        table["self"] = (table,)
        return table
    value = [x]
    if kind == "ring":
        value.append(value)
        return value
    for _ in range(5000):
        value = [value]
    return value


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k

    def method(self, x, more=1.0):
        return x * self.k + more


def test_anything_that_is_called_can_be_captured():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    functions = {"Sequential": model, "Callable": Callable(3.0), "method": Callable(2.0).method, "sin": Tensor.sin,
        "forward": model.forward,
        "scaled": functools.partial(functools.partial(scaled, k=3.0), more=1.0),
        "<lambda>": lambda x: x + 1}  # fmt: skip
    row = x.reshape(1, 2)
    for name, f in functions.items():
        captured = jit(f)
        for _ in range(4):
            np.testing.assert_allclose(captured(row).numpy(), f(row).numpy(), rtol=1e-6)
        assert captured.captures == 1 and captured.__name__ == name
        with pytest.raises(strata.UsageError, match=rf"\[jit\] {name} .*does not do the same|NumPy array"):
            captured(np.zeros((1, 2), np.float32))


def scaled(x, k, more):
    return x * k + more
