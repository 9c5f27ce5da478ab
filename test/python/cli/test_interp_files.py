"""strata interp: graphs of files."""

import json
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import lang


@strata.kernel(grid=2, block=64)
def scaled(out: lang.Tensor, a: lang.Tensor):
    i = lang.block_idx.x * 64 + lang.thread_idx.x
    out[i] = a[i] * 3


@strata.kernel(grid=1, block=64)
def crossed(out: lang.Tensor, a: lang.Tensor):
    i = lang.thread_idx.x
    held = lang.shared(64, "float32")
    held[i] = a[i]
    out[i] = held[63 - i]


def interp(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "strata", "interp", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def graph_of(kernel, path, size=128):
    of = kernel.graph(lang.TensorSpec(size), lang.TensorSpec(size))
    path.write_text(of.to_json())


@pytest.mark.parametrize("level", [None, "kernel", "linear"])
def test_a_kernel_of_a_file_runs_at_each_level(tmp_path, level):
    graph_of(scaled, tmp_path / "graph.json")
    of = ["--level", level] if level else []
    words = ["--arg", "f32[128]", "--arg", "f32[128]=arange", "--grid", "2", "--save", "0=out.npy"]
    done = interp("graph.json", *of, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "0: f32[128]: [ 0.,  3.,  6.,  9., 12., 15., 18., 21.] ..."
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.arange(128, dtype="float32") * 3)


def test_a_kernel_runs_by_the_grid_that_its_graph_was_asked_for(tmp_path):
    graph_of(scaled, tmp_path / "graph.json")
    launch = json.loads((tmp_path / "graph.json").read_text())["launch"]
    assert launch == {"grid": [2, 1, 1], "block": [64, 1, 1]}
    done = interp("graph.json", "--arg", "f32[128]", "--arg", "f32[128]=1", "--save", "0=out.npy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.full(128, 3, "float32"))


def test_what_is_no_json_is_one_line(tmp_path):
    (tmp_path / "graph.json").write_text('{"nodes": ')
    done = interp("graph.json", cwd=tmp_path)
    assert done.returncode == 1 and "JSONDecodeError: Expecting value" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and "At:" not in done.stderr
    with pytest.raises(strata.UsageError) as error:
        strata.uop.from_dict({"nodes": [{"op": 1}]})
    assert len(str(error.value).splitlines()) == 1


def test_an_artifact_gives_its_graph(tmp_path):
    (tmp_path / "made").mkdir()
    graph_of(scaled, tmp_path / "made/graph.json")
    words = ["--arg", "f32[128]", "--arg", "f32[128]=1", "--grid", "2"]
    assert "[3., 3., 3.," in interp("made", *words, cwd=tmp_path).stdout


def test_a_missing_barrier_is_an_error(tmp_path):
    graph_of(crossed, tmp_path / "graph.json", 64)
    done = interp("graph.json", "--arg", "f32[64]", "--arg", "f32[64]=arange", cwd=tmp_path)
    assert done.returncode == 1 and "put a barrier between them" in done.stderr and "load" in done.stderr


def test_wrong_files_and_arguments_are_said(tmp_path):
    graph_of(scaled, tmp_path / "graph.json")
    (tmp_path / "wrong.json").write_text("{}")
    for words, said in [
        (["graph.json", "--grid", "2"], "as argument 0, and 0 were given"),
        (["graph.json", "--arg", "3", "--grid", "2"], "argument 0 is no tensor"),
        (
            ["graph.json", "--arg", "i32[128]", "--arg", "f32[128]", "--grid", "2"],
            "argument 0 has 128 elements of int32",
        ),
        (["graph.json", "--arg", "f32[8]", "--arg", "f32[128]", "--grid", "2"], "which has 8"),
        (["wrong.json"], "no graph"),
        (["nothing.json"], "nothing.json"),
    ]:
        done = interp(*words, cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)


def test_a_graph_is_read_as_it_was_written(tmp_path):
    graph_of(scaled, tmp_path / "graph.json")
    assert json.loads((tmp_path / "graph.json").read_text())["nodes"][-1]["op"] == "sink"
