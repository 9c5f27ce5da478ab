"""The recipes of CONTRIBUTING.md, as patches: each touches as few files as it promises, and all of them together build
and pass.

NAME.patch is what a person would commit. Where one no longer applies, from a clean checkout:
    git apply --3way test/recipes/NAME.patch        mend what it marks, until the recipe is right again
    git add -N . && git diff --full-index -U1 >/tmp/NAME.patch && git reset -q --hard && cp /tmp/NAME.patch test/recipes
A recipe that needs more files than it says is a fact that has left its row. Put it back, or change FILES and say why.
The tree with all of them is build/recipes/tree; with nothing changed since the last run there is nothing to compile.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
TREE = CHECKOUT / "build/recipes/tree"
# recipe -> (product files, test files)
FILES = {
    "action": (2, 1),
    "instruction": (2, 2),
    "method": (2, 1),
    "op": (2, 1),
    "pass": (2, 1),
    "provider": (2, 1),
    "rule": (1, 1),
    "setting": (1, 1),
}
RECIPES = sorted(FILES)
# Targets built and run with all recipes applied: the tests that they bring, and those that look at whole tables.
GTESTS = {
    "test_core_symbolic": "Simplify.*",
    "test_codegen_linear": "*",
    "test_codegen_optimize": "*Action*",
    "test_codegen_render": "*Operations*",
    "test_asm_emu_memory": "Atomic.*:*Rows*",
}
PYTESTS = [
    "test/python/package/test_stubs.py",
    "test/python/tensor/test_elementwise.py",
    "test/python/runtime/test_config.py",
    "test/python/runtime/test_devices.py",
    "test/python/tensor/test_movement.py",
]


def git(folder, *words, **options):
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, **options)


def patch(name):
    return FOLDER / f"{name}.patch"


def copy_of_the_checkout(folder):
    """The tracked files in a repository of their own, which finds the checkout's objects for three-way merges."""
    names = git(CHECKOUT, "ls-files", "-co", "--exclude-standard", check=True).stdout.split("\n")
    for name in (n for n in names if n and (CHECKOUT / n).is_file()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, folder / name)
    git(folder, "init", "-q", check=True)
    objects = git(CHECKOUT, "rev-parse", "--path-format=absolute", "--git-path", "objects", check=True).stdout
    (folder / ".git/objects/info/alternates").write_text(objects)
    git(folder, "add", "-A", check=True)
    git(folder, "-c", "user.name=recipes", "-c", "user.email=none", "commit", "-qm", "base", check=True)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return copy_of_the_checkout(tmp_path_factory.mktemp("recipes"))


def apply(folder, name):
    result = git(folder, "apply", "--3way", "--index", str(patch(name)))
    assert result.returncode == 0, (
        f"{name}.patch no longer applies; the head of {__file__} says how to refresh it\n{result.stderr}"
    )


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_touches_as_few_files_as_it_promises(base, name):
    git(base, "reset", "-q", "--hard", check=True)
    apply(base, name)
    touched = git(base, "diff", "--cached", "--name-only", check=True).stdout.split()
    tests = [f for f in touched if f.startswith("test/")]
    product = [f for f in touched if f not in tests]
    assert (len(product), len(tests)) == FILES[name], f"{name} touches {product} and {tests}"


def test_every_patch_is_a_recipe():
    assert sorted(p.stem for p in FOLDER.glob("*.patch")) == RECIPES


def update(source, target):
    """Makes `target` hold the files of `source`; what is the same keeps its time, so that ninja sees only what
    changed.
    """
    names = set(git(source, "ls-files", check=True).stdout.split("\n")) - {""}
    for old in git(target, "ls-files", check=True).stdout.split("\n") if (target / ".git").exists() else []:
        if old and old not in names:
            (target / old).unlink(missing_ok=True)
    for name in names:
        new = (source / name).read_bytes()
        if not (target / name).exists() or (target / name).read_bytes() != new:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(new)
            shutil.copymode(source / name, target / name)
    git(target, "init", "-q", check=True)
    git(target, "add", "-A", check=True)


@pytest.fixture(scope="module")
def built(base):
    """A build of the tree with every recipe applied."""
    git(base, "reset", "-q", "--hard", check=True)
    for name in RECIPES:
        apply(base, name)
    TREE.mkdir(parents=True, exist_ok=True)
    update(base, TREE)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to(CHECKOUT / ".venv")
    run(["cmake", "--preset", "release", "-DSTRATA_EMU_ONLY=native"])
    run(["ninja", "-C", "build/release", "_strata", *GTESTS])
    return TREE / "build/release"


def run(command, **env):
    result = subprocess.run(
        command, cwd=TREE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **env}
    )
    assert result.returncode == 0, f"in {TREE}: {' '.join(map(str, command))}\n{result.stdout[-6000:]}"


def program(build, target):
    return next(p for p in build.rglob(target) if p.is_file())


@pytest.mark.parametrize("target", GTESTS)
def test_all_recipes_together_pass_their_tests(built, target):
    run([program(built, target), "--gtest_brief=1", f"--gtest_filter={GTESTS[target]}"])


def test_all_recipes_together_pass_their_python_tests(built):
    run([sys.executable, "-m", "pytest", "-q", *PYTESTS], PYTHONPATH=str(built / "python"))
