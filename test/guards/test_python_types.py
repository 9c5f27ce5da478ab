"""py.typed promises types: the public package is annotated, and mypy finds nothing wrong with it (pyproject.toml:
[tool.mypy]).

A public function has no underscore in front of its name, nor has its class; a module of several files is public by
its package.
"""

import ast
import re
import subprocess
import sys

from tree import CHECKOUT, Tree, check, make_tree

PUBLIC = ("nn/", "files/__init__.py", "onnx/__init__.py", "_namespace/", "kernels/")
PUBLIC += tuple(f"{name}.py" for name in ("optim", "linalg", "fft", "_derivatives", "_explain", "_jit", "_profile"))


FORWARD = "a layer of the user's own takes and gives what it likes"
BY_PLACES = "a tuple where argnums is one"
MODEL = "an onnx.ModelProto, of a package that need not be there"
ANY = {
    "_derivatives.py:value_and_grad:return": BY_PLACES,
    "_derivatives.py:grad:return": BY_PLACES,
    "_derivatives.py:custom_gradient:return": "what the user's function gives",
    "files/__init__.py:Tensors.__init__:metadata": "what a file holds beside tensors",
    "nn/module.py:Module.forward:inputs": FORWARD,
    "nn/module.py:Module.forward:named": FORWARD,
    "nn/module.py:Module.forward:return": FORWARD,
    "onnx/__init__.py:load:model": MODEL,
    "onnx/__init__.py:Model.__init__:model": MODEL,
}
UNTYPED: dict[str, str] = {}  # functions that mypy takes for Any, with the reason
# Public modules, and what a program writes to reach them.
SEEN = (
    "strata",
    "strata.nn",
    "strata.nn.functional",
    "strata.nn.losses",
    "strata.nn.init",
    "strata.linalg",
    "strata.fft",
)
SEEN += ("strata.functional", "strata.optim", "strata.onnx", "strata.files", "strata.kernels", "strata.layout")


NAMES = """
import importlib
for module in {modules}:
    owner = importlib.import_module(module)
    for name in dir(owner):
        value = None if name.startswith("_") else getattr(owner, name)
        if callable(value) and not isinstance(value, type):
            print(module + "." + name)
"""


def public_functions(tree_of_file):
    """(name with its class, node, how many parameters the call does not name) of public functions."""
    for node in tree_of_file.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [(f"{node.name}.{m.name}", m) for m in node.body if isinstance(m, ast.FunctionDef)]
        else:
            methods = []
        for name, f in [*([(node.name, node)] if isinstance(node, ast.FunctionDef) else []), *methods]:
            if f.name.startswith("_") and f.name != "__init__":
                continue
            is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in f.decorator_list)
            yield name, f, 0 if f is node or is_static else 1


def parameters(f, unnamed):
    a = f.args
    named = (a.posonlyargs + a.args)[unnamed:] + a.kwonlyargs
    return named + [p for p in (a.vararg, a.kwarg) if p]


def bare(tree_of_file):
    """(line, name) of public functions with a parameter or a result without annotation."""
    for _, f, unnamed in public_functions(tree_of_file):
        if f.returns is None or any(p.annotation is None for p in parameters(f, unnamed)):
            yield f.lineno, f.name


def of_any(tree_of_file):
    """(line, function:parameter) of annotations that say Any, which is nothing."""
    for name, f, unnamed in public_functions(tree_of_file):
        kinds = [(p.arg, p.annotation) for p in parameters(f, unnamed)] + [("return", f.returns)]
        for what, kind in kinds:
            if kind is not None and re.search(r"\bAny\b", ast.unparse(kind)):
                yield f.lineno, f"{name}:{what}"


def of_public_files(tree, find):
    """[(file, line, name)] of what find(syntax tree) yields."""
    root = "python/strata/"
    files = [f for f in tree.files if f.startswith(root) and f.endswith(".py") and f[len(root) :].startswith(PUBLIC)]
    return [(f, *at) for f in files for at in find(ast.parse(tree.text(f)))]


def unannotated(tree):
    return {f"{f}:{name}": f"{f}:{line}: {name} lacks annotations" for f, line, name in of_public_files(tree, bare)}


def vague(tree):
    found = of_public_files(tree, of_any)
    return {f"{f[14:]}:{name}": f"{f}:{line}: {name} is Any" for f, line, name in found}


def mypy(folder, *arguments):
    run = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(folder), *arguments]
    return subprocess.run(run, cwd=CHECKOUT, capture_output=True, text=True)


def test_public_functions_are_annotated():
    check(unannotated(Tree(CHECKOUT)), {}, "Say of each parameter and the result what it is.")


def test_public_functions_say_more_than_any():
    check(vague(Tree(CHECKOUT)), ANY, "Name the type; strata/_types.pyi has those that many functions take.")


def test_mypy_finds_nothing_and_knows_every_public_function(tmp_path):
    done = mypy(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = CHECKOUT / "build/release/python"
    names = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NAMES.format(modules=SEEN)], cwd=folder, capture_output=True, text=True
    )
    assert names.returncode == 0, names.stderr
    program = tmp_path / "seen.py"
    program.write_text(f"import {', '.join(SEEN)}\n" + "".join(f"reveal_type({n})\n" for n in names.stdout.split()))
    told = mypy(tmp_path, str(program)).stdout.splitlines()
    lines = program.read_text().splitlines()
    unknown = {lines[int(t.split(":")[1]) - 1][12:-1]: t for t in told if "error:" in t or t.endswith('type is "Any"')}
    assert len(told) > 300
    check(unknown, UNTYPED, "Say its type where it is made: a decorator or a list of names that is computed hides it.")


# Calls whose flags decide what they give, and its type.
BY_FLAGS = {
    "F.max_pool2d(x, 2)": "Tensor",
    "F.max_pool2d(x, 2, 2, 0, 1, False, False)": "Tensor",
    "F.max_pool2d(x, 2, 2, 0, 1, False, True)": "tuple[Tensor, Tensor]",
    "F.max_pool3d(x, 2, return_indices=True)": "tuple[Tensor, Tensor]",
    "F.max_pool1d(x, 2, return_indices=flag)": "Tensor | tuple[Tensor, Tensor]",
    "F.max_pool1d_with_indices(x, 2)": "tuple[Tensor, Tensor]",
    "F.adaptive_max_pool2d(x, 2)": "Tensor",
    "F.adaptive_max_pool2d(x, 2, True)": "tuple[Tensor, Tensor]",
    "F.adaptive_max_pool1d(x, 2, return_indices=True)": "tuple[Tensor, Tensor]",
    "F.adaptive_max_pool3d(x, 2, return_indices=flag)": "Tensor | tuple[Tensor, Tensor]",
    "F.fractional_max_pool2d(x, 2, 3)": "Tensor",
    "F.fractional_max_pool2d(x, 2, None, 0.5, True)": "tuple[Tensor, Tensor]",
    "F.fractional_max_pool3d(x, 2, 3, return_indices=True)": "tuple[Tensor, Tensor]",
    "F.fractional_max_pool3d(x, 2, 3, return_indices=flag)": "Tensor | tuple[Tensor, Tensor]",
    "strata.unique(x)": "Tensor",
    "strata.unique(x, return_counts=True)": "tuple[Tensor, ...]",
    "strata.unique(x, True)": "tuple[Tensor, ...]",
    "strata.unique(x, return_inverse=flag)": "Tensor | tuple[Tensor, ...]",
}


def test_a_flag_decides_the_type_of_a_result(tmp_path):
    program = tmp_path / "flags.py"
    program.write_text(
        "from typing import assert_type\nimport strata\nfrom strata import Tensor\n"
        "from strata.nn import functional as F\n"
        "def check(x: Tensor, flag: bool) -> None:\n"
        + "".join(f"    assert_type({call}, {kind})\n" for call, kind in BY_FLAGS.items())
    )
    done = mypy(tmp_path, str(program))
    assert done.returncode == 0, done.stdout


def test_a_function_without_annotations_is_found(tmp_path):
    text = (
        "def f(x: int, *y: int): ...\ndef _g(x): ...\nclass A:\n    def m(self, x) -> None: ...\n    def n(self) "
        "-> int: ...\n"
    )
    tree = make_tree(tmp_path, {"python/strata/nn/a.py": text, "python/strata/cli/b.py": "def f(x): ...\n"})
    assert list(unannotated(tree)) == ["python/strata/nn/a.py:f", "python/strata/nn/a.py:m"]


def test_any_is_found(tmp_path):
    text = "def f(x: Any, y: int) -> list[Any]: ...\ndef _g(x: Any) -> None: ...\n"
    text += "class A:\n    def m(self, x: Anyone) -> None: ...\n"
    tree = make_tree(tmp_path, {"python/strata/nn/a.py": text})
    assert list(vague(tree)) == ["nn/a.py:f:x", "nn/a.py:f:return"]
