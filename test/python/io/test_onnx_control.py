"""Branches, loops, sequences and early versions of operators; what may be read where a function is captured."""

import numpy as np
import pytest
import strata
from strata import Tensor
from tested import QUICK_TARGET

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from test_onnx import F, L, model  # noqa: E402

N = helper.make_node


@pytest.fixture(autouse=True)
def quick():
    with strata.config(target=QUICK_TARGET):
        yield


def value(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def loop_body(nodes, carried, collected):
    """A body of (turn, going, carried ...) -> (on, carried ..., collected ...); the results are named as the inputs
    with an o.
    """
    inputs = [
        value("turn", TensorProto.INT64, []),
        value("going", TensorProto.BOOL, []),
        *(value(name) for name in carried),
    ]
    outputs = [
        value("on", TensorProto.BOOL, []),
        *(value(f"{name}o") for name in carried),
        *(value(name, shape=[2]) for name in collected),
    ]
    return helper.make_graph(nodes, "body", inputs, outputs)


DOUBLED = loop_body(
    [
        N("Add", ["v", "v"], ["vo"]),
        N("Cast", ["turn"], ["t"], to=TensorProto.FLOAT),
        N("Add", ["v", "t"], ["seen"]),
        N("Identity", ["going"], ["on"]),
    ],
    ["v"],
    ["seen"],
)


def test_loops_of_known_counts_are_unrolled_and_captured():
    net = strata.onnx.load(
        model([N("Loop", ["n", "", "x"], ["y", "all"], body=DOUBLED)], {"x": F(2)}, {"n": np.int64(3)}, ["y", "all"])
    )
    run = strata.jit(lambda x: net(x))
    for _ in range(4):
        x = F(2)
        for y, every in (net(x), run(Tensor(x))):
            np.testing.assert_allclose(y.numpy(), 8 * x, rtol=1e-6)
            np.testing.assert_allclose(every.numpy(), np.stack([x, 2 * x + 1, 4 * x + 2]), rtol=1e-6)


def test_a_loop_that_asks_its_values_ends_by_them():
    body = loop_body(
        [
            N("Add", ["v", "v"], ["vo"]),
            N("ReduceMax", ["vo"], ["largest"], keepdims=0),
            N("Less", ["largest", "limit"], ["on"]),
        ],
        ["v"],
        [],
    )
    proto = model(
        [N("Loop", ["", "yes", "x"], ["y"], body=body)],
        {"x": F(2)},
        {"yes": np.array(True), "limit": np.float32(20)},
        ["y"],
    )
    net = strata.onnx.load(proto)
    assert net(np.float32([1, 3])).tolist() == [8, 24]
    run = strata.jit(lambda x: net(x))
    with pytest.raises(strata.UsageError, match="are read in a captured function"):
        for _ in range(3):
            run(Tensor(np.float32([1, 3])))


def test_a_loop_of_no_turns_gives_what_it_was_given():
    y, every = strata.onnx.load(
        model([N("Loop", ["n", "", "x"], ["y", "all"], body=DOUBLED)], {"x": F(2)}, {"n": np.int64(0)}, ["y", "all"])
    )(np.float32([1, 2]))
    assert y.tolist() == [1, 2] and every.shape == (0, 2)


def test_a_loop_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(strata.onnx.values, "MOST_STEPS", 500)
    net = strata.onnx.load(model([N("Loop", ["", "", "x"], ["y", "all"], body=DOUBLED)], {"x": F(2)}, {}, ["y"]))
    with pytest.raises(strata.Unsupported, match="loops of more than"):
        net(np.float32([1, 2]))


@pytest.mark.parametrize(
    "directions", [{}, {"scan_input_directions": [1], "scan_output_directions": [1]}, {"scan_output_axes": [1]}]
)
def test_a_scan_is_a_running_sum(directions):
    body = helper.make_graph(
        [N("Add", ["s", "v"], ["so"]), N("Identity", ["so"], ["each"])],
        "body",
        [value("s"), value("v")],
        [value("so"), value("each")],
    )
    x = F(4, 3)
    s, each = strata.onnx.load(
        model(
            [N("Scan", ["z", "x"], ["s", "each"], body=body, num_scan_inputs=1, **directions)],
            {"x": x},
            {"z": np.zeros(3, np.float32)},
            ["s", "each"],
        )
    )(x)
    back = "scan_input_directions" in directions
    want = np.cumsum(x[::-1] if back else x, 0)
    want = want[::-1] if back else want.T if directions else want
    np.testing.assert_allclose(each.numpy(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(s.numpy(), x.sum(0), rtol=1e-5, atol=1e-6)


def test_sequences_are_lists():
    nodes = [N("SequenceConstruct", ["x", "x"], ["a"]), N("Neg", ["x"], ["n"]),
        N("SequenceInsert", ["a", "n", "one"], ["b"]), N("SequenceErase", ["b", "zero"], ["c"]),
        N("SequenceAt", ["c", "zero"], ["d"]), N("SequenceLength", ["c"], ["e"]),
        N("ConcatFromSequence", ["c"], ["f"], axis=0), N("ConcatFromSequence", ["c"], ["g"], axis=0, new_axis=1),
        N("SplitToSequence", ["f", "one"], ["h"], axis=0), N("SequenceLength", ["h"], ["i"]),
        N("SequenceEmpty", [], ["j"]), N("Optional", ["x"], ["k"]),
        N("OptionalHasElement", ["k"], ["l"])]  # fmt: skip
    x = F(2)
    outputs = ["b", "d", "e", "f", "g", "i", "j", "l"]
    b, d, e, f, g, i, j, has = strata.onnx.load(
        model(nodes, {"x": x}, {"zero": np.int64(0), "one": np.int64(1)}, outputs)
    )(x)
    assert (
        [t.tolist() for t in b] == [x.tolist(), (-x).tolist(), x.tolist()]
        and d.tolist() == (-x).tolist()
        and e.item() == 2
    )
    assert f.tolist() == [*-x, *x] and g.shape == (2, 2) and i.item() == 4 and j == [] and has.item()


@pytest.mark.parametrize("nodes, weights, match", [
    ([N("SequenceEmpty", [], ["a"]), N("SequenceAt", ["a", "zero"], ["y"])], {"zero": np.int64(0)}, "SequenceAt"),
    ([N("SequenceConstruct", ["x"], ["a"]), N("SequenceInsert", ["a", "x", "nine"], ["b"]),
            N("SequenceAt", ["b", "nine"], ["y"])], {"nine": np.int64(9)}, "place 9 of 1"),
    ([N("SplitToSequence", ["x", "zero"], ["a"]), N("SequenceLength", ["a"], ["y"])], {"zero": np.int64(0)},
        "parts of 0"), ([N("OptionalGetElement", [""], ["y"])], {}, "holds nothing"),
])  # fmt: skip
def test_elements_that_are_not_there_are_refused(nodes, weights, match):
    with pytest.raises(strata.Unsupported, match=match):
        strata.onnx.load(model(nodes, {"x": F(2)}, weights, ["y"]))(F(2))


def test_sizes_that_depend_on_values_are_read_and_not_captured():
    x = np.float32([[0, 2], [3, 0]])
    for node, want in (
        (N("NonZero", ["x"], ["y"]), [[0, 1], [1, 0]]),
        (N("Compress", ["x", "keep"], ["y"], axis=0), [[3, 0]]),
        (N("Unique", ["x"], ["y"]), [0, 2, 3]),
    ):
        net = strata.onnx.load(model([node], {"x": x}, {"keep": np.array([False, True])}, ["y"]))
        assert net(x).tolist() == want
    net = strata.onnx.load(model([N("NonZero", ["x"], ["y"])], {"x": x}, {}, ["y"]))
    run = strata.jit(lambda x: net(x))
    with pytest.raises(strata.UsageError, match="captured"):
        for _ in range(3):
            run(Tensor(x))


def test_a_constant_of_another_types_is_known_in_a_captured_call():
    nodes = [N("CastLike", ["low", "x"], ["v"]), N("Pad", ["x", "p", "v"], ["y"])]
    net = strata.onnx.load(model(nodes, {"x": F(2)}, {"low": np.float32(-np.inf), "p": L(1, 0)}, ["y"], 19))
    run = strata.jit(lambda x: net(x))
    for _ in range(3):
        assert run(Tensor(np.float16([1, 2]))).tolist() == [-np.inf, 1, 2]


# Early versions

EARLY = {
    "broadcast along an axis": ([N("Add", ["x", "w"], ["y"], broadcast=1, axis=1)], {"w": np.float32([10, 20, 30])}, 6,
        lambda x: x + np.float32([10, 20, 30])[None, :, None]),
    "of memory": ([N("Relu", ["x"], ["y"], consumed_inputs=[0])], {}, 1, lambda x: np.maximum(x, 0)),
    "of the last axes": ([N("Mul", ["x", "w"], ["y"], broadcast=1)], {"w": np.float32([1, 2])}, 6,
        lambda x: x * np.float32([1, 2])),
    "is_test": ([N("Dropout", ["x"], ["y"], is_test=1, ratio=0.5)], {}, 6, lambda x: x),
    "a slope a channel": ([N("PRelu", ["x", "w"], ["y"])], {"w": np.float32([1, 2, 3])}, 6,
        lambda x: np.where(x < 0, x * np.float32([1, 2, 3])[None, :, None], x)),
    "Tile of one axis": ([N("Tile", ["x", "n", "a"], ["y"])], {"n": L(2), "a": L(1)}, 1,
        lambda x: np.tile(x, (1, 2, 1))),
    "no exponent of its own": ([N("Pow", ["x", "w"], ["y"], broadcast=1)], {"w": np.float32(2)}, 6, lambda x: x**2),
    "training is over": ([N("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], is_test=1)],
        {k: np.float32([1, 2, 3]) for k in "sbmv"}, 6,
        lambda x: (x - np.float32([1, 2, 3])[:, None]) / np.sqrt(np.float32([1, 2, 3])[:, None] + 1e-5) * np.float32([1,
                2, 3])[:, None] + np.float32([1, 2, 3])[:, None]),
}  # fmt: skip


@pytest.mark.parametrize(
    "node", [N("Dropout", ["x"], ["y"]), N("BatchNormalization", ["x", "w", "w", "w", "w"], ["y"], is_test=0)]
)
def test_training_of_early_versions_is_refused(node):
    with pytest.raises(strata.Unsupported, match="without is_test=1"):
        strata.onnx.load(model([node], {"x": F(2, 3)}, {"w": np.ones(3, np.float32)}, ["y"], 6))(F(2, 3))


def test_results_without_a_name_are_left_out():
    """After the others, and in front of them: an input that is left out has no name either."""
    w = {"w": F(1, 12, 2), "r": F(1, 12, 3), "s": np.ones(2, np.float32)}
    nodes = [
        N("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=3),
        N("LSTM", ["x", "w", "r", "", "", "h"], ["y", "", ""], hidden_size=3),
        N("BatchNormalization", ["z", "s", "s", "s", "s"], ["b", "", ""]),
    ]
    x, z = F(3, 1, 2), F(1, 2)
    y, b = strata.onnx.load(model(nodes, {"x": x, "z": z}, w, ["y", "b"]))(x, z)
    first = strata.onnx.load(model(nodes[:1], {"x": x}, w, ["h"]))(x)
    again = strata.onnx.load(
        model([N("LSTM", ["x", "w", "r", "", "", "h"], ["y"], hidden_size=3)], {"x": x, "h": first.numpy()}, w, ["y"])
    )(x, first)
    np.testing.assert_allclose(y.numpy(), again.numpy(), rtol=1e-5)
    assert b.shape == (1, 2)


@pytest.mark.parametrize("name", EARLY)
def test_attributes_of_early_versions(name):
    nodes, weights, version, of = EARLY[name]
    x = F(2, 3, 2)
    np.testing.assert_allclose(
        strata.onnx.load(model(nodes, {"x": x}, weights, ["y"], version))(x).numpy(), of(x), rtol=1e-5
    )


def test_random_numbers_are_of_the_shape_and_the_distribution():
    strata.manual_seed(1)
    x = np.full((100, 50), 0.25, np.float32)
    nodes = [
        N("RandomNormalLike", ["x"], ["a"], mean=3.0, scale=2.0),
        N("RandomUniform", [], ["b"], shape=[100, 50], low=-1.0),
        N("Bernoulli", ["x"], ["c"]),
        N("Multinomial", ["p"], ["d"], sample_size=2000),
        N("RandomUniformLike", ["x"], ["e"], dtype=TensorProto.FLOAT16),
        N("RandomNormal", [], ["f"], shape=[7]),
    ]
    a, b, c, d, e, f = (
        t.numpy()
        for t in strata.onnx.load(model(nodes, {"x": x}, {"p": np.log(np.float32([[1, 3, 0.001]]))}, list("abcdef")))(x)
    )
    assert (
        abs(a.mean() - 3) < 0.1
        and abs(a.std() - 2) < 0.1
        and b.min() >= -1
        and abs(b.mean()) < 0.05
        and abs(c.mean() - 0.25) < 0.05
    )
    assert (
        d.dtype == np.int32
        and d.shape == (1, 2000)
        and abs((d == 1).mean() - 0.75) < 0.05
        and e.dtype == np.float16
        and e.shape == x.shape
        and f.shape == (7,)
    )


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"])
@pytest.mark.parametrize("source", [np.float32, np.float16, np.float64])
def test_casts_to_eight_bits_saturate_unless_told(kind, source):
    x, largest = (
        np.array([60000, -60000, np.inf, -np.inf, 1, np.nan], source),
        {"FLOAT8E4M3FN": 448, "FLOAT8E5M2": 57344, "FLOAT8E4M3FNUZ": 240, "FLOAT8E5M2FNUZ": 57344}[kind],
    )
    number = getattr(TensorProto, kind)
    for saturate in (1, 0):
        proto = model(
            [N("Cast", ["x"], ["a"], to=number, saturate=saturate), N("Cast", ["a"], ["y"], to=TensorProto.FLOAT)],
            {"x": x},
            {},
            ["y"],
            19,
        )
        y = strata.onnx.load(proto)(x).numpy()
        assert y[4] == 1 and np.isnan(y[5])
        assert (y[:4] == [largest, -largest] * 2).all() if saturate else not np.isfinite(y[2:4]).any()
