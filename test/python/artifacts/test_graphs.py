"""strata.uop.to_dict and from_dict: graphs of kernels and of tensors as values of JSON."""

import json

import numpy as np
import pytest
import strata
from strata import Spec, Tensor, uop

GRAPHS = {
    "elementwise": lambda x, y: (x * 0.1 + y).exp(),
    "movement": lambda x, y: x.pad([(1, 2), (0, 3)]).T[::-1, 1:].reshape(-1),
    "reductions": lambda x, y: (x - x.mean((0, 1), True)).square().sum(1) + y.max(),
    "a product": lambda x, y: x @ y.T,
    "a scan": lambda x, y: x.cumsum(1) + y,
    "numbers": lambda x, y: (x < y).where(x * float("inf"), -1e-45),
    "integers": lambda x, y: x.cast("uint64") + 18446744073709551615,
    "a gather": lambda x, y: x[Tensor([2, 0]).cast("int32").realize()],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_of_tensors_is_read_as_it_was_written(name):
    graph = GRAPHS[name](Tensor.empty(4, 6), Tensor.empty(4, 6)).uop
    written = uop.to_dict(graph)
    assert written["format"] == "strata graph" and written["version"] == 1 and written["roots"]
    again = uop.from_dict(json.loads(json.dumps(written)))
    assert uop.to_dict(again) == written
    assert (again.op, again.dtype) == (graph.op, graph.dtype)
    assert uop.from_json(again.to_json()).same(again)


def test_buffers_are_numbered_as_they_are_read():
    x, y = Tensor.empty(3), Tensor.empty(5)
    nodes = uop.to_dict((y.sum() + x).uop)["nodes"]
    assert [node["argument"] for node in nodes if node["op"] == "buffer"] == ["#0 size=5", "#1 size=3"]


def test_the_graph_of_an_artifact_has_its_operands_in_order():
    w = Tensor(np.ones(7, np.float32)).realize()
    a = strata.compile(lambda x, n, y: y + w * n + x, Spec(7), np.float32(1), Spec(7), arch="gfx1100", target="asm")
    places = {node["argument"] for node in a.graph["nodes"] if node["op"] == "buffer"}
    assert places == {"#0 size=7", "#1 size=7", "#2 size=7", "#3 size=1"} and len(a.graph["roots"]) == 1
    uop.from_dict(a.graph)


@pytest.mark.parametrize("change, match", [
    (lambda d: d.update(version=2), "this graph is of version 2, and this reader of 1"),
    (lambda d: d.update(format="x"), "this graph is of version 1"),
    (lambda d: d.update(roots=[99]), "the root 99 is no node"),
    (lambda d: d.update(roots=[]), "this graph has 0 roots, not one"),
    (lambda d: d["nodes"][-1].update(op="store"), "store is of kernels"),
    (lambda d: d["nodes"][-1].update(dtype="int3"), "'int3' is no type"),
    (lambda d: d["nodes"][-1].update(sources=[0]), "takes 2 sources, got 1|no tensors"),
    (lambda d: d["nodes"][-1].update(sources=[0, 99]), "no node of a line before it"),
    (lambda d: d["nodes"][0].update(argument="size"), "has another argument"),
    (lambda d: d.update(nodes=3), "no graph as to_dict"),
    (lambda d: d.clear(), "."),
])  # fmt: skip
def test_another_value_is_refused(change, match):
    value = uop.to_dict((Tensor.empty(4, 6) + Tensor.empty(4, 6)).uop)
    change(value)
    with pytest.raises(strata.UsageError, match=match):
        uop.from_dict(value)


def test_shapes_that_do_not_fit_are_refused():
    value = uop.to_dict((Tensor.empty(24).reshape(4, 6) + Tensor.empty(4, 6)).uop)
    for node in value["nodes"]:
        if node["op"] == "reshape":
            node["argument"] = "(5, 6)"
            break
    with pytest.raises(strata.UsageError, match="no tensors"):
        uop.from_dict(value)


def test_a_kernel_of_the_users_has_no_text():
    kernel = strata.asm_kernel("s_endpgm", args=["x"], arch="gfx1100", grid=1, block=32)
    with pytest.raises(strata.Unsupported, match="a user's kernel has no text"):
        uop.to_dict(Tensor.empty(4).custom_kernel(kernel=kernel)[0].uop)
