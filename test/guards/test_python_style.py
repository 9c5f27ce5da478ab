"""Python looks as ruff writes it and passes its checks; [tool.ruff] of pyproject.toml says which."""

import subprocess
import sys

from tree import CHECKOUT, make_tree

FORMATTED = ["python", "tools"]


def ruff(root, *arguments):
    """What ruff finds wrong, "" for nothing."""
    run = subprocess.run([sys.executable, "-m", "ruff", *arguments], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0 or run.returncode == 1 and run.stdout, run.stderr  # 1 without findings: ruff did not start
    return run.stdout if run.returncode else ""


def test_python_is_formatted():
    assert not ruff(CHECKOUT, "format", "--no-cache", "--check", *FORMATTED), "ruff format " + " ".join(FORMATTED)


def test_python_passes_the_checks():
    assert not ruff(CHECKOUT, "check", "--no-cache", "--output-format", "concise", *FORMATTED)


def test_what_is_not_formatted_or_unused_is_found(tmp_path):
    tree = make_tree(tmp_path, {"a.py": "import os\n", "b.py": "x = {1:2}\n", "c.py": "x = {1: 2}\n"})
    assert "F401" in ruff(tree.root, "check", "--no-cache", ".")
    unformatted = ruff(tree.root, "format", "--no-cache", "--check", ".")
    assert "b.py" in unformatted and "c.py" not in unformatted
