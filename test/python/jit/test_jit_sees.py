"""A captured function gives what the plain one gives after any change of what it can reach: one row a kind of reachable
thing.
"""

import builtins
import collections
import contextvars
import functools
import sys
import threading
import types
import weakref

import pytest
import strata_seen_module as seen_module
import strata_seen_package.inner  # noqa: F401
from strata import Tensor, jit, nn

factor = 2.0
chosen = {"relu"}


class Base:
    def scale(self):
        return 2.0


class Model(Base):
    offset = 1.0

    def __init__(self, k=2.0):
        self.k = k

    @property
    def double(self):
        return 2 * self.k

    @staticmethod
    def fixed():
        return 3.0

    @classmethod
    def named(cls):
        return cls.offset

    def __call__(self, x):
        return x * self.k * self.scale() + self.double * self.fixed() + self.named()


class Slotted:
    __slots__ = ("k", "later")


class Other(Model):
    def __call__(self, x):
        return x * 100


class Items(list):
    scale = 2.0


class Table(dict):
    scale = 2.0


Pair = collections.namedtuple("Pair", "a b")


def replaced_members():
    class Own(Model):
        pass

    model = Own()
    f = lambda x: model(x)  # noqa: E731
    yield f, lambda: setattr(Own, "scale", lambda self: 5.0)
    yield f, lambda: setattr(Own, "double", property(lambda self: self.k * 7))
    yield f, lambda: setattr(Own, "fixed", staticmethod(lambda: 11.0))
    yield f, lambda: setattr(Own, "named", classmethod(lambda cls: 13.0))
    yield f, lambda: setattr(Own, "offset", 17.0)
    yield f, lambda: setattr(Own, "__call__", lambda self, x: x * 19)
    yield f, lambda: delattr(Own, "__call__")
    yield f, lambda: setattr(model, "k", 23.0)
    yield f, lambda: setattr(model, "scale", lambda: 29.0)
    yield f, lambda: setattr(model, "__dict__", {"k": 31.0})
    yield f, lambda: setattr(model, "__class__", Other)
    yield (lambda x: Own.fixed() * x), lambda: setattr(Own, "fixed", staticmethod(lambda: 37.0))


def other_bases():
    class First:
        def k(self):
            return 2.0

    class Second:
        def k(self):
            return 3.0

    class Own(First):
        pass

    own = Own()
    yield (lambda x: x * own.k()), lambda: setattr(Own, "__bases__", (Second,))


def class_decides_at_its_class():
    class Meta(type):
        def k(cls):
            return 2.0

    class Own(metaclass=Meta):
        pass

    yield (lambda x: x * Own.k()), lambda: setattr(Meta, "k", lambda cls: 3.0)


def slots():
    held = Slotted()
    held.k = 2.0
    f = lambda x: x * held.k + getattr(held, "later", 1.0)  # noqa: E731
    yield f, lambda: setattr(held, "k", 3.0)
    yield f, lambda: setattr(held, "later", 5.0)
    yield f, lambda: delattr(held, "later")


def code():
    def f(x, k=2.0, *, m=1.0):
        return x * k + m

    def g(x):
        return f(x) * 2

    yield g, lambda: setattr(f, "__code__", (lambda x, k=2.0, *, m=1.0: x + k + m).__code__)
    yield g, lambda: setattr(f, "__defaults__", (7.0,))
    yield g, lambda: setattr(f, "__kwdefaults__", {"m": 9.0})
    yield g, lambda: f.__kwdefaults__.update(m=11.0)
    yield g, lambda: setattr(g, "__code__", (lambda x: f(x) * 3).__code__)


def attributes_of_functions():
    def f(x):
        return x * f.k

    f.k = 2.0
    yield f, lambda: setattr(f, "k", 3.0)


def wrappers():
    k = 2.0

    def scaled(f):
        @functools.wraps(f)
        def call(x):
            return f(x) * k

        return call

    @scaled
    def f(x):
        return x + 1

    def change():
        nonlocal k
        k += 3.0

    yield f, change
    yield (lambda x: f(x) + 1), change
    part = functools.partial(lambda k, x: x * k[0], [2.0])
    yield part, lambda: part.args[0].__setitem__(0, 3.0)
    kind = functools.singledispatch(lambda x: x * 2)
    yield (lambda x: kind(x)), lambda: kind.register(Tensor, lambda x: x * 3)
    inner = jit(lambda x: x * k)
    yield (lambda x: inner(x)), change


def names():
    def change_cell():
        nonlocal later
        later = 5.0

    yield (lambda x: x * factor), lambda: globals().update(factor=3.0)
    yield (lambda x: x * factor), lambda: globals().update(factor=2.0)
    yield (lambda x: x * abs(-2.0)), lambda: globals().update(abs=lambda v: 7.0)
    yield (lambda x: x * abs(-2.0)), lambda: globals().pop("abs")
    yield (lambda x: x * seen_name()), lambda: setattr(builtins, "seen_name", lambda: 3.0)  # noqa: F821

    def reads(x):
        try:
            return x * later
        except NameError:
            return x

    yield reads, change_cell
    if factor < 0:
        later = 1.0


def imports():
    def by_name(x):
        import strata_seen_module

        return x * strata_seen_module.K

    def from_it(x):
        from strata_seen_module import K, helped

        return helped(x) * K

    def of_package(x):
        import strata_seen_package.inner as inner

        return x * inner.K

    other = types.ModuleType("strata_seen_module")
    other.K, other.helped = 41.0, lambda x: x
    inner = sys.modules["strata_seen_package.inner"]
    for f in (by_name, from_it, lambda x: x * seen_module.K, lambda x: x * seen_module.K):
        yield f, lambda: setattr(seen_module, "K", seen_module.K + 1)
    yield from_it, lambda: setattr(seen_module, "helped", lambda x: x - 5)
    yield of_package, lambda: setattr(inner, "K", inner.K + 1)
    yield by_name, lambda: sys.modules.update(strata_seen_module=other)
    yield by_name, lambda: sys.modules.update(strata_seen_module=seen_module)


def sets_and_dicts():
    on, table = {"relu", "a"}, {"a": 2.0, "b": 3.0}
    ordered, fallback, counts = (
        collections.OrderedDict(table),
        collections.defaultdict(lambda: 2.0, a=1.0),
        collections.Counter("aab"),
    )
    deep = {"a": [{"b": {1.0}}]}

    def reordered():
        first = [*table][0]
        table[first] = table.pop(first)

    f = lambda x: x * 2 if "relu" in on else x * 3  # noqa: E731
    yield f, lambda: (on.remove("relu"), on.add("other"))
    yield f, lambda: (on.remove("other"), on.add("relu"))
    yield (lambda x: x * [*table.values()][0]), reordered
    yield (lambda x: x * [*table][0].count("a")), reordered
    yield (lambda x: x * table["a"]), lambda: table.update(a=7.0)
    yield (lambda x: x * [*ordered.values()][0]), lambda: ordered.move_to_end("a")
    yield (lambda x: x * fallback["a"]), lambda: fallback.update(a=5.0)
    yield (lambda x: x * fallback.default_factory()), lambda: setattr(fallback, "default_factory", lambda: 9.0)
    yield (lambda x: x * counts["a"]), lambda: counts.update("a")
    yield (lambda x: x * [*deep["a"][0]["b"]][0]), lambda: (deep["a"][0]["b"].clear(), deep["a"][0]["b"].add(4.0))
    yield (lambda x: x * ("relu" in chosen)), lambda: (chosen.clear(), chosen.add("x"))


def views_and_proxies():
    table, numbers, model = {"a": 2.0}, [2.0], Model()
    proxy, view, get = types.MappingProxyType(table), table.values(), table.get
    reference, by_reference = weakref.ref(model), weakref.WeakValueDictionary(m=model)
    chain, user, space = collections.ChainMap(table), collections.UserList(numbers), types.SimpleNamespace(k=numbers)
    for f in (lambda x: x * proxy["a"], lambda x: x * [*view][0], lambda x: x * get("a"), lambda x: x * chain["a"]):
        yield f, lambda: table.update(a=table["a"] + 1)
    yield (lambda x: x * user[0]), lambda: user.__setitem__(0, 5.0)
    yield (lambda x: x * space.k[0]), lambda: space.k.__setitem__(0, 6.0)
    yield (lambda x: x * space.k[0]), lambda: setattr(space, "k", [7.0])
    yield (lambda x: x * reference().k), lambda: setattr(model, "k", model.k + 1)
    yield (lambda x: x * by_reference["m"].k), lambda: setattr(model, "k", model.k + 1)
    recent = collections.deque([1.0, 2.0])
    yield (lambda x: x * recent[0]), lambda: recent.rotate(1)


def containers_of_classes_of_ones_own():
    items, table, pair = Items([2.0]), Table(a=2.0), Pair([2.0], 3.0)
    yield (lambda x: x * items[0] * items.scale), lambda: setattr(items, "scale", 3.0)
    yield (lambda x: x * items[0] * items.scale), lambda: setattr(Items, "__getitem__", lambda self, i: 5.0)
    yield (lambda x: x * items[0] * items.scale), lambda: delattr(Items, "__getitem__")
    yield (lambda x: x * table["a"] * table.scale), lambda: setattr(Table, "scale", 7.0)
    yield (lambda x: x * pair.a[0]), lambda: pair.a.__setitem__(0, 3.0)


def of_a_context_or_thread():
    variable, empty, local = (
        contextvars.ContextVar("variable", default=2.0),
        contextvars.ContextVar("empty"),
        threading.local(),
    )
    local.k = 2.0
    yield (lambda x: x * variable.get()), lambda: variable.set(3.0)
    yield (lambda x: x * empty.get(2.0)), lambda: empty.set(3.0)
    yield (lambda x: x * local.k), lambda: setattr(local, "k", 3.0)


def modules_of_nn():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.0))
    yield net, lambda: net.layers.append(nn.SiLU())
    yield net, lambda: net.layers.__setitem__(1, nn.Tanh())
    yield net, lambda: setattr(net.layers[0], "bias", None)
    yield net, lambda: net.layers.reverse()


KINDS = [replaced_members, other_bases, class_decides_at_its_class, slots, code, attributes_of_functions, wrappers,
    names, imports, sets_and_dicts, views_and_proxies,
    containers_of_classes_of_ones_own, of_a_context_or_thread, modules_of_nn]  # fmt: skip


@pytest.fixture(autouse=True)
def module_as_it_was():
    kept, own = dict(vars(seen_module)), dict(globals())
    builtins.seen_name = lambda: 2.0
    yield
    vars(seen_module).update(kept)
    for name in globals().keys() - own.keys():
        del globals()[name]
    del builtins.seen_name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_change_is_seen(kind):
    x, captured = Tensor([[1.0, -2.0]]).realize(), {}
    for number, (f, change) in enumerate(kind()):
        one = captured.setdefault(f, jit(f))
        for _ in range(4):
            before = one(x).tolist()
        assert one.captures >= 1 and before == f(x).tolist(), number
        change()
        for _ in range(4):
            assert one(x).tolist() == f(x).tolist(), number


ARGUMENTS = {
    "a list with attributes": (lambda: Items([2.0]), lambda a: setattr(a, "scale", 5.0)),
    "a dict with attributes": (lambda: Table(a=2.0), lambda a: setattr(a, "scale", 5.0)),
    "a dict with a factory": (
        lambda: collections.defaultdict(lambda: 2.0, a=2.0),
        lambda a: setattr(a, "default_factory", lambda: 5.0),
    ),
    "a class of a list": (lambda: Items([2.0]), lambda a: a.__setitem__(0, 5.0)),
    "an ordered dict": (lambda: collections.OrderedDict(a=2.0, b=3.0), lambda a: a.move_to_end("a")),
    "a set": (lambda: {2.0}, lambda a: (a.clear(), a.add(5.0))),
    "an object": (Model, lambda a: setattr(a, "k", 5.0)),
    "a mapping proxy": (lambda: types.MappingProxyType({"a": [2.0]}), lambda a: a["a"].__setitem__(0, 5.0)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_change_of_an_argument_is_seen(name):
    make, change = ARGUMENTS[name]

    def f(x, a):
        if name in ("an object", "a mapping proxy"):
            return a(x) if name == "an object" else x * a["a"][0]
        factory = getattr(a, "default_factory", None)
        return (
            x
            * ([*a.values()][0] if hasattr(a, "values") else [*a][0])
            * getattr(a, "scale", 1.0)
            * (factory() if factory else 1.0)
        )

    value, captured = make(), jit(f)
    x = Tensor([1.0, -2.0]).realize()
    for _ in range(4):
        captured(x, value)
    assert captured.captures == 1
    change(value)
    for _ in range(4):
        assert captured(x, value).tolist() == captured.function(x, value).tolist()


def test_other_names_of_one_module_and_a_class_that_a_named_tuple_has_are_guarded():
    class Own(collections.namedtuple("Own", "a b")):
        __slots__ = ()

        def total(self):
            return self.a + self.b

    captured, x = jit(lambda x, pair: x * pair.total()), Tensor([1.0]).realize()
    for _ in range(4):
        assert captured(x, Own(1.0, 2.0)).item() == 3
    assert captured.captures == 1
    Own.total = lambda self: 10.0
    assert [captured(x, Own(1.0, 2.0)).item() for _ in range(3)] == [10] * 3


def test_tensors_in_class_members_deques_and_context_variables_are_put_in_place():
    total, recent = contextvars.ContextVar("total"), collections.deque([Tensor([0.0]).realize()])
    total.set(Tensor([0.0]).realize())

    class Own:
        total = Tensor([0.0]).realize()

    @jit
    def f(x):
        total.set(total.get() + x)
        recent[0] = recent[0] + x
        Own.total = Own.total + x
        return x * 2

    for call in range(1, 7):
        f(Tensor([1.0]).realize())
        assert [total.get().item(), recent[0].item(), Own.total.item()] == [call] * 3
    assert f.captures == 1


def test_classes_that_answer_for_their_attributes_are_no_danger():
    class Odd:
        __slots__ = ("w",)

        def __getattribute__(self, name):
            return Tensor([1.0, 2.0]) if name == "w" else object.__getattribute__(self, name)

    class Deque(collections.deque):
        def __getitem__(self, i):
            return Tensor([float(len(self))])

    odd, deque = Odd(), Deque([Tensor([1.0])])
    Odd.w.__set__(odd, Tensor([5.0, 6.0]))
    for f in (lambda x: x * odd.w, lambda x: x * deque[0]):
        captured, x = jit(f), Tensor([3.0, 4.0]).realize()
        for _ in range(6):
            try:
                assert captured(x).tolist() == f(x).tolist()
            except Exception as e:
                assert "[jit]" in str(e)
