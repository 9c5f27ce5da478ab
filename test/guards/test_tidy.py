"""clang-tidy finds no bug in the headers, all of them in one translation unit; `test/run --tidy` looks at the sources
too.
"""

import json
import re
import shlex
import subprocess

import pytest
from tree import CHECKOUT, LAYERS, Tree

COMMANDS = CHECKOUT / "build/release/compile_commands.json"


def include_flags():
    """Include folders of the product's targets: the roots that the build made of every folder, and what is outside of
    the tree."""
    flags = {f"-I{root}": None for root in sorted((COMMANDS.parent / "include_roots").iterdir())}
    for entry in json.loads(COMMANDS.read_text()):
        words = iter(shlex.split(entry["command"]))
        flags |= {"-isystem" + next(words): None for word in words if word == "-isystem"}
    return list(flags)


def tidy(file, *flags):
    command = [
        "clang-tidy-19",
        "--quiet",
        f"--config-file={CHECKOUT}/.clang-tidy",
        "--warnings-as-errors=*",
        str(file),
        "--",
        "-std=c++20",
        *flags,
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode, re.sub(rf"\S*/include_roots/\w+/strata/|{CHECKOUT}/", "", run.stdout)


def test_the_headers_have_no_known_bug(tmp_path):
    if not COMMANDS.exists():
        pytest.fail("no build/release/compile_commands.json: run scripts/setup first")
    headers = [f for f in Tree(CHECKOUT).under(*(x for x in LAYERS if x != "bindings"), suffixes=".h")]
    (tmp_path / "headers.cpp").write_text("".join(f'#include "strata/{h}"\n' for h in headers))
    code, said = tidy(tmp_path / "headers.cpp", *include_flags())
    assert code == 0, f"{said}\nMend it; where the check is wrong, `// NOLINT(check): why` at the end of the line."


def test_a_bug_is_found(tmp_path):
    (tmp_path / "core").mkdir()
    (tmp_path / "core/a.h").write_text(
        "#include <string>\ninline auto f(std::string s) { auto t = std::move(s); return s + t; }\n"
    )
    (tmp_path / "a.cpp").write_text('#include "core/a.h"\n')
    code, said = tidy(tmp_path / "a.cpp", f"-I{tmp_path}")
    assert code != 0 and "bugprone-use-after-move" in said
