"""The type stubs say what is there: every public name, member and parameter, and nothing more."""

import ast
import builtins
import importlib
import inspect
import re
from pathlib import Path

import pytest
import strata

FOLDER = Path(strata.__file__).parent
MODULES = {
    "strata._strata": "_strata.pyi",
    "strata.dtypes": "dtypes.pyi",
    "strata.emulator": "emulator.pyi",
    "strata.functional": "functional.pyi",
    "strata.operations": "operations.pyi",
    "strata.uop": "uop.pyi",
    "strata.asm": "asm/__init__.pyi",
    "strata.asm._instruction": "asm/_instruction.pyi",
    "strata.asm.rdna3": "asm/rdna3.pyi",
    "strata.asm.rdna4": "asm/rdna4.pyi",
    "strata.asm.cdna3": "asm/cdna3.pyi",
    "strata.asm._rdna": "asm/_rdna.pyi",
}
PYTHON_ONLY = {
    "_instruction": {
        "Constants",
        "Label",
        "Register",
        "RegisterFile",
        "Instruction",
        "Dual",
        "dual",
        "sext",
        "waits",
        "family",
    }
}
TYPES_ONLY = {"Mnemonic"}  # protocols of a stub: nothing at run time
# Members that Python gives every class, and pybind11's own.
GIVEN = {
    "__doc__",
    "__module__",
    "__dict__",
    "__weakref__",
    "__new__",
    "__pybind11_module_local__",
    "_pybind11_conduit_v1_",
}


def stub(name):
    return ast.parse((FOLDER / MODULES[name]).read_text())


def declared(body):
    """name -> node of what a module's or class's stub declares; imports count when they re-export (as the same
    name).
    """
    out = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            out[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            out[node.target.id] = node
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            out.update(declared(stub(f"strata.asm.{node.module}").body))
        elif isinstance(node, ast.ImportFrom):
            out.update({a.name: node for a in node.names if a.asname == a.name})
    return out


def public_names(name):
    module = importlib.import_module(name)
    last = name.rsplit(".", 1)[-1]
    if last in PYTHON_ONLY:
        return PYTHON_ONLY[last]
    if last in ("rdna3", "rdna4", "cdna3", "_rdna"):
        return {n for n in vars(module) if not n.startswith("_") and n not in ("Register", "RegisterFile", "family")}
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {n for n in vars(module) if not n.startswith("__")}


@pytest.mark.parametrize("name", MODULES)
def test_a_stub_has_every_public_name_and_no_other(name):
    in_stub = set(declared(stub(name).body)) - {"__getattr__", "__version__"} - TYPES_ONLY
    there = public_names(name)
    assert there - in_stub == set()
    importable = importlib.import_module(name)
    assert {n for n in in_stub if not hasattr(importable, n)} == set()


def classes():
    return [
        pytest.param(getattr(importlib.import_module(name), class_name), node, id=class_name)
        for name in MODULES
        for class_name, node in declared(stub(name).body).items()
        if isinstance(node, ast.ClassDef) and class_name not in TYPES_ONLY
    ]


def assigned_attributes(cls):
    """Attributes that a Python class sets on itself."""
    if "_strata" in cls.__module__:
        return set()
    source = inspect.getsource(cls)
    return set(re.findall(r"self\.(\w+)", source))


@pytest.mark.parametrize("cls, node", classes())
def test_a_class_has_the_members_of_its_stub(cls, node):
    if issubclass(cls, strata.Error):
        return  # log, source, file, line and column are attached when one is raised
    in_stub = set(declared(node.body))
    assert {n for n in in_stub if not hasattr(cls, n)} - assigned_attributes(cls) == set()
    there = {n for n in vars(cls) if n not in GIVEN and (n.startswith("__") or not n.startswith("_"))}
    refuses = {n for n in there if (vars(cls)[n].__doc__ or "").partition("\n")[0].endswith("-> Never")}
    # __getattr__ explains names that are not there; __slotnames__ is copyreg's own; NumPy alone asks for the __array_
    # two.
    unsaid = {
        "__init__",
        "__repr__",
        "__str__",
        "__getattr__",
        "__slotnames__",
        "__array_function__",
        "__array_ufunc__",
    }
    assert there - in_stub - refuses - unsaid == set()


def parameters_of_binding(function):
    """Names in the first line that pybind11 writes, 'f(self: T, axis: object = None, *args, **kwargs) -> T'; not * and
    **.
    """
    match = re.match(r"\w+\((.*)\)(?: -> .*)?$", (function.__doc__ or "").split("\n")[0])
    assert match, f"no signature in the docstring: {function.__doc__!r}"
    names, depth, quoted, start, text = [], 0, False, 0, match[1] + ","
    for i, c in enumerate(text):
        quoted ^= c == "'"
        depth += 0 if quoted else (c in "([{") - (c in ")]}")
        if c == "," and depth == 0 and not quoted:
            names.append(text[start:i].split(":")[0].split("=")[0].strip())
            start = i + 1
    return [n for n in names if n not in ("", "self", "/") and not n.startswith("*")]


def bound_functions():
    out = []
    for name in ("strata._strata", "strata.emulator", "strata.functional", "strata.operations", "strata.uop"):
        module = importlib.import_module(name)
        for n, node in declared(stub(name).body).items():
            if isinstance(node, ast.FunctionDef):
                out.append(pytest.param(getattr(module, n), node, id=f"{name}.{n}"))
            elif isinstance(node, ast.ClassDef):
                out += [
                    pytest.param(getattr(getattr(module, n), member), inner, id=f"{n}.{member}")
                    for member, inner in declared(node.body).items()
                    if isinstance(inner, ast.FunctionDef) and not member.startswith("__") and not is_property(inner)
                ]
    return out


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


@pytest.mark.parametrize("function, node", bound_functions())
def test_a_function_has_the_parameters_of_its_stub(function, node):
    bound = parameters_of_binding(function)
    positional_only = [p.arg for p in node.args.posonlyargs if p.arg != "self"]
    named = positional_only + [p.arg for p in node.args.args + node.args.kwonlyargs if p.arg != "self"]
    if len(bound) == len(named) + 1 and bound[0] == "arg0":
        bound = bound[1:]  # the object itself: such a member takes any two operands
    assert len(bound) == len(named)
    for in_binding, in_stub in zip(bound, named):
        if re.fullmatch(r"arg\d+", in_binding):
            assert in_stub in positional_only, f"{in_stub} cannot be given by name"
        else:
            assert in_binding == in_stub


def python_functions():
    out = []
    for name in ("strata.asm", "strata.asm._instruction"):
        module = importlib.import_module(name)
        for n, node in declared(stub(name).body).items():
            if isinstance(node, ast.FunctionDef):
                out.append(pytest.param(getattr(module, n), node, id=n))
            elif isinstance(node, ast.ClassDef) and n not in TYPES_ONLY:
                out += [
                    pytest.param(getattr(getattr(module, n), member), inner, id=f"{n}.{member}")
                    for member, inner in declared(node.body).items()
                    if isinstance(inner, ast.FunctionDef)
                ]
    return out


@pytest.mark.parametrize("function, node", python_functions())
def test_a_python_function_has_the_parameters_and_defaults_of_its_stub(function, node):
    a = node.args
    in_stub = (
        [p.arg for p in a.posonlyargs + a.args]
        + [p.arg for p in [a.vararg] if p]
        + [p.arg for p in a.kwonlyargs]
        + [p.arg for p in [a.kwarg] if p]
    )
    there = inspect.signature(function).parameters
    assert list(there) == in_stub
    positional = [p for p in there.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty]
    keyword = [p.default for p in there.values() if p.kind is p.KEYWORD_ONLY and p.default is not p.empty]
    assert [ast.literal_eval(d) for d in a.defaults] == [p.default for p in positional]
    assert [ast.literal_eval(d) for d in a.kw_defaults if d] == keyword


def test_everything_public_is_described():
    bare = []
    for name in MODULES:
        tree = stub(name)
        assert ast.get_docstring(tree), name
        for n, node in declared(tree.body).items():
            if n.startswith("_") or isinstance(node, (ast.AnnAssign, ast.ImportFrom)):
                continue
            if not ast.get_docstring(node):
                bare.append(n)
            if isinstance(node, ast.ClassDef):
                bare += [
                    f"{n}.{m}"
                    for m, f in declared(node.body).items()
                    if isinstance(f, ast.FunctionDef) and not m.startswith("_") and not ast.get_docstring(f)
                ]
    assert bare == []


GENERATED = [
    "strata._strata",
    "strata.dtypes",
    "strata.emulator",
    "strata.functional",
    "strata.operations",
    "strata.uop",
]


@pytest.mark.parametrize("name", GENERATED)
def test_annotations_use_names_that_are_there(name):
    tree = stub(name)
    known = set(dir(builtins)) | set(declared(tree.body))
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {a.asname or a.name for a in node.names}
    annotations = [
        a for node in ast.walk(tree) for a in (getattr(node, "annotation", None), getattr(node, "returns", None)) if a
    ]
    assert len(annotations) > 10
    assert {n.id for a in annotations for n in ast.walk(a) if isinstance(n, ast.Name)} - known == set()


@pytest.mark.parametrize("name", GENERATED)
def test_parameters_have_types(name):
    loose = []
    for f in ast.walk(stub(name)):
        if isinstance(f, ast.FunctionDef) and (not f.name.startswith("_") or f.name.startswith("__")):
            everything = (
                f.args.posonlyargs + f.args.args + f.args.kwonlyargs + [p for p in (f.args.vararg, f.args.kwarg) if p]
            )
            loose += [
                (f.name, p.arg)
                for p in everything
                if p.arg != "self" and (not p.annotation or ast.unparse(p.annotation) in ("Any", "object"))
            ]
    assert set(loose) <= {
        ("__array__", "dtype"),
        ("__array__", "copy"),
        ("__eq__", "other"),
        ("__exit__", "args"),
        ("__call__", "args"),
        ("__call__", "kwargs"),
    }


def test_signatures_say_what_python_takes():
    text = (FOLDER / "_strata.pyi").read_text()
    for line in (
        "def sum(self, axis: Axes = None, keepdims: builtins.bool = False, dtype: DTypeLike | None = None) -> Tensor:",
        "def reshape(self, *shape: Shape) -> Tensor:",
        "def roll(self, shift: Shape, axis: Axes = None) -> Tensor:",
        "def zeros(*shape: Shape, dtype: DTypeLike = 'float32', device: str = '') -> Tensor:",
        "def full(shape: Shape, fill_value: Scalar, dtype: DTypeLike | None = None, device: str = '') -> Tensor:",
        "def add(self, other: Operand) -> Tensor:",
        "def __add__(self, other: Operand, /) -> Tensor: ...",
        "def __eq__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]",
        "def pad(self, padding: Sequence[tuple[builtins.int, builtins.int]], value: Scalar = 0) -> Tensor:",
        "def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:",
        "def shape(self) -> tuple[builtins.int, ...]:",
        "def chunk(self, chunks: builtins.int, axis: builtins.int = 0) -> list[Tensor]:",
        (
            "def custom_kernel(self, *inputs: KernelArgument, kernel: Kernel, outputs: str | builtins.int | "
            "Sequence[str | builtins.int] | None = None, grad: Callable[..., Any] | None = None) -> tuple[Tensor, "
            "...]:"
        ),
        "def grid(self) -> list[int]:",
        "def instructions(self) -> list[InstructionUse]:",
        "def settings() -> dict[str, Any]:",
    ):
        assert f"{line}\n" in text, line


def test_every_setting_is_an_argument_of_config():
    init = declared(declared(stub("strata._strata").body)["config"].body)["__init__"]
    types = {p.arg: ast.unparse(p.annotation) for p in init.args.kwonlyargs}
    assert list(types) == list(strata.settings())
    assert types["beam"] == "int" and types["no_cache"] == "bool" and types["target"] == "Literal['auto', 'hip', 'asm']"
    assert all(f"\n{name}: " in ast.get_docstring(init) for name in types)


def test_the_package_says_that_it_is_typed():
    assert (FOLDER / "py.typed").exists()


MADE = {
    "Conv": "conv{}d", "ConvTranspose": "conv_transpose{}d", "ChannelDropout": "dropout{}d", "AvgPool": "avg_pool{}d",
    "LpPool": "lp_pool{}d", "MaxPool": "max_pool{}d", "MaxPoolWithIndices": "max_pool{}d_with_indices",
    "MaxUnpool": "max_unpool{}d", "AdaptiveAvgPool": "adaptive_avg_pool{}d",
    "AdaptiveMaxPool": "adaptive_max_pool{}d", "AdaptiveMaxPoolWithIndices": "adaptive_max_pool{}d_with_indices",
    "FractionalMaxPool": "fractional_max_pool{}d",
    "FractionalMaxPoolWithIndices": "fractional_max_pool{}d_with_indices",
}  # fmt: skip


@pytest.mark.parametrize("protocol", MADE)
def test_functions_that_are_made_for_each_number_of_axes_have_their_protocols_arguments(protocol):
    from strata.nn import functional

    types = ast.parse((FOLDER / "_types.pyi").read_text())
    call = next(n for n in types.body if isinstance(n, ast.ClassDef) and n.name == protocol).body[0].args
    defaults = [None] * (len(call.args) - len(call.defaults)) + [ast.literal_eval(d) for d in call.defaults]
    declared = [(a.arg, d) for a, d in zip(call.args, defaults)][1:]
    for axes in (1, 2, 3):
        if f := getattr(functional, MADE[protocol].format(axes), None):
            own = [
                (p.name, None if p.default is p.empty else p.default) for p in inspect.signature(f).parameters.values()
            ]
            assert own == declared[: len(own)] and len(declared) - len(own) <= (MADE[protocol] == "avg_pool{}d"), f


def test_every_function_that_is_made_has_a_protocol():
    types = ast.parse((FOLDER / "_types.pyi").read_text())
    called = {n.name for n in types.body if isinstance(n, ast.ClassDef) and "__call__" in ast.unparse(n)}
    assert called == {*MADE}
