"""Python looks as ruff writes it and passes its checks; [tool.ruff] of pyproject.toml says which."""

import subprocess
import sys

from tree import CHECKOUT, Tree, make_tree


def python_files(tree):
    """Files of the tree that Python reads: by their suffix, or by their first line."""
    plain = [
        f
        for f in tree.files
        if "." not in f.rsplit("/", 1)[-1] and tree.text(f).startswith("#!") and "python" in tree.text(f).split("\n")[0]
    ]
    return [f for f in tree.files if f.endswith((".py", ".pyi"))] + plain


def ruff(root, *arguments):
    """The findings of ruff, "" for none."""
    run = subprocess.run([sys.executable, "-m", "ruff", *arguments], cwd=root, capture_output=True, text=True)
    started = run.returncode == 0 or (run.returncode == 1 and run.stdout)  # 1 is findings, which are printed
    assert started, run.stderr
    return run.stdout if run.returncode else ""


def test_python_is_formatted():
    unformatted = ruff(CHECKOUT, "format", "--no-cache", "--check", *python_files(Tree(CHECKOUT)))
    assert not unformatted, unformatted + "ruff format writes them right"


def test_python_passes_the_checks():
    assert not ruff(CHECKOUT, "check", "--no-cache", "--output-format", "concise", *python_files(Tree(CHECKOUT)))


def test_what_is_not_formatted_or_unused_is_found(tmp_path):
    tree = make_tree(tmp_path, {"a.py": "import os\n", "b.py": "x = {1:2}\n", "c.py": "x = {1: 2}\n"})
    assert "F401" in ruff(tree.root, "check", "--no-cache", ".")
    unformatted = ruff(tree.root, "format", "--no-cache", "--check", ".")
    assert "b.py" in unformatted and "c.py" not in unformatted


def test_programs_without_a_suffix_are_found(tmp_path):
    tree = make_tree(
        tmp_path, {"a.py": "", "run": "#!/usr/bin/env python3\n", "setup": "#!/bin/sh\n# python\n", "b.md": "#!python"}
    )
    assert python_files(tree) == ["a.py", "run"]
