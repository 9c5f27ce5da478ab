"""One set of functions, one home: a name that several public modules have is one function, or has a reason here."""

import ast
import importlib
import inspect
import sys
import types
from collections import defaultdict
from pathlib import Path

import pytest
import strata
from strata import Tensor

HOMES = ["strata", "strata.nn", "strata.nn.functional", "strata.nn.losses", "strata.nn.init", "strata.functional"]
HOMES += ["strata.linalg", "strata.fft", "strata.optim", "strata.files", "strata.kernels", "strata.onnx", "strata.asm"]
TORCH = "torch's arguments in torch's order: input, weight, dim, inplace, size_average"
ARRAY = "nn.init makes parameters of a shape and a type, strata the arrays of the array API"
SHAPE = "torch's pad counts from the last axis, torch's unfold makes columns of images"
OWN_LOSS = "nn.losses has the loss of logits with label smoothing; strata.functional the one that it is made of"
DIFFERENT = {
    "binary_cross_entropy": TORCH, "binary_cross_entropy_with_logits": TORCH, "cosine_similarity": TORCH,
    "cross_entropy": f"{TORCH}; {OWN_LOSS}", "embedding": TORCH, "gelu": TORCH, "interpolate": TORCH, "kl_div": TORCH,
    "linear": f"{TORCH}; strata.optim has a learning rate of that name",
    "log_softmax": TORCH, "one_hot": TORCH, "ones": ARRAY, "pad": SHAPE, "relu": TORCH,
    "scaled_dot_product_attention": TORCH, "sigmoid": TORCH, "silu": TORCH, "softmax": TORCH, "softplus": TORCH,
    "tanh": TORCH, "unfold": SHAPE, "zeros": ARRAY,
    "load": "strata.onnx loads a model, strata the tensors of a file",
    "rotary_embedding": "nn's takes one tensor whose positions count on; kernels' has vLLM's arguments, with a table",
}  # fmt: skip
# Arguments of a function of strata and of the method of its name; those of the array API go by place.
OTHER_ARGUMENTS = {
    "astype": "the array API's copy and device",
    "broadcast_to": "the method takes the sizes one by one too",
    "linspace": "the array API's order of arguments that go by name",
    "reshape": "the method takes the sizes one by one too; the array API's copy",
    "tile": "the method takes the repetitions one by one too",
    "where": "the method's tensor is the condition",
    "realize": "a function of many tensors",
    **dict.fromkeys(("full_like", "ones_like", "zeros_like"), "the array API's device"),
    **dict.fromkeys(("tril", "triu"), "the array API calls the diagonal k"),
    "pad": "the function has the modes of NumPy beside the value",
    "grad": "the method is a property: the gradient that a tensor has",
}
NOT_PUBLIC = ("strata._checks", "strata._narrow", "strata._renamed", "strata._files", "strata._written")


def public(home):
    """name -> function of a home; classes and what is no function are left out."""
    module = importlib.import_module(home)
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return {name: f for name, f in found.items() if callable(f) and not isinstance(f, type)}


def test_a_name_in_several_homes_is_one_function_or_has_a_reason():
    functions = defaultdict(dict)
    for home in HOMES:
        for name, f in public(home).items():
            functions[name].setdefault(id(f), home)
    different = {name: [*homes.values()] for name, homes in functions.items() if len(homes) > 1}
    assert {*different} == {*DIFFERENT}, different


def arguments(f):
    return [p.name for p in inspect.signature(f).parameters.values()][1:]


def by_place(f):
    return [p for p in inspect.signature(f).parameters.values() if p.kind is p.POSITIONAL_ONLY][1:]


def test_a_method_takes_what_the_function_of_its_name_takes():
    stub = ast.parse((Path(strata.__file__).parent / "_strata.pyi").read_text())
    members = next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body
    methods = {n.name: n.args for n in reversed(members) if isinstance(n, ast.FunctionDef)}
    stub = ast.parse((Path(strata.__file__).parent / "operations.pyi").read_text())
    rows = {n.name: n.args for n in stub.body if isinstance(n, ast.FunctionDef)}
    names = lambda a: [x.arg for x in [*a.posonlyargs, *a.args][1:]] + [x.arg for x in a.kwonlyargs]  # noqa: E731
    different = set()
    for name, f in public("strata").items():
        if name in methods and name in rows and f is getattr(sys.modules["strata.operations"], name):
            assert names(rows[name]) == names(methods[name]), name
        elif name in methods and isinstance(f, types.FunctionType) and not by_place(f):
            if arguments(f) != names(methods[name]):
                different.add(name)
    assert different <= {*OTHER_ARGUMENTS}, different - {*OTHER_ARGUMENTS}


@pytest.mark.parametrize("home", HOMES)
def test_a_public_module_shows_its_own_functions_and_nothing_that_they_are_made_of(home):
    module = importlib.import_module(home)
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_"):
            assert name not in ("annotations", "TYPE_CHECKING"), name
            assert not isinstance(value, types.ModuleType) or value.__name__.startswith("strata"), name
            assert not str(getattr(value, "__module__", "")).startswith(NOT_PUBLIC), name


@pytest.mark.parametrize(
    "name", [name for name in dir(strata) if name not in DIFFERENT and hasattr(strata.linalg, name)]
)
def test_linalg_re_exports(name):
    assert name.startswith("_") or getattr(strata, name) is getattr(strata.linalg, name)


def test_the_loss_of_classes_is_one_function():
    logits, target = Tensor([[1.0, 2.0, 4.0]]), Tensor([2])
    assert strata.nn.cross_entropy is strata.nn.losses.cross_entropy
    assert strata.nn.cross_entropy(logits, target, "sum", 0.1).item() == pytest.approx(0.336513, abs=1e-6)
