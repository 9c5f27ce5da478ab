"""py.typed promises types: the public package is annotated, and mypy finds nothing wrong with it (pyproject.toml:
[tool.mypy]).

A public function has no underscore in front of its name, nor has its class; a module of several files is public by
its package.
"""

import ast
import subprocess
import sys

from tree import CHECKOUT, Tree, check, make_tree

PUBLIC = ("nn/", "files/__init__.py", "onnx/__init__.py", "_namespace/")
PUBLIC += tuple(
    f"{name}.py" for name in ("optim", "linalg", "fft", "kernels", "_derivatives", "_explain", "_jit", "_profile")
)


def bare(tree_of_file):
    """(line, name) of public functions with a parameter or a result without annotation."""
    for node in tree_of_file.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        else:
            methods = []
        for f in [node, *methods]:
            if not isinstance(f, ast.FunctionDef) or (f.name.startswith("_") and f.name != "__init__"):
                continue
            is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in f.decorator_list)
            a = f.args
            named = (a.posonlyargs + a.args)[0 if f is node or is_static else 1 :] + a.kwonlyargs
            named += [p for p in (a.vararg, a.kwarg) if p]
            if f.returns is None or any(p.annotation is None for p in named):
                yield f.lineno, f.name


def unannotated(tree):
    root = "python/strata/"
    files = [f for f in tree.files if f.startswith(root) and f.endswith(".py") and f[len(root) :].startswith(PUBLIC)]
    found = [(f, *at) for f in files for at in bare(ast.parse(tree.text(f)))]
    return {f"{f}:{name}": f"{f}:{line}: {name} lacks annotations" for f, line, name in found}


def test_public_functions_are_annotated():
    check(unannotated(Tree(CHECKOUT)), {}, "Say of each parameter and the result what it is.")


def test_mypy_finds_nothing(tmp_path):
    run = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path)]
    done = subprocess.run(run, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_without_annotations_is_found(tmp_path):
    text = (
        "def f(x: int, *y: int): ...\ndef _g(x): ...\nclass A:\n    def m(self, x) -> None: ...\n    def n(self) "
        "-> int: ...\n"
    )
    tree = make_tree(tmp_path, {"python/strata/nn/a.py": text, "python/strata/cli/b.py": "def f(x): ...\n"})
    assert list(unannotated(tree)) == ["python/strata/nn/a.py:f", "python/strata/nn/a.py:m"]
