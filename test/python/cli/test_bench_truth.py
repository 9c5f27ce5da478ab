"""strata bench model --truth: what it reads of a checkout, and what it makes of the times."""

import shutil

import pytest
import strata
from strata_tools.bench import truth

RUNS = r"""#!/bin/bash
run_bench() {
    local name="$1"; shift
}
# A comment: run_bench nothing "--size 1"
run_bench stream \
    "--size 1024" \
    "--size 4096"
for width in 8 16; do
    for depth in 2 3; do
        run_bench table "--width ${width} --depth ${depth}"
    done
done
run_bench last "--size 1"
"""
TIMES = (
    "kernel_name,problem_size,iterations,avg_ms,min_ms,max_ms\nstream,1024,51,0.005,0.004,0.01\n"
    "table,8,51,0.02,0.01,0.03\ntable,8,51,0.03,0.01,0.03\n"
)
PROGRAM = r"""#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void doubled(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
int main(int, char** argv) {
    const int n = std::atoi(argv[4]);
    float *x, ms; hipEvent_t start, stop;
    hipMalloc(&x, n * sizeof(float)); hipEventCreate(&start); hipEventCreate(&stop);
    hipEventRecord(start, 0); doubled<<<(n + 255) / 256, 256>>>(x, n); hipEventRecord(stop, 0); hipEventSynchronize(stop);
    hipEventElapsedTime(&ms, start, stop);
    std::printf("kernel_name,problem_size,iterations,avg_ms,min_ms,max_ms\nstream,%d,1,%.4f,%.4f,%.4f\n", n, ms, ms, ms);
}
"""  # noqa: E501


def checkout(folder, runs=RUNS, times=TIMES, **programs):
    scripts = folder / "gpu_perf_scripts"
    scripts.mkdir()
    for name, text in {
        "run_all.sh": runs,
        "mi300a.csv": times,
        **{f"{name}.cpp": text for name, text in programs.items()},
    }.items():
        (scripts / name).write_text(text)
    return scripts


def test_sizes_are_those_of_the_script_with_its_loops(tmp_path):
    assert list(truth.sizes(checkout(tmp_path) / "run_all.sh")) == [
        ("stream", ["--size", "1024"]),
        ("stream", ["--size", "4096"]),
        *(("table", ["--width", w, "--depth", d]) for w in ("8", "16") for d in ("2", "3")),
        ("last", ["--size", "1"]),
    ]


def test_runs_of_one_name_keep_their_order(tmp_path):
    assert truth.measured(checkout(tmp_path) / "mi300a.csv") == {
        ("stream", "1024"): [0.005],
        ("table", "8"): [0.02, 0.03],
    }


def test_errors_are_weighted_by_time_and_ranks_are_of_all_runs():
    runs = [(0.005, 0.05), (0.1, 0.11), (0.3, 0.27)]
    assert truth.summary(runs) == {
        "runs": 3,
        "weighted_error_percent": 10.0,
        "modelled_of_measured": 2.147,
        "rank_correlation": 1.0,
    }
    assert truth.spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert truth.spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert truth.spearman([1, 1, 2], [1, 1, 2]) == pytest.approx(1) and truth.spearman([1, 2], [3, 3]) is None


def test_another_folder_is_refused_with_what_makes_the_right_one(tmp_path):
    with pytest.raises(strata.UsageError, match="scripts/model_truth"):
        truth.bench_truth(tmp_path)


@pytest.mark.skipif(not shutil.which("clang++-19"), reason="needs clang-19, rocm-device-libs and libamdhip64-dev")
def test_programs_run_as_they_are_beside_their_times(tmp_path):
    runs = 'run_bench stream \\\n "--size 1024" \\\n "--size 65536" \\\n "--size 1048576"\n'
    times = (
        TIMES.split("\n")[0]
        + "\nstream,1024,51,0.005,0.004,0.01\nstream,65536,51,0.006,0.004,0.01\nstream,1048576,51,0.9,0.9,1\n"
    )
    checkout(tmp_path, runs, times, stream=PROGRAM)
    result = truth.bench_truth(tmp_path)
    shown = result["benchmarks"]["stream"]["sizes"]
    assert [(run["size"], run["measured_ms"]) for run in shown] == [("1024", 0.005), ("65536", 0.006)], (
        "the third takes too long"
    )
    assert all(0.001 < run["modelled_ms"] < 0.02 for run in shown) and result["all"]["runs"] == 2
    assert "| stream | 2 |" in truth.table(result)
