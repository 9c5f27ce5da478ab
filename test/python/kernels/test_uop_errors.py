"""A UOp kernel that is wrong says so when its nodes are built: what was given, what to write."""

import operator

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, uop

WITHOUT_VALUE = {
    "if": lambda v: 1 if v > 0.0 else 2,
    "and": lambda v: v and v,
    "or": lambda v: v or v,
    "not": lambda v: not v,
    "min": lambda v: min(v, v),
    "max": lambda v: max(v, v * 2.0),
    "bool": bool,
    "while": lambda v: [0 for _ in range(1) if v],
    "in": lambda v: v in [v * 2.0],
    "all": lambda v: all([v]),
    "sorted": lambda v: sorted([v, v]),
}


def value(dtype="float32"):
    return uop.placeholder(8, dtype, "global")[uop.range(8, 0, "loop")].load()


@pytest.mark.parametrize("use", WITHOUT_VALUE)
def test_what_python_decides_by_a_value_names_uop_where(use):
    with pytest.raises(TypeError, match=r"uop\.where"):
        WITHOUT_VALUE[use](value())


@pytest.mark.parametrize(
    "use",
    [
        iter,
        list,
        lambda b: [x for x in b],
        lambda b: list(zip(b, b)),
        sum,
        tuple,
        lambda b: 1.0 in b,
        lambda b: dict(b),
    ],
)
@pytest.mark.parametrize("node", [lambda: uop.placeholder(8), value])
def test_a_buffer_cannot_be_iterated(use, node):
    with pytest.raises(TypeError, match=r"uop\.range|before the kernel runs"):
        use(node())


INTEGERS = [t for t in dtypes.all if t.is_integer]


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_constants_outside_their_type_are_refused(dtype):
    low, high = np.iinfo(dtype.name).min, np.iinfo(dtype.name).max
    place = uop.placeholder(8, dtype, "global")[0]
    for wrong in (low - 1, high + 1, 1.5, -0.5, float("nan"), float("inf"), np.float32(2.5)):
        for use in (
            place.store,
            lambda v: uop.atomic_add(place, v),
            lambda v: value(dtype) + v,
            lambda v: v * value(dtype),
            lambda v: value(dtype).maximum(v),
            lambda v: uop.const(v, dtype),
            lambda v: uop.where(value(dtype) == 1, value(dtype), v),
        ):
            with pytest.raises(strata.DTypeError):
                use(wrong)
    for right in (low, high, np.int8(3)):
        assert place.store(right).op == "store"


@pytest.mark.parametrize(
    "use",
    [
        lambda p, v: p.store(p),
        lambda p, v: p + 1.0,
        lambda p, v: v * p,
        lambda p, v: -p,
        lambda p, v: uop.where(v > 0.0, p, v),
        lambda p, v: p.cast("int32"),
        lambda p, v: p.maximum(v),
        lambda p, v: p.sqrt(),
        lambda p, v: uop.reduce(p, "add"),
        lambda p, v: uop.atomic_add(p, p),
        lambda p, v: p <= v,
    ],
)
def test_a_forgotten_load_is_named(use):
    with pytest.raises(strata.DTypeError, match=r"\.load\(\)"):
        use(uop.placeholder(8, "float32", "global")[0], value())


@pytest.mark.parametrize(
    "use",
    [
        lambda b, f, i: b[f],
        lambda b, f, i: b[1.0],
        lambda b, f, i: b.index(f),
        lambda b, f, i: b.index(i, f),
        lambda b, f, i: b.index(i, 2),
        lambda b, f, i: uop.where(f, f, f),
        lambda b, f, i: uop.where(i, f, f),
        lambda b, f, i: f & f,
        lambda b, f, i: f % f,
        lambda b, f, i: i / i,
        lambda b, f, i: i.sqrt(),
        lambda b, f, i: ~f,
        lambda b, f, i: f + i,
        lambda b, f, i: f < i,
        lambda b, f, i: b[i].store(i),
        lambda b, f, i: uop.where(f > 0.0, f, i),
        lambda b, f, i: f.bitcast("float64"),
        lambda b, f, i: uop.where(f > 0.0, 1.0, 0.0),
        lambda b, f, i: uop.reduce(f > 0.0, "add") + f,
    ],
)
def test_operands_of_a_wrong_type_are_refused(use):
    with pytest.raises(strata.DTypeError):
        use(uop.placeholder(8, "float32", "global"), value(), uop.range(8, 1, "loop"))


@pytest.mark.parametrize(
    "use",
    [
        lambda f, i: uop.sink(f),
        lambda f, i: uop.barrier(f),
        lambda f, i: uop.group(i),
        lambda f, i: f.end(i),
        lambda f, i: uop.end(f, i),
        lambda f, i: uop.reduce(f, "add", f),
        lambda f, i: uop.reduce(f, "sub", i),
        lambda f, i: uop.reduce(f, "nothing", i),
        lambda f, i: uop.sink(1),
        lambda f, i: f.load(),
        lambda f, i: f.store(1.0),
        lambda f, i: f[0],
        lambda f, i: f.load(alt=1.0),
        lambda f, i: uop.special("lidx0", 0),
        lambda f, i: uop.after(f),
    ],
)
def test_nodes_in_a_wrong_role_are_refused(use):
    with pytest.raises((strata.UsageError, AttributeError)):
        use(value(), uop.range(8, 1, "loop"))


def computed(function, *inputs):
    def kernel(out, *buffers):
        i = uop.range(4, 0, "global")
        return uop.sink(out[i].store(function(*[b[i].load() for b in buffers])).end(i))

    return Tensor.empty(4).custom_kernel(*inputs, kernel=kernel)[0].numpy()


def test_every_comparison_is_a_node():
    x, y = np.array([1, 2, np.nan, -0.0], np.float32), np.array([2, 2, 1, 0.0], np.float32)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        assert (
            computed(lambda a, b: uop.where(compare(a, b), a * 0.0 + 1.0, 0.0), *map(Tensor, (np.nan_to_num(x), y)))
            == compare(np.nan_to_num(x), y)
        ).all()
    assert not (value() <= value()).same(value() < value())


NAMES = [
    "double",
    "sqrt",
    "half",
    "floor",
    "fma",
    "char",
    "main",
    "short",
    "e_4",
    "max",
    "threadIdx",
    "int",
    "float4",
    "for",
    "abs",
    "printf",
    "uint64_t",
    "r_1_x",
    "__syncthreads",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_may_have_any_name(name):
    def kernel(out, x):
        i = uop.range(4, 0, "global")
        return uop.sink(out[i].store((x[i].load() * 2.0).sqrt()).end(i))

    kernel.__name__ = name
    out, _ = Tensor.empty(4).custom_kernel(Tensor([2.0, 8.0, 18.0, 32.0]), kernel=kernel)
    assert out.tolist() == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.emulated
@pytest.mark.parametrize("name", ["double", "main"])
def test_errors_have_the_name_that_the_user_gave(name):
    def kernel(out):
        i = uop.range(65, 0, "local")
        return uop.sink(out[i].store(1.0).end(i), name=name)

    with pytest.raises(strata.MemoryFault, match=f"kernel '{name}'"):
        Tensor.empty(64).custom_kernel(kernel=kernel)[0].realize()


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n in dir(operator)
        if n
        in (
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "and_",
            "or_",
            "xor",
            "lshift",
            "rshift",
            "lt",
            "le",
            "gt",
            "ge",
            "eq",
            "ne",
        )
    ),
)
@pytest.mark.parametrize("number", [2, True, 1.5], ids=str)
def test_an_effect_has_no_value_to_compute_with(name, number):
    effect = uop.placeholder(8)[0].store(1.0)
    for a, b in ((effect, number), (number, effect)):
        with pytest.raises(strata.DTypeError, match="is an effect: it has no value"):
            getattr(operator, name)(a, b)
    with pytest.raises(strata.DTypeError, match="is an effect: it has no value"):
        uop.where(value() > 0.0, effect, number)


OTHERS = {
    "of another slot": lambda: uop.placeholder(4, "float32", "global", 7),
    "of another size": lambda: uop.placeholder(8, "float32", "global", 0),
    "of another type": lambda: uop.placeholder(4, "int32", "global", 0),
    "of a kernel with more": lambda: uop.placeholder(4, "float32", "global", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "use",
    [
        lambda out, other, i: other[i].store(uop.const(1, other[i].dtype)),
        lambda out, other, i: out[i].store(other[i].load().cast("float32")),
        lambda out, other, i: uop.group(out[i].store(1.0), uop.atomic_add(other[i], uop.const(1, other[i].dtype))),
    ],
)
def test_a_buffer_that_the_function_was_not_given_is_refused_at_once(name, use):
    def kernel(out):
        i = uop.range(4, 0, "global")
        return uop.sink(use(out, OTHERS[name](), i).end(i))

    with pytest.raises(strata.UsageError, match="which its function was not given"):
        Tensor.empty(4).custom_kernel(kernel=kernel)


@pytest.mark.parametrize("axis", ["loop", "reduce", "upcast", "unroll", "group"])
def test_a_loop_that_would_do_the_same_again_is_refused_at_once(axis):
    out, i, j = uop.placeholder(8, "float32", "global"), uop.range(8, 0, "global"), uop.range(3, 1, axis)
    for close in (
        lambda e: e.end(i, j),
        lambda e: uop.end(e, j),
        lambda e: uop.end(uop.group(e, out[i].store(2.0)), j, i),
    ):
        with pytest.raises(strata.UsageError, match=r"end closes range .* which the effect before it does not use"):
            close(out[i].store(1.0))
    for effect in (uop.atomic_add(out[0], 1.0), out[i].store(out[i].load() * 2.0), out[j].store(1.0)):
        assert effect.end(j).op == "end"
    assert out[0].store(1.0).end(i).op == "end"  # every thread of the grid does it
