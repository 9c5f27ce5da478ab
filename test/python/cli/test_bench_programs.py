"""Composed programs: their values, how near to a card's limit they are, and what `strata bench programs` prints."""

import json
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata_tools.bench import pages, program_shares, programs
from strata_tools.bench.float64 import Float64, Real
from strata_tools.bench.program_rows import Program

HIP_ARCHS = ("gfx1100", "gfx942")


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "strata", "bench", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("number", range(len(programs.PROGRAMS)), ids=lambda i: programs.PROGRAMS[i].name)
def test_values_of_a_program_are_those_of_float64_in_strict_mode(number):
    program = programs.PROGRAMS[number]
    dtypes = list(dict.fromkeys(dtype for dtype, _ in program.at))
    for arch, target, of in [(arch, "asm", dtypes) for arch in programs.ARCHS] + [
        (HIP_ARCHS[number % 2], "hip", dtypes[:1])
    ]:
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            for dtype in of:
                assert programs.wrong(strata, program, dtype) < 1, (arch, target, dtype)


def test_wrong_values_of_a_program_are_noticed():
    scaled = Program("x", "m n", lambda o, x: x * (1 if isinstance(x, Real) else 1.001), {"m": 5, "n": 7}, [])
    assert programs.wrong(strata, scaled, "float32") > 1


def test_there_are_sixty_rows_of_which_none_has_another_ones_name():
    names = [name for name, *_ in programs.rows()]
    assert len(names) == len(set(names)) >= 60
    assert {dtype for _, _, dtype, _ in programs.rows()} == {"float16", "bfloat16", "float32"}


@pytest.mark.parametrize("at", program_shares.pinned(), ids=" ".join)
def test_the_share_of_the_limit_is_the_pinned_one(at):
    text = program_shares.moved(strata, *at, program_shares.pinned()[at])
    assert not text, text


def test_a_share_that_moved_is_told_with_the_command_that_pins_it():
    name = "product, float16 512x512x512"
    now = program_shares.reached(strata, "gfx942", name)
    assert not program_shares.moved(strata, "gfx942", name, now * 1.015)
    assert "--write" in program_shares.moved(strata, "gfx942", name, now * 1.03)


def test_rows_stand_beside_the_limit_of_the_card():
    run = bench("programs", "--arch", "gfx1100", "--only", "Softmax with GRADIENTS", "--only", "gate x up, float16")
    assert (run.returncode, run.stderr) == (0, "")
    of = json.loads(run.stdout)["programs"]["gfx1100"]
    assert len(of["rows"]) == 3 and of["card"] == "7900xtx"
    softmax = of["rows"]["softmax with gradients, float32 8192x2048"]
    assert softmax["limit_ms"] == pytest.approx(3 * 4 * 8192 * 2048 / 960e9 * 1e3, rel=1e-3)
    assert softmax["bytes_over_least"] == pytest.approx(1, abs=0.1) and softmax["limited_by"].startswith("DRAM")
    gate = of["rows"]["gate x up, float16 512x512x1408"]
    assert gate["limit_ms"] == pytest.approx(4 * 512 * 512 * 1408 / 122.8e12 * 1e3, rel=1e-2)
    for row in of["rows"].values():
        assert row["share"] == pytest.approx(row["limit_ms"] / row["ms"], rel=1e-2) and row["peak_over_least"] > 0.9
    shares = [row["share"] for row in of["rows"].values()]
    assert of["geometric_mean"] == pytest.approx(np.prod(shares) ** (1 / 3), rel=1e-3)


def test_the_table_has_a_line_a_row_and_what_limits_it():
    table = pages.parsed(programs.table(programs.bench_programs(False, ("gfx942", "gfx1100"), only=("embedding, ",))))
    assert table["columns"][0] == "program (mi300x; 7900xtx)" and table["columns"][-1] == "limited_by"
    (row,) = [row for row in table["rows"] if row[0].startswith("embedding, bfloat16")]
    assert all(cell.count(";") == 1 for cell in row[1:])
    assert {"geometric mean", "below 0.25", "seconds"} <= {row[0] for row in table["rows"]}


def test_an_unknown_program_is_named_with_those_there_are():
    run = bench("programs", "--only", "no such thing")
    assert run.returncode != 0 and "no such thing" in run.stderr and "gate x up" in run.stderr


def test_a_card_without_torch_has_times_and_peaks_of_its_own():
    (row,) = (row for name, *row in programs.rows() if name.startswith("cumsum, float32 999"))
    with strata.config(device="emu:gfx942", target="asm", emu_sampled=True):
        out = programs.on_card(strata, None, *row, repeat=3)
    assert set(out) == {"ms", "captured_ms", "peak_mib"} and min(out.values()) > 0


def test_a_card_is_asked_for_where_there_is_none():
    run = bench("programs", "--card")
    assert run.returncode != 0 and "STRATA_DEVICE" in run.stderr


@pytest.mark.parametrize("shape, stride, padding, groups", [((2, 4, 6, 5), 1, 1, 1), ((1, 4, 7, 7), 2, 1, 2)])
def test_gradients_of_the_reference_are_slopes(shape, stride, padding, groups):
    rng, o, step = np.random.default_rng(3), Float64(), 1e-6
    x, w = rng.standard_normal(shape), rng.standard_normal((4, 4 // groups, 3, 3))

    def loss(x, w):
        y = o.gelu(o.conv2d(x, w, stride, padding, groups)).mean((2, 3), True)
        return (o.softmax(y[:, :, 0, 0]) / (y * y + 1.0).sqrt()[:, :, 0, 0]).sum()

    leaves = Real(x), Real(w)
    for i, g in enumerate(o.gradients(loss(*leaves), leaves)):
        d = rng.standard_normal(g.shape)
        ends = [loss(*(Real(a + s * step * d if j == i else a) for j, a in enumerate((x, w)))).value for s in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx((g.value * d).sum(), rel=1e-6)
