"""Kernels of language models beside their aims: every row has figures, and what `strata bench llm` prints."""

import json
import subprocess
import sys

import pytest
import strata
from strata_tools.bench import llm, pages, programs
from strata_tools.bench.llm_rows import ROWS

CHOSEN = list(programs.rows(programs=ROWS))
LONG = "fused_moe, 2 of 8, bfloat16 1024x2048x1024x8x2"  # all of its workgroups run: 8 s


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "strata", "bench", *arguments], capture_output=True, text=True)


@pytest.mark.emulated
@pytest.mark.parametrize(
    "number", [i for i, (name, *_) in enumerate(CHOSEN) if name != LONG], ids=lambda i: CHOSEN[i][0]
)
def test_a_row_has_figures(number):
    arch = llm.ARCHS[number % len(llm.ARCHS)]
    (row,) = programs.figures(strata, arch, [CHOSEN[number]], lambda *_: None, llm.beside_aims).values()
    assert "failed" not in row, row
    assert row["kernels"] >= 1 and row["us"] > 0
    assert 0 < row.get("share", 0.5) < 1.1


def test_rows_have_names_of_their_own_and_aims():
    assert len({name for name, *_ in CHOSEN}) == len(CHOSEN) >= 40
    assert all((row.aims is None) != (row.aim_us is None) for row in ROWS)


def test_more_kernels_than_the_row_may_take_miss_the_aim():
    row = {"share": 0.9, "aim": 0.8, "kernels": 1, "allowed": 1, "us": 5.0}
    assert llm.reached(row)
    assert not llm.reached(row | {"kernels": 2})
    assert not llm.reached(row | {"share": 0.7})
    assert not llm.reached({"failed": "ShapeError"})
    timed = {"aim_us": 7.0, "kernels": 1, "allowed": 1, "us": 6.9}
    assert llm.reached(timed) and not llm.reached(timed | {"us": 7.1})


def test_figures_are_printed_and_written_as_a_table():
    run = bench("llm", "--arch", "gfx1100", "--arch", "gfx942", "--only", "LAYER_NORM, bfloat16", "--only", "cache[")
    assert (run.returncode, run.stderr) == (0, "")
    of = json.loads(run.stdout)["llm"]
    rows = of["gfx942"]["rows"]
    assert list(rows) == ["layer_norm, bfloat16 4096x8192", "cache[slots] = key, bfloat16 32768x4x1024"]
    assert rows["layer_norm, bfloat16 4096x8192"]["aim"] == 0.9
    table = pages.parsed(llm.table(of))
    assert table["columns"][0] == "row (7900xtx; mi300x)"
    assert [row[0] for row in table["rows"]] == [*rows, "at their aims"]


def test_a_row_that_is_not_there_is_an_error_with_those_there_are():
    run = bench("llm", "--only", "no such thing")
    assert run.returncode == 1
    assert "no row's name contains 'no such thing'; known: layer_norm, rms_norm" in run.stderr
