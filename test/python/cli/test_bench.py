"""strata bench: every benchmark runs, prints JSON and nothing else, and measures something."""

import json
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata_tools.bench import aims, bench_routes, graphs, kernels, lang, model, shapes


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "strata", "bench", *arguments], capture_output=True, text=True)


def numbers(value):
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    return [value] if isinstance(value, (int, float)) else []


@pytest.mark.parametrize(
    "name", ["import", "graph", "compile", "emu", "sum", "beam", "kernels", "lang", "plan", "search", "shapes", "train"]
)
def test_a_benchmark_prints_json_with_the_machine(name):
    run = bench("--quick", name)
    assert (run.returncode, run.stderr) == (0, "")
    out = json.loads(run.stdout)
    assert set(out) == {"machine", name}
    assert out["machine"]["cores"] >= 1 and out["machine"]["cpu"]
    costs = out[name].pop("instructions", {})  # differences of times, which may be lost in noise
    assert all(n >= 0 for n in numbers(costs)) and (name != "emu" or max(numbers(costs)) > 1)
    assert out[name].get("small", {}).pop("compilations_from_the_third_number", 0) == 0
    assert numbers(out[name]) and all(n > 0 for n in numbers(out[name]))


def test_compilation_is_measured_on_the_route_that_is_named():
    routes = bench_routes(quick=True)
    assert routes["rendered, subprocess"]["route"] == "clang (subprocess)"
    assert routes["hip_runtime.h, precompiled"]["route"] == "clang (subprocess)"
    assert routes["rendered, in process"]["route"].startswith("clang (")


def test_products_of_the_language_are_measured_beside_the_scheduler_s():
    result = json.loads(bench("--quick", "lang").stdout)["lang"]
    assert result["products_tflop_per_s"].keys() == {f"gfx942 {name}" for name in ("float32", "float16", "bfloat16")}
    for speed in result["products_tflop_per_s"].values():
        assert 0.5 * speed["scheduler"] < speed["lang"] < 2 * speed["scheduler"], speed
    assert result["lines"]["vecadd"] == 5 and result["lines"]["matmul"] <= 30


@pytest.mark.parametrize("arch, dtype", lang.TILES)
def test_products_that_are_measured_are_right(arch, dtype, rng):
    """At a size of one tile along m and n."""
    function, tile = lang.TILES[arch, dtype]
    m, n, depth = tile[0], tile[1], 2 * tile[2]
    with strata.config(device=f"emu:{arch}", check="raise"):
        a, b = (strata.Tensor(rng.integers(0, 4, (r, depth)).astype("float32")).cast(dtype) for r in (m, n))
        kernel = lang.kernels.product(function, tile, strata.arch(arch).wave_size)
        (c,) = kernel(strata.Tensor.zeros(m, n), a, b, tile)
        wanted = a.cast("float32").numpy() @ b.cast("float32").numpy().T
        assert np.array_equal(c.numpy(), wanted)


def test_the_model_is_measured_against_published_figures_with_their_source_and_its_error():
    run = bench("--quick", "model")
    assert (run.returncode, run.stderr) == (0, "")
    rows = json.loads(run.stdout)["model"]["7900xtx"]
    assert len(rows) >= 6 and all(row["source"] and row["unit"] for row in rows)
    for row in rows:
        assert row["error_percent"] == pytest.approx(100 * (row["modelled"] / row["published"] - 1), abs=0.3)
        assert abs(row["error_percent"]) < 70, row
    products = [row["modelled"] for row in rows if row["what"].startswith("f32 product")]
    assert products[0] < products[1] < min(products[2:]), "naive, tiles in LDS, tiles in registers"


def test_a_row_of_a_library_says_whose_kernel_is_modelled():
    rows = [row for _, card in model.CARDS.values() for row in card]
    assert {what for what, *_ in rows if "rocBLAS" in what or "PyTorch" in what} and all(
        "modelled: Strata's own" in what for what, *_ in rows if "rocBLAS" in what or "PyTorch" in what
    )
    assert all(published > 0 and ("github.com/" in source or "AMD, " in source) for _, _, published, source, _ in rows)


def test_the_search_is_compared_with_annealing_over_as_many_schedules():
    row = json.loads(bench("--quick", "search").stdout)["search"]["matmul 256"]
    assert row["beam_ms"] <= row["start_ms"] and row["annealed_ms"] <= row["start_ms"] and row["beam_candidates"] > 8


def test_random_shapes_are_the_same_of_one_seed_and_of_every_family():
    first, again, others = ([case[1] for case in shapes.cases(24, seed, quick=True)] for seed in (5, 5, 6))
    assert first == again and len(set(first) & set(others)) < 3
    assert {case[0] for case in shapes.cases(6, 5, quick=True)} == set(shapes.FAMILIES)


def test_random_shapes_stand_beside_their_least_time_and_a_search_the_worst_first():
    run = bench("--quick", "--cases", "6", "--seed", "3", "--beam", "shapes")
    assert (run.returncode, run.stderr) == (0, "")
    result = json.loads(run.stdout)["shapes"]
    assert (
        result["seed"] == 3
        and len(result["cases"]) == 6
        and {row["family"] for row in result["cases"]} == set(shapes.FAMILIES)
    )
    times = [row["times_least"] for row in result["cases"]]
    assert times == sorted(times, reverse=True)
    for row in result["cases"]:
        assert (
            row["times_least"] == pytest.approx(row["modelled_ms"] / row["least_ms"], abs=0.02)
            and row["least_ms"] > result["launch_ms"]
        )
        assert row["beam_ms"] <= 1.001 * row["modelled_ms"] and row["times_beam"] == pytest.approx(
            row["modelled_ms"] / row["beam_ms"], abs=0.02
        )
    assert [
        line[: len(row["what"])]
        for line, row in zip(shapes.table(result).splitlines()[1:], result["cases"], strict=True)
    ] == [row["what"] for row in result["cases"]]


def test_the_least_time_is_of_the_bytes_or_of_the_operations_whichever_is_longer():
    with strata.config(emu_sampled=True):
        memory = shapes.one("", "sum", [(1 << 20,)], lambda x: x.sum(), 0, 0.0, False)
    assert memory["least_ms"] == pytest.approx((4 * (1 << 20) + 4) / 960e9 * 1e3, abs=1e-5)
    with strata.config(emu_sampled=True):
        work = shapes.one("", "product", [(1024, 1024)] * 2, lambda a, b: a @ b, 2 * 1024**3, 0.0, False)
    assert work["least_ms"] == pytest.approx(2 * 1024**3 / 61.4e12 * 1e3, abs=1e-5)


def test_figures_of_tinygrad_stand_beside_the_rows_of_their_name():
    shown = graphs.table(
        {
            "transformer": {"again_ms": 2.5, "launches": 86},
            "small": {"first_number_ms": 1.5},
            "tinygrad": {"version": "1", "transformer": {"again_ms": 120.25}, "small": {"error": "no clang"}},
        }
    )
    lines = [line.split() for line in shown.splitlines()]
    assert (
        ["again", "ms", "2.5", "120.25"] in lines
        and ["launches", "86"] in lines
        and ["transformer", "strata", "tinygrad"] in lines
    )
    assert "tinygrad: no clang" in shown and ["first", "number", "ms", "1.5"] in lines


def test_rows_say_whether_their_aim_is_met_and_how_far_off_they_are():
    result = {
        "transformer": {"again_ms": 2.5, "in_a_new_process_ms": 25.0, "to_text_ms": 60.0, "kernels": 91},
        "small": {"compilations_from_the_third_number": 1, "sum_with_a_new_number_us": 20.0},
        "kernels": {
            "var": {"kernels": 1, "gb_per_s": 810.0},
            "matmul 1024 float32": {"tflop_per_s": 40.0, "searched": {"tflop_per_s": 45.0, "seconds": 6.0}},
        },
        "searches": {"gelu": {"cold_s": 1.0, "known_s": 1.5}},
        "tinygrad": {"transformer": {"again_ms": 120.25, "kernels": 173}, "small": {"error": "no clang"}},
    }
    rows = {row["what"]: row for row in aims.aims(result)}
    missed = {what: row["off_percent"] for what, row in rows.items() if row["met"] is False}
    assert missed == {
        "the same from disk, in a new process": 25.0,
        "its kernels": 1.1,
        "var": -10.0,
        "matmul 1024 float32, its search": 20.0,
        "beam=2, known: gelu": 50.0,
        "(x + k).sum(), the third new number k: compilations": None,
    }
    assert (
        rows["transformer of 12 layers, seen before"]["tinygrad"] == 120.25 and rows["its kernels"]["tinygrad"] == 173
    )
    lines = aims.table(list(rows.values())).splitlines()
    assert [line.split()[-2:] for line in lines if line.startswith("var  ")] == [["off", "-10.0%"]]
    assert sum(line.endswith("met") or line.endswith("120.2") for line in lines) == 6


def test_an_unknown_benchmark_is_named_with_those_there_are():
    run = bench("nothing")
    assert run.returncode != 0
    assert "nothing" in run.stderr and "emu" in run.stderr


def test_lowering_measures_every_kernel_through_both_targets_and_their_values_agree():
    run = bench("--quick", "--arch", "gfx1100", "lowering")
    assert (run.returncode, run.stderr) == (0, "")
    out = json.loads(run.stdout)["lowering"]
    assert list(out["archs"]) == ["gfx1100"]
    kernels = out["archs"]["gfx1100"]["kernels"]
    assert len(kernels) == 24
    assert {name: k["error"] for name, k in kernels.items() if "error" in k} == {}
    for name, k in kernels.items():
        for target in ("hip", "asm"):
            assert (
                min(
                    k[target][what]
                    for what in (
                        "kernels",
                        "compile_ms",
                        "modelled_ms",
                        "wave_instructions",
                        "vgprs",
                        "sgprs",
                        "code_bytes",
                    )
                )
                > 0
            ), name
        assert k["hip"]["kernels"] == k["asm"]["kernels"] and k["hip"]["subprocess_ms"] > 0, name
        assert k["ratio"]["modelled"] == pytest.approx(k["asm"]["modelled_ms"] / k["hip"]["modelled_ms"], abs=1e-3)
    overview = out["archs"]["gfx1100"]["all"]
    assert overview["measured"] == 24 and min(numbers(overview["modelled"])) > 0
    assert min(numbers(out["first_result_ms"])) > 0 and min(numbers(out["sum_2^24_float32"])) > 0
    assert out["searches"] and min(numbers(out["searches"])) > 0


def test_lowering_counts_no_kernel_whose_values_differ_between_the_targets():
    from strata_tools.bench import lowering

    same = np.array([1.0, 2.0, np.nan])
    assert lowering.distance(same, same.copy()) == 0
    assert lowering.distance(same, np.array([1.0, np.nan, 2.0])) == float("inf")
    assert lowering.distance(np.array([4.0]), np.array([5.0])) == pytest.approx(0.2)
    make, _ = lowering.KERNELS["softmax"]
    with strata.config(device="emu:gfx1100"), pytest.raises(strata.InternalError, match="apart"):
        lowering.one_kernel(lambda inputs: Shifting(make(inputs)), 1e-5, "gfx1100", quick=True)


class Shifting:
    """A kernel whose values are others once direct lowering compiles it."""

    def __init__(self, call):
        self.call = call

    def __call__(self):
        return self.call() * (0.5 if strata.settings()["target"] == "asm" else 0.25)


def test_lowering_refuses_figures_of_targets_that_ran_different_schedules():
    from strata_tools.bench import lowering

    with strata.config(device="emu:gfx1100"), pytest.raises(strata.InternalError, match="different schedules"):
        make = lambda inputs: lambda: inputs.floats(64, 64 if strata.settings()["target"] == "asm" else 32).sum(axis=1)  # noqa: E731
        lowering.one_kernel(make, 1e-5, "gfx1100", quick=True)


def test_a_table_of_lowering_has_a_line_a_kernel():
    run = bench("--quick", "--arch", "gfx942", "--table")
    assert (run.returncode, run.stderr) == (0, "")
    from strata_tools.bench import lowering

    for name in lowering.KERNELS:
        assert sum(line.startswith(name.ljust(18)) for line in run.stdout.splitlines()) == 1, name
    assert "geometric mean" in run.stdout and "sum of 2^24" in run.stdout


def test_a_table_of_kernels_has_a_line_each():
    run = bench("--quick", "--table", "kernels")
    assert (run.returncode, run.stderr) == (0, "")
    for row in kernels.QUICK:
        assert sum(line.startswith(row.ljust(22)) for line in run.stdout.splitlines()) == 1, row


def test_a_kernel_whose_values_are_wrong_is_no_figure():
    program = ([(4, 4)], "float32", lambda x: x + 1, lambda x: x + 2, 1, 0)
    with pytest.raises(strata.Error, match="wrong by"):
        kernels.measured(*program, search=False)


def test_a_table_of_compilation_has_a_line_a_row():
    run = bench("--quick", "--table", "compile")
    assert (run.returncode, run.stderr) == (0, "")
    for row in (
        "transformer of 12 layers, seen before",
        "softmax, kernels",
        "beam=2, known: softmax",
        "to text ms",
        "again ms",
        "in a new process ms",
        "24 layers to 12",
        "sum with a new number us",
    ):
        assert sum(line.strip().startswith(row) for line in run.stdout.splitlines()) == 1, row
