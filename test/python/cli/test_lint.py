"""strata lint and strata.asm.lint: what is wrong with kernels without running them."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import asm
from strata.asm import rdna3 as r
from strata.cli.lint import image
from strata_tools.mutate import cases
from test_cli import ok, strata as command
from test_custom_kernel import ADD_ONE

EXAMPLES = Path(__file__).parents[3] / "examples"
WAIT = "s_waitcnt vmcnt(0)"
SCALE = """#include <hip/hip_runtime.h>
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
__global__ void sum(float* x) {
    __shared__ float part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) for (int i = 1; i < 64; ++i) x[0] += part[i];
}
"""


def broken():
    assert WAIT in ADD_ONE
    return ADD_ONE.replace(WAIT, "s_nop 0", 1)


def place(text, words):
    """The line number of the first line with these words."""
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


def test_a_clean_file_prints_nothing_and_exits_with_0(tmp_path):
    (tmp_path / "add.s").write_text(ADD_ONE)
    assert ok(command("lint", "add.s", cwd=tmp_path)) == ""
    assert json.loads(ok(command("lint", "add.s", "--json", cwd=tmp_path))) == []


def test_findings_are_lines_of_the_source_and_exit_with_1(tmp_path):
    (tmp_path / "add.s").write_text(broken())
    done = command("lint", "add.s", "--arch", "gfx1100", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert (
        line.startswith("add.s:")
        and "warning: " in line
        and f"fix: {WAIT} before this" in line
        and line.endswith("[missing-wait]")
    )
    at = int(line.split(":")[1])
    assert at > place(broken(), "s_nop 0")  # the use, after where the wait was


def test_code_without_a_kernel_is_an_error_that_says_how_one_is_declared(tmp_path):
    (tmp_path / "bare.s").write_text("s_endpgm\n")
    done = command("lint", "bare.s", "--arch", "gfx1100", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and ".amdhsa_kernel" in done.stderr


def test_json_has_the_places_of_both_instructions(tmp_path):
    (tmp_path / "add.s").write_text(broken())
    done = command("lint", "add.s", "--json", cwd=tmp_path)
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)
    assert finding["kind"] == "missing-wait" and finding["file"] == "add.s" and finding["fix"].startswith(WAIT)
    assert finding["earlier"]["instruction"].startswith("global_load") and finding["earlier"]["line"] < finding["line"]


def test_code_objects_without_line_tables_are_named_by_kernel_and_offset(tmp_path):
    a = asm.Assembler("gfx1100", name="lone", block=32)
    x = a.argument("x")
    a.emit(r.s_load_b64(r.s[4:5], r.s[0:1], x), r.s_mov_b64(r.s[6:7], r.s[4:5]), r.s_endpgm())
    (finding,) = asm.lint(a.finish(1))
    assert finding["kernel"] == "lone" and finding["pc"] == 8 and finding["fix"] == "s_waitcnt lgkmcnt(0) before this"


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_hip_sources_are_compiled_and_what_clang_makes_is_clean(tmp_path, arch):
    (tmp_path / "scale.hip").write_text(SCALE)
    assert ok(command("lint", "scale.hip", "--arch", arch, "--option=-O1", cwd=tmp_path)) == ""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_the_kernels_that_mutants_are_made_of_are_clean_at_every_level(arch, level):
    assert asm.lint(image(cases.HERE / "kernels.hip", [level], arch)) == []


def test_what_strata_makes_of_tensors_is_clean():
    x = strata.Tensor(np.ones((64, 64), "float32"))
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        for kernel in strata.compile(((x @ x).softmax(axis=1) + x.sum()).relu(), arch).kernels:
            assert asm.lint(kernel.code_object) == [], kernel.name


@pytest.mark.parametrize("example", ["01_five_levels.py", "06_typed_assembler.py"])
def test_assembly_of_the_examples_is_clean(example, monkeypatch, capsys):
    made, kernel_of = [], strata._strata._object_kernel
    monkeypatch.setattr(
        strata._strata, "_object_kernel", lambda image, *rest: made.append(image) or kernel_of(image, *rest)
    )
    monkeypatch.setattr("sys.argv", [example])
    runpy.run_path(str(EXAMPLES / example), run_name="__main__")
    assert made
    for code in made:
        assert asm.lint(code) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.s",), "missing.s"),
        (("bad.s",), "AssemblyError"),
        (("bad.co",), "UsageError"),
        (("add.s", "--kernel", "other"), "no kernel 'other'"),
        (("add.s", "--arch", "gfx9999"), "gfx9999"),
    ],
)
def test_what_is_no_code_exits_with_2_and_says_why(tmp_path, arguments, words):
    (tmp_path / "add.s").write_text(ADD_ONE)
    (tmp_path / "bad.s").write_text("no_such_instruction v0\n")
    (tmp_path / "bad.co").write_bytes(b"not an object")
    done = command("lint", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_help_says_what_files_it_takes():
    text = ok(command("lint", "--help"))
    for word in (".hip", ".s", ".co", "--arch", "--json", "exits with 1"):
        assert word in " ".join(text.split())
