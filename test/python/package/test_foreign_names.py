"""Names and arguments of other packages, and misspelt ones: they work where they mean the same, else the error says
what to write.
"""

import inspect
import json
import pickle

import numpy as np
import pytest
import strata
from strata import Tensor, _hints, dtypes, kernels, nn, uop
from strata.nn import activations

PYBIND = (
    "incompatible function arguments",
    "incompatible constructor arguments",
    "Unable to cast",
    "pybind",
    "C++ type",
    "std::",
    "::at",
)
OWNERS = [
    (lambda: Tensor([1.0]), "TENSOR"),
    (lambda: strata, "PACKAGE"),
    (lambda: uop, "UOP"),
    (lambda: uop.const(1.0), "UOP"),
    (lambda: dtypes, "DTYPES"),
    (lambda: kernels, "KERNELS"),
]


@pytest.mark.parametrize("owner, table", OWNERS, ids=["Tensor", "strata", "uop", "UOp", "dtypes", "kernels"])
def test_every_name_of_the_table_is_explained_and_is_not_there(owner, table):
    explained = 0
    for name, text in getattr(_hints, table).items():
        if (
            table == "UOP"
            and hasattr(type(owner()), name)
            or name in vars(owner() if inspect.ismodule(owner()) else type(owner()))
        ):
            continue  # of the other owner that shares the table
        with pytest.raises(AttributeError) as e:
            getattr(owner(), name)
        assert text in str(e.value) and name in str(e.value)
        explained += 1
    assert explained > 5


@pytest.mark.parametrize(
    "owner, wrong, right",
    [
        (lambda: Tensor([1.0]), "sofmax", "softmax"),
        (lambda: Tensor([1.0]), "reshap", "reshape"),
        (lambda: Tensor, "zeroes", "zeros"),
        (lambda: strata, "staks", "stack"),
        (lambda: strata, "wher", "where"),
        (lambda: kernels, "flash_atention", "flash_attention"),
        (lambda: uop, "barier", "barrier"),
        (lambda: uop.const(1.0), "maximun", "maximum"),
        (lambda: dtypes, "float31", "float32"),
    ],
)
def test_a_misspelt_name_suggests_the_right_one(owner, wrong, right):
    with pytest.raises(AttributeError, match=f"'{wrong}'; close: .*{right}"):
        getattr(owner(), wrong)


@pytest.mark.parametrize("name", ["logsigmoid", "l1_loss", "cosine_similarity"])
@pytest.mark.parametrize("owner", [Tensor([1.0]), strata], ids=["Tensor", "strata"])
def test_functions_of_layers_are_found(owner, name):
    with pytest.raises(AttributeError, match=rf"strata\.nn\.functional\.{name}\(x\)"):
        getattr(owner, name)


def test_what_is_not_there_is_not_there():
    x = Tensor([1.0])
    assert (
        not hasattr(x, "retain_grad")
        and not hasattr(strata, "tensor")
        and not hasattr(x, "__array_struct__")
        and getattr(x, "_private", 3) == 3
    )
    with pytest.raises(ImportError):
        from strata import nothing_of_the_kind  # noqa: F401


def test_arguments_of_the_same_meaning_work():
    a = np.arange(24.0).reshape(2, 3, 4).astype(np.float32)
    x = Tensor(a)
    for got, want in [
        (x.sum(dim=1), a.sum(1)),
        (x.max(dim=-1, keepdim=True), a.max(-1, keepdims=True)),
        (x.mean(axis=0, out=None), a.mean(0)),
        (x.softmax(dim=0), None),
        (x.argmax(dim=2), a.argmax(2)),
        (strata.stack([x, x], dim=0), np.stack([a, a])),
        (strata.cat([x, x], dim=1), np.concatenate([a, a], 1)),
        (x.std(dim=1, ddof=1), a.std(1, ddof=1)),
        (x.squeeze(dim=()), a),
        (x.unsqueeze(dim=0), a[None]),
        (x.transpose(dim0=0, dim1=1), a.swapaxes(0, 1)),
        (Tensor.zeros(2, requires_grad=False), np.zeros(2)),
        (Tensor([1.0], requires_grad=False), np.ones(1)),
        (x.split(split_size=2, dim=1)[0], a[:, :2]),
    ]:
        if want is not None:
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "std",
        "var",
        "any",
        "all",
        "argmax",
        "argmin",
        "cumsum",
        "cumprod",
        "clip",
        "reshape",
        "transpose",
        "squeeze",
        "round",
        "repeat",
        "flip",
        "sort",
        "expand_dims",
        "stack",
        "where",
    ],
)
def test_functions_of_numpy_take_tensors(name):
    a = np.array([[1.5, -2.5, 3.25], [4.0, 0.0, -6.5]], np.float32)
    more = {
        "clip": (-1.0, 2.0),
        "reshape": ((3, 2),),
        "repeat": (2,),
        "expand_dims": (0,),
        "cumsum": (1,),
        "cumprod": (1,),
        "where": (1.0, 0.0),
    }.get(name, ())
    arrays, tensors = ([a, a], [Tensor(a), Tensor(a)]) if name == "stack" else (a, Tensor(a))
    if name == "where":
        arrays, tensors = a > 0, Tensor(a) > 0
    got = getattr(np, name)(tensors, *more)
    np.testing.assert_allclose(
        got.numpy() if isinstance(got, Tensor) else got, getattr(np, name)(arrays, *more), rtol=1e-6
    )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: x.sum(dtype=None, wher=1), "no argument 'wher'"),
        (lambda x: x.sum(keepdimz=True), r"keepdims\?"),
        (lambda x: x.sum(out=np.zeros(1)), "do not change"),
        (lambda x: x.sum(axis="x"), "an axis is an int"),
        (lambda x: x.sum(1.0), "an axis is an int"),
        (lambda x: x[2**70], "out of range"),
        (lambda x: x[np.float64(1)], "cannot index with"),
        (lambda x: x.split("ab"), "sequence of ints"),
        (lambda x: x.to("float15"), "float15"),
        (lambda x: x.roll(2**70, 0), "out of range"),
        (lambda x: x.permute(0.5), "int"),
        (lambda x: x.__setitem__(0, "5"), "a tensor or a number"),
        (lambda x: Tensor(None), "cannot make a tensor of None"),
        (lambda x: Tensor({}), "cannot make a tensor of {}"),
        (lambda x: Tensor("abc"), "'abc'"),
        (lambda x: Tensor(i for i in range(3)), "list"),
        (lambda x: Tensor([2**70]), "64 bits"),
        (lambda x: x.take([0]), "indices: Tensor"),
        (lambda x: x.gather(), "indices"),
        (lambda x: strata.cat(), "tensors"),
        (lambda x: uop.range("x", 0), "size: int"),
        (lambda x: uop.range(2**70, 0), "64 bits"),
        (lambda x: dtypes.float32.bits(), "not callable"),
        (lambda x: strata.where(x), "condition"),
    ],
)
def test_a_wrong_argument_says_what_the_function_takes(call, words):
    with pytest.raises((strata.Error, TypeError), match=words) as e:
        call(Tensor([1.0, 2.0]))
    assert not any(w in str(e.value) for w in PYBIND)


def bound():
    out = []
    for owner in (strata._strata, uop, strata.functional, dtypes, Tensor, uop.UOp, strata.DType):
        for name in dir(owner):
            f = inspect.getattr_static(owner, name)
            f = f.__func__ if isinstance(f, staticmethod) else f
            if callable(f) and not isinstance(f, type) and (f.__doc__ or "").startswith(f"{name}("):
                out.append(pytest.param(f, id=f"{owner.__name__}.{name}"))
    return out


@pytest.mark.parametrize("function", bound())
def test_no_function_answers_in_the_words_of_its_binding(function):
    class Nothing:
        pass

    for given in ((), (Nothing(),), (Nothing(),) * 9, (2**70,), ("x", "y")):
        for named in ({}, {"nothing": Nothing()}):
            try:
                function(*given, **named)
            except Exception as e:
                assert not any(w in str(e) for w in PYBIND), str(e)
                assert isinstance(
                    e, (strata.Error, TypeError, ValueError, OverflowError, AttributeError, BufferError)
                ), repr(e)
    (
        strata._strata._no_grad(False),
        strata._strata._any_sizes(False),
    )  # what no_grad and jit turn on, and this test too


@pytest.mark.parametrize("arguments", [(), (0,), (-1,)])
def test_size_is_a_property_and_says_so_when_it_is_called(arguments):
    x = Tensor([[1.0, 2.0, 3.0]])
    with pytest.raises(TypeError, match=r"size is a property: x\.size counts the elements, x\.shape\[axis\]"):
        x.size(*arguments)
    assert x.size == 3 and isinstance(x.size, int) and f"{x.size!r} {x.size}" == "3 3" and type(x.size + 1) is int
    assert (
        pickle.loads(pickle.dumps({x.size: x.size})) == {3: 3}
        and json.dumps(x.size) == "3"
        and np.zeros(x.size).shape == (3,)
    )


def test_an_activation_takes_numbers_alone():
    for name, (function, _) in activations._ROWS.items():
        for argument in list(inspect.signature(function).parameters)[1:]:
            for wrong in (Tensor(1.0), Tensor(1), "a", None, True, float("nan")):
                with pytest.raises(strata.UsageError, match=rf"\[{name}\] {argument} is"):
                    getattr(nn, name)(**{argument: wrong})
