"""libstrata.so.1: what it exports, its header, and programs that are built on it where it was installed, and moved."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import strata

BUILD, SOURCE = Path(strata.__file__).parents[2], Path(__file__).parents[3]
LIBRARY, HEADER = BUILD / "lib/libstrata.so.1", SOURCE / "bindings/c/strata/strata.h"
FROZEN = Path(__file__).parent / "abi_1"  # the header as version 1 has it, and a program of it: never changed
pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(not LIBRARY.exists(), reason="the library for C is not built"),
]
# Bytes of structs and numbers of names in version 1, which does not change them.
ABI_1 = {
    "sizeof(strata_tensor)": 152, "sizeof(strata_error)": 40, "sizeof(strata_options)": 32,
    "sizeof(strata_preference)": 32, "sizeof(strata_operand)": 176, "sizeof(strata_precision)": 24,
    "sizeof(strata_counters)": 40, "STRATA_ABI": 1, "STRATA_OK": 0, "STRATA_UNSUPPORTED": 3, "STRATA_INTERNAL": 14,
    "STRATA_BOOL": 1, "STRATA_FLOAT16": 10, "STRATA_FLOAT32": 12, "STRATA_FP8E5M2FNUZ": 17,
}  # fmt: skip
COMPILER = shutil.which("clang-19") or shutil.which("cc")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def declared(header=HEADER):
    return set(re.findall(r"\b(strata_[a-z_]+)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)))


def test_the_library_exports_what_the_header_declares_and_nothing_else():
    symbols = [line.split() for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()]
    exported = {words[2] for words in symbols if words[1] != "A"}
    assert exported == {f"{name}@@STRATA_1" for name in declared()}


def test_the_library_exports_all_that_the_frozen_header_of_abi_1_declares():
    exported = run("nm", "-D", "--defined-only", LIBRARY)
    frozen = declared(FROZEN / "strata/strata.h")
    assert len(frozen) > 40 and not [name for name in frozen if f" {name}@@STRATA_1\n" not in exported]


@pytest.mark.skipif(not COMPILER, reason="there is no compiler for C")
def test_a_program_of_the_frozen_header_of_abi_1_runs_on_this_library(tmp_path):
    program = tmp_path / "program"
    run(COMPILER, "-std=c99", f"-I{FROZEN}", FROZEN / "program.c", LIBRARY, "-lm", "-o", program)
    assert "below 1e-6" in run(program, env={"LD_LIBRARY_PATH": str(LIBRARY.parent), "HOME": str(tmp_path)})


@pytest.mark.skipif(not COMPILER, reason="there is no compiler for C")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_is_c99_and_cxx17(tmp_path, language):
    source = tmp_path / "use"
    source.write_text(
        '#include "strata/strata.h"\n'
        + "".join(f"typedef char frozen_{i}[{of} == {n} ? 1 : -1];\n" for i, (of, n) in enumerate(ABI_1.items()))
        + ('#include "strata/strata.hpp"\n' if language == "c++" else "")
    )
    flags = {"c": "-std=c99", "c++": "-std=c++17"}[language]
    run(COMPILER, "-x", language, flags, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
        f"-I{HEADER.parents[1]}", source)  # fmt: skip


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    first, then = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("then") / "strata"
    run("cmake", "--install", BUILD, "--prefix", first, "--component", "c")
    return Path(shutil.move(first, then))


@pytest.mark.skipif(not COMPILER or not shutil.which("cmake"), reason="there is no compiler for C, or no cmake")
def test_the_examples_are_built_of_it_and_run_without_python(prefix, tmp_path):
    run("cmake", "-S", SOURCE / "examples/embed", "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={COMPILER}")  # fmt: skip
    run("ninja", "-C", tmp_path)
    nothing = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    for arch in ("gfx1100", "gfx942"):
        assert run(tmp_path / "swiglu", f"emu:{arch}", env=nothing) == (
            f"strata {strata.__version__} on {arch}: 1 launch, error below 1e-6\n"
        )
    assert run(tmp_path / "product", env=nothing) == "3 * 5 = 15\nINVALID of 'b': needs 3, got 4\n"
    failed = subprocess.run([tmp_path / "swiglu", "emu:gfx0"], capture_output=True, text=True, env=nothing)
    assert failed.returncode == 1 and failed.stderr.startswith("DEVICE: ")


@pytest.mark.skipif(
    not COMPILER or not shutil.which("pkg-config"), reason="there is no compiler for C, or no pkg-config"
)
def test_pkg_config_says_how_to_build_with_it(prefix, tmp_path):
    folder = next(prefix.rglob("strata.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "strata", env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
    run(COMPILER, "-std=c99", SOURCE / "examples/embed/swiglu.c", *flags.split(), "-lm", "-o", tmp_path / "swiglu")
    libraries = next(prefix.rglob("libstrata.so.1")).parent
    assert "below 1e-6" in run(tmp_path / "swiglu", env={"LD_LIBRARY_PATH": str(libraries), "HOME": str(tmp_path)})


def test_the_page_quotes_the_example():
    page, example = (SOURCE / "docs/embedding.md").read_text(), (SOURCE / "examples/embed/swiglu.c").read_text()
    blocks = re.findall(r"```c\n(.*?)```", page, re.S)
    assert blocks and all(block in example for block in blocks)
