"""The script that runs other projects' kernels as they are, on projects of our own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "drop_in" / "fetch.py"
HEAD = "project commit path kernel grid block lds options arguments expect".split()
sys.path.insert(0, str(SCRIPT.parent))


def git(folder, *arguments):
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def project(folder, files):
    """A repository with these files; its commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


def fetch(folder, rows, *arguments, head=HEAD):
    (folder / "table.tsv").write_text("\n".join("\t".join(cells) for cells in [head, *rows]) + "\n")
    command = [sys.executable, SCRIPT, folder / "farm", "--table", folder / "table.tsv", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.splitlines()


def test_every_row_of_the_table_is_whole():
    from rows import expanded, projects_of, read_table

    table = SCRIPT.with_name("drop_in.tsv")
    rows = read_table(table)
    assert len(rows) > 60
    for row in rows:
        assert set(HEAD) <= row.keys() and None not in row.values() and None not in row, row
        assert row["path"] and row["kernel"] and row["grid"] and row["block"]
        for name, commit in projects_of(expanded(row, table)):
            assert name.count("/") == 1 and len(commit) == 40, row


def test_kernels_run_as_they_stand_in_their_repositories(tmp_path):
    theirs = project(tmp_path / "farm" / "they" / "headers", {"include/factor.h": "#define FACTOR 5\n"})
    source = """
        #include "by.h"
        #include <factor.h>
        __constant__ int offset[2];
        struct View { float* data; short from; int count; };
        template <class T> __global__ void scale(T* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= BY; }
        __global__ void shift(const float* x, View out) {
            if (threadIdx.x < out.count) out.data[out.from + threadIdx.x] = x[threadIdx.x] * FACTOR + offset[1];
        }
        """
    mine = project(tmp_path / "farm" / "me" / "mine", {"deep/by.h": "#define BY 3\n", "deep/scale.cpp": source})
    (tmp_path / "options.tsv").write_text(f"name\toptions\ntheirs\t-I{{they/headers@{theirs}}}/include\n")
    row = lambda kernel, arguments, expect, archs="": ["me/mine", mine, "deep/scale.cpp", kernel, "1", "64", "", "+theirs", arguments, expect, archs]  # noqa: E731
    rows = [
        row("scale<float>", "f32[64]=arange 32", "a0 = np.where(np.arange(64) < 32, 3 * a0, a0) ; a0[4:6] ~1e-3 = [12, 15]"),
        row("scale<float>", "f32[64]=arange 32", "a0 = 4 * a0"),
        row("nothing<float>", "f32[64]=arange 32", ""),
        row("shift", "offset<-i32[2]=[0,7] f32[20]=rng.random(20) (f32[30];i16:6;i32:20)", "a2[6:26] = a1 * 5 + 7 ; a2[:6] = np.zeros(6)"),
        row("scale<int>", "i32[64] 1", "", "gfx942"),
        row("scale<double>", "f64[64] 1", ""),
    ]
    status, lines = fetch(tmp_path, rows, "--jobs", "2", head=[*HEAD, "archs"])
    assert status == 2 and lines[-1] == "3 as they are, 2 not", lines
    assert [line.split("gfx1100")[1].split(":")[0].strip() for line in lines[1:7]] == ["yes, right", "no", "no", "yes, right", "not for this arch", "yes, ran"]
    assert "no: Not equal" in lines[2] and "no kernel 'nothing<float>'" in lines[3]
    assert lines[9].split() == ["me/mine", "6", "2", "/", "1", "/", "2"]


def test_a_row_that_does_not_end_is_one_that_failed(tmp_path, monkeypatch):
    import fetch as script

    monkeypatch.setattr(script, "SECONDS", 0.01)
    row = dict.fromkeys(HEAD, "") | {"project": "me/mine", "commit": "0" * 40}
    assert script.outcome_of(row, "gfx1100", tmp_path) == ("no", "no end after 0.01 s")


@pytest.mark.parametrize("text, size, values", [
    ("i8:5;i16:300;i32:7", 8, [("b", 0, 5), ("h", 2, 300), ("i", 4, 7)]),
    ("u8:1;(f64:2;u8:3);i32:4", 32, [("B", 0, 1), ("d", 8, 2), ("B", 16, 3), ("i", 24, 4)]),
    ("bytes:0102;none;f32:0.5", 24, [("B", 1, 2), ("Q", 8, 0), ("f", 16, 0.5)]),
])
def test_structs_are_laid_out_as_c_does(text, size, values):
    import struct

    from rows import Values

    data = Values().one(f"({text})")
    assert len(data) == size
    assert [(code, at, struct.unpack_from(code, data, at)[0]) for code, at, _ in values] == values


def test_references_agree_with_each_other():
    import references as r

    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 5, 7))
    identity = np.eye(3)[:, :, None, None]
    assert np.allclose(r.transposed_convolution(x, identity, 2)[:, ::2, ::2], x)
    assert np.allclose(np.linalg.norm(r.rotated(x[..., :6], np.arange(5)), axis=-1), np.linalg.norm(x[..., :6], axis=-1))
    assert np.allclose(r.hadamard(8) @ r.hadamard(8).T, 8 * np.eye(8))
    assert np.allclose(r.bilinear(x, 5, 7), x)
    for size, halves, unpack in ((18, (0,), r.from_q4_0), (20, (0, 2), r.from_q4_1), (34, (0,), r.from_q8_0), (144, (0, 2), r.from_q4_k)):
        blocks = r.blocks(rng, 4, size, *halves)
        assert np.isfinite(unpack(blocks)).all() and unpack(blocks).std() > 0
    flat = rng.standard_normal(64).astype("float32")
    assert np.abs(r.from_q8_0(np.delete(r.to_q8_1(flat), [2, 3], 1)).ravel() - flat).max() < 0.02
    assert np.array_equal(r.to_e4m3(np.array([0.0, 1.0, -2.0, 448.0, 0.001953125])), [0, 0x38, 0xC0, 0x7E, 1])
