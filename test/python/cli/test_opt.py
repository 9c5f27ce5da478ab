"""strata opt, and graphs as JSON and text."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Tensor, lang, uop


@strata.kernel(grid=4, block=64)
def scale(out: lang.Tensor, a: lang.Tensor):
    i = lang.block_idx.x * 64 + lang.thread_idx.x
    for k in lang.range(3):
        out[i * 3 + k] = a[i * 3 + k] * 2  # here


def graph():
    return scale.graph(lang.TensorSpec(768), lang.TensorSpec(768))


def opt(*arguments, given=""):
    return subprocess.run(
        [sys.executable, "-m", "strata", "opt", *arguments], input=given, capture_output=True, text=True, env=os.environ
    )


def test_json_and_text_give_the_same_graph():
    of = graph()
    assert uop.from_json(of.to_json()).same(of)
    assert uop.from_tree(of.tree()).same(of)
    whole = json.loads(of.to_json())
    assert whole["launch"]["block"] == [64, 1, 1]
    (store,) = (node for node in whole["nodes"] if node["op"] == "store")
    line = open(__file__).read().splitlines().index("        out[i * 3 + k] = a[i * 3 + k] * 2  # here") + 1
    assert store["line"] == f"{__file__}:{line}"
    assert {"op", "dtype", "sources"} <= set(store)


def test_a_graph_that_was_read_computes_the_same():
    a = np.arange(768, dtype="float32")
    read = uop.from_json(graph().to_json())
    with strata.config(device="emu:gfx1100", target="asm"):
        out = Tensor.zeros(768).custom_kernel(Tensor(a), kernel=lambda *buffers: bounded(read))[0]
        np.testing.assert_array_equal(out.numpy()[:192], a[:192] * 2)


def bounded(sink):
    """The kernel for one block: its graph takes the grid from the launch."""
    text = sink.tree().replace("special index blockx 1048576", "special index blockx 1")
    return uop.from_tree(text)


@pytest.mark.parametrize("text", ["{", "[]", '{"nodes": 3}', '{"nodes": [{"op": "load"}]}', '{"nodes": []}'])
def test_json_of_something_else_is_refused(text):
    with pytest.raises(strata.UsageError):
        uop.from_json(text)


def test_text_of_something_else_names_the_line():
    with pytest.raises(strata.UsageError, match="line 2 of the graph: 'lod' is no op"):
        uop.from_tree("%0 = constant int32 1\n%1 = lod float32  <- %0")


def test_it_lists_the_passes_of_both_stages():
    listed = opt("--list")
    assert listed.returncode == 0
    assert "vectorize " in listed.stdout and "insert_waits " in listed.stdout
    assert "accesses to neighbouring elements are one access" in listed.stdout


def test_passes_run_in_the_form_in_which_the_graph_came():
    of = graph()
    text = opt("--pass", "expand,simplify", "--interpret", given=of.tree())
    assert text.returncode == 0, text.stderr
    assert uop.from_tree(text.stdout).op == "sink"
    data = opt("--pass", "expand,simplify", given=of.to_json())
    assert uop.from_json(data.stdout).same(uop.from_tree(text.stdout))
    assert opt(given=of.tree()).stdout == of.tree()


def test_all_passes_of_linear_keep_what_the_kernel_means():
    linear, _ = uop._passes()
    names = ",".join(name for name, _ in linear if name != "lower_index")
    found = opt("--pass", names, "--interpret", "--arch", "gfx942", given=graph().to_json())
    assert found.returncode == 0, found.stderr


def test_a_pass_of_lower_prints_instructions():
    found = opt("--pass", "allocate", "--arch", "gfx1201", given=graph().tree())
    assert found.returncode == 0, found.stderr
    assert "global_store_b32" in found.stdout
    assert opt("--pass", "allocate,expand", given=graph().tree()).returncode == 1


def test_an_unknown_pass_lists_those_there_are():
    found = opt("--pass", "expnd", given=graph().tree())
    assert found.returncode == 1
    assert "there is no pass 'expnd'; those there are: predicate_group_stores, arrange_threads" in found.stderr


def test_bad_input_is_an_error_that_says_what_to_pipe_in():
    assert "UOp.to_json()" in opt("--pass", "expand").stderr
    wrong = opt("--pass", "expand", given="%0 = lod")
    assert wrong.returncode == 1 and "line 1 of the graph" in wrong.stderr


def test_the_reference_tells_graphs_apart():
    before = graph()
    after = uop.from_tree(
        before.tree()
        .replace("constant float32 2.0", "constant float32 3.0")
        .replace("constant float32 2\n", "constant float32 3\n")
    )
    assert not after.same(before)
    with pytest.raises(strata.CheckError, match="change what the kernel leaves in its parameter 0"):
        uop._compare(before, after, (2, 1, 1), 32)
