"""Models of ONNX against onnx.reference, the package's own evaluator: operators one by one, and blocks of the networks
they are for.
"""

import sys

import numpy as np
import pytest
import strata
from strata import Tensor

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

rng = np.random.default_rng(11)
F = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
P = lambda *shape: rng.uniform(0.5, 2, shape).astype(np.float32)  # noqa: E731
L = lambda *values: np.array(values, np.int64)  # noqa: E731


def typed(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def model(nodes, inputs, weights, outputs, version=18):
    graph = helper.make_graph(
        nodes,
        "g",
        [typed(n, a) for n, a in inputs.items()],
        [helper.make_value_info(n, onnx.TypeProto()) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


def check(proto, inputs, rtol=1e-4, atol=1e-5):
    """Strata's results are the evaluator's. Gives them."""
    wanted = ReferenceEvaluator(proto).run(None, inputs)
    got = strata.onnx.load(proto)(**{name: Tensor(a) for name, a in inputs.items()})
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(wanted)
    for mine, theirs in zip(got, wanted):
        assert mine.shape == theirs.shape and mine.dtype.numpy_name == theirs.dtype.name
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=rtol, atol=atol)
    return got


# operator -> (inputs of the model, weights, attributes, version, outputs, order of the names). None among the weights
# is an input that is left out.
ROWS = [
    *[(name, [F(3, 4)], [], {}) for name in (
            "Abs Atan Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Neg Relu Round "
            "Sigmoid Sign Sin Softplus Tanh"
        ).split()],
    *[(name, [P(3, 4)], [], {}) for name in "Log Reciprocal Sqrt".split()],
    *[(name, [P(3, 4) / 4], [], {}) for name in ("Acos", "Asin")],
    *[(name, [F(3, 4), P(4)], [],
            {}) for name in "Add Div Mul Sub Equal Greater GreaterOrEqual Less LessOrEqual".split()],
    *[(name, [F(3, 4), F(4), F(3, 1)], [], {}) for name in "Max Mean Min Sum".split()],
    *[(name, [F(3, 4) > 0, F(4) > 0], [], {}) for name in ("And", "Or", "Xor")], ("Not", [F(3) > 0], [], {}),
    ("Pow", [P(3, 4), F(4)], [], {}), ("Pow", [F(3, 4)], [np.float32(2)], {}),
    ("Div", [L(-7, 7, 9, -9), L(2, -2, 3, 4)], [], {}), ("Mod", [L(-7, 7, 9), L(3, -3, 4)], [], {}),
    ("Mod", [F(5), P(5)], [], {"fmod": 1}), ("Where", [F(3, 4) > 0, F(3, 4), F(4)], [], {}),
    ("Gelu", [F(9)], [], {}, 20), ("Gelu", [F(9)], [], {"approximate": "tanh"}, 20),
    ("Clip", [F(3, 4)], [np.float32(-0.5), np.float32(0.5)], {}), ("Clip", [F(3, 4)], [None, np.float32(0.5)], {}),
    ("Clip", [F(3, 4)], [], {"min": -0.25, "max": 1.0}, 6), ("LeakyRelu", [F(9)], [], {"alpha": 0.3}),
    ("Elu", [F(9)], [], {"alpha": 2.0}),
    ("Cast", [F(3, 4) * 9], [], {"to": TensorProto.INT32}), ("Cast", [L(1, 0, 3)], [], {"to": TensorProto.FLOAT}),
    ("CastLike", [L(1, 0, 3), F(1)], [], {}, 19), ("Dropout", [F(3, 4)], [], {}),
    ("MatMul", [F(2, 3, 4), F(4, 5)], [], {}),
    ("Gemm", [F(3, 4), F(5, 4), F(5)], [], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", [F(4, 3), F(4, 5)], [], {"transA": 1}), ("Einsum", [F(2, 3), F(3, 4)], [], {"equation": "ij,jk->ki"}),
    ("Conv", [F(2, 4, 9, 8), F(6, 2, 3, 3), F(6)], [],
        {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    ("Conv", [F(1, 2, 10), F(3, 2, 3)], [], {"pads": [1, 1], "strides": [2]}),
    ("Conv", [F(1, 2, 7, 7), F(3, 2, 2, 3)], [], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("Conv", [F(1, 2, 7, 7), F(3, 2, 2, 3)], [], {"auto_pad": "SAME_LOWER"}),
    ("ConvTranspose", [F(1, 3, 4, 4), F(3, 2, 3, 3), F(2)], [],
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    ("MaxPool", [F(1, 2, 8, 7)], [], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
    ("AveragePool", [F(1, 2, 8, 8)], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("AveragePool", [F(1, 2, 8, 8)], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    ("GlobalAveragePool", [F(2, 3, 5, 4)], [], {}), ("GlobalMaxPool", [F(2, 3, 5, 4)], [], {}),
    ("BatchNormalization", [F(2, 3, 4, 4), F(3), F(3), F(3), P(3)], [], {"epsilon": 1e-3}),
    ("LayerNormalization", [F(2, 3, 8), F(8), F(8)], [], {"epsilon": 1e-6}),
    ("LayerNormalization", [F(2, 3, 8), F(3, 8)], [], {"axis": 1}),
    ("InstanceNormalization", [F(2, 3, 4, 4), F(3), F(3)], [], {}), ("Softmax", [F(2, 3, 4)], [], {"axis": 1}),
    ("LogSoftmax", [F(2, 3, 4)], [], {}),
    ("Reshape", [F(2, 3, 4)], [L(0, -1)], {}), ("Flatten", [F(2, 3, 4)], [], {"axis": 2}),
    ("Flatten", [F(2, 3, 4)], [], {"axis": -1}), ("Transpose", [F(2, 3, 4)], [], {"perm": [2, 0, 1]}),
    ("Transpose", [F(2, 3)], [], {}),
    ("Unsqueeze", [F(2, 3)], [L(0, 3)], {}), ("Unsqueeze", [F(2, 3)], [], {"axes": [1]}, 11),
    ("Squeeze", [F(2, 1, 3, 1)], [L(1)], {}), ("Squeeze", [F(2, 1, 3, 1)], [], {}),
    ("Expand", [F(3, 1)], [L(2, 1, 4)], {}), ("Tile", [F(2, 3)], [L(2, 2)], {}),
    ("Concat", [F(2, 3), F(2, 1)], [], {"axis": -1}),
    ("Slice", [F(5, 6)], [L(1, -1), L(4, -100), L(0, 1), L(2, -2)], {}),
    ("Slice", [F(5, 6)], [], {"starts": [1], "ends": [3], "axes": [1]}, 9),
    ("Split", [F(6, 2)], [L(1, 5)], {"axis": 0}, 18, 2), ("Split", [F(7, 2)], [], {"axis": 0, "num_outputs": 3}, 18, 3),
    ("Pad", [F(2, 3)], [L(0, 1, 2, 0), np.float32(4)], {}), ("Pad", [F(2, 4)], [L(0, 2, 0, 1)], {"mode": "reflect"}),
    ("Pad", [F(2, 4)], [], {"pads": [0, 1, 0, 2], "value": 1.5}, 2),
    ("Gather", [F(5, 3), L(0, -1, 2)], [], {}), ("Gather", [F(5, 3)], [np.int64(1)], {"axis": 1}),
    ("GatherElements", [F(3, 4), np.array([[0, 2, 1, 1]])], [], {"axis": 0}),
    ("GatherND", [F(2, 3, 4), np.array([[[0, 2], [1, -1]]])], [], {}),
    ("GatherND", [F(2, 3, 4), np.array([[[2], [0]], [[1], [1]]])], [], {"batch_dims": 1}),
    ("Trilu", [F(4, 4)], [np.int64(1)], {"upper": 0}), ("Trilu", [F(4, 4)], [], {}),
    ("ReduceMean", [F(2, 3, 4)], [L(-1)], {}), ("ReduceMean", [F(2, 3, 4)], [], {"axes": [0, 2], "keepdims": 0}, 13),
    ("ReduceSum", [F(2, 3, 4)], [L(1)], {"keepdims": 0}), ("ReduceSum", [L(1, 2, 3)], [], {}),
    ("ReduceSum", [F(2, 3)], [], {"noop_with_empty_axes": 1}),
    ("Size", [F(2, 3)], [], {}), ("ReduceMax", [F(2, 3)], [L(0)], {}), ("ReduceMin", [F(2, 3)], [], {}),
    ("ReduceProd", [F(2, 3)], [L(1)], {}), ("ReduceL2", [F(2, 3)], [L(1)], {}),
    ("ArgMax", [F(3, 5)], [], {"axis": 1, "keepdims": 0}), ("ArgMin", [F(3, 5)], [], {}),
    ("ArgMax", [np.float32([[1, 3, 3], [2, 2, 0]])], [], {"axis": 1, "select_last_index": 1}),
    ("CumSum", [F(3, 4)], [np.int64(1)], {}), ("CumSum", [F(3, 4)], [np.int64(0)], {"exclusive": 1, "reverse": 1}),
    ("CumSum", [np.float32([[1, 2, 1e30], [np.inf, 1, 2]])], [np.int64(-1)], {"exclusive": 1}),
    ("CumSum", [F(2, 3, 2)], [np.int64(1)], {"exclusive": 1}),
    ("Split", [F(5, 2)], [], {"axis": 0, "num_outputs": 4}, 18, 4),
    *[(name, [F(3, 4)], [], {}) for name in "Asinh Cosh Mish Sinh Softsign Tan".split()], ("Acosh", [P(3) + 1], [], {}),
    ("Atanh", [P(3, 4) / 4], [], {}), ("Swish", [F(9)], [], {"alpha": 1.5}, 24),
    ("PRelu", [F(2, 3, 4), F(3, 1)], [], {}),
    *[(name, [F(2, 3)], [L(1)], {}) for name in ("ReduceL1", "ReduceLogSumExp", "ReduceSumSquare")],
    ("GroupNormalization", [F(2, 6, 4, 3), F(6), F(6)], [], {"num_groups": 3, "epsilon": 1e-3}, 21),
    ("RMSNormalization", [F(2, 3, 8), F(3, 8)], [], {"axis": 1}, 23),
    ("Attention", [F(2, 2, 5, 4), F(2, 2, 7, 4), F(2, 2, 7, 3)], [], {}, 23),
    ("Attention", [F(2, 2, 5, 4), F(2, 2, 5, 4), F(2, 2, 5, 4)], [], {"is_causal": 1, "scale": 0.25}, 23),
    ("Attention", [F(2, 5, 16), F(2, 7, 8), F(2, 7, 8), F(5, 7)], [], {"q_num_heads": 4, "kv_num_heads": 2}, 23),
    ("Attention", [F(2, 2, 5, 4), F(2, 2, 7, 4), F(2, 2, 7, 4), np.arange(7) < np.arange(1, 6)[:, None]], [], {}, 23),
    ("DepthToSpace", [F(2, 8, 2, 3)], [], {"blocksize": 2}),
    ("DepthToSpace", [F(2, 8, 2, 3)], [], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", [F(2, 2, 4, 6)], [], {"blocksize": 2}),
    ("OneHot", [L(1, -1, 0), F(2)], [np.int64(4)], {"axis": 0}, 18, 1, [0, 2, 1]),
    ("OneHot", [np.array([[1, 3]]), F(2)], [np.int64(4)], {}, 18, 1, [0, 2, 1]),
    *[("Resize", [F(1, 2, 4, 5)], [None, np.float32(scales)],
            {"mode": mode, "coordinate_transformation_mode": how, "nearest_mode": "floor"}) for mode in ("nearest",
            "linear") for how in ("half_pixel", "asymmetric", "pytorch_half_pixel",
            *["align_corners"] * (mode == "linear")) for scales in ([1, 1, 2, 1.6], [1, 1, 0.5, 1])],
    *[("Resize", [F(1, 2, 4, 5)], [None, None, L(1, 2, 7, 3)], {"mode": mode}) for mode in ("nearest", "linear")],
    ("Resize", [F(1, 2, 4, 5)], [None, None, L(9, 10)], {"axes": [2, 3], "nearest_mode": "round_prefer_ceil"}),
    ("TopK", [F(3, 7)], [L(3)], {"axis": 1}, 18, 2), ("TopK", [F(7, 2)], [L(2)], {"axis": 0, "largest": 0}, 18, 2),
    ("ScatterElements", [F(3, 4), np.array([[0, -1, 1]]), F(1, 3)], [], {"axis": 0}),
    ("ScatterElements", [F(3, 4), np.array([[1, 3], [0, -1]]), F(2, 2)], [], {"axis": 1}),
    ("ScatterElements", [F(3, 4), np.array([[1, 1, 2]] * 3), F(3, 3)], [], {"axis": 1, "reduction": "add"}),
    ("ScatterND", [F(4, 3, 2), np.array([[1, 2], [-1, 0]]), F(2, 2)], [], {}),
    ("ScatterND", [F(4, 3), np.array([[[0], [2]]]), F(1, 2, 3)], [], {}),
    ("ScatterND", [F(4), np.array([[1], [1], [3]]), F(3)], [], {"reduction": "add"}),
    *[(name, [np.int32([[3, -1, 2], [2, 2, 0]])], [L(1)], {}) for name in ("ReduceMax", "ReduceMean", "ReduceProd",
            "ReduceL2")], ("ReduceL2", [F(2, 3)], [], {"noop_with_empty_axes": 1}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_operators_are_the_references(row):
    kind, inputs, weights, attributes, version, count, order = (*row, *(18, 1, None)[len(row) - 4 :])
    given = {f"x{i}": np.asarray(a) for i, a in enumerate(inputs)}
    held = {f"w{i}": np.asarray(a) for i, a in enumerate(weights) if a is not None}
    names = [*given, *("" if a is None else f"w{i}" for i, a in enumerate(weights))]
    names = [names[i] for i in order] if order else names
    outputs = [f"y{i}" for i in range(count)]
    check(model([helper.make_node(kind, names, outputs, **attributes)], given, held, outputs, version), given)


@pytest.mark.parametrize("kind", ["int8", "uint8", "float32"])
def test_the_largest_of_any_type_is_of_what_is_no_padding(kind):
    x = np.arange(-9, 9).astype(kind).reshape(1, 2, 9) - np.array(100, kind)
    proto = model([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3], pads=[2, 1])], {"x": x}, {}, ["y"])
    want = np.stack([x[:, :, max(i - 2, 0) : i + 1].max(-1) for i in range(10)], -1)
    got = strata.onnx.load(proto)(x)
    assert got.dtype.numpy_name == kind
    np.testing.assert_array_equal(got.numpy(), want)


def test_dropout_of_a_model_in_training_is_refused():
    given = {"x": F(3, 4)}
    for training in (False, True):
        proto = model(
            [helper.make_node("Dropout", ["x", "r", "t"], ["y"])],
            given,
            {"r": np.array(0.5, np.float32), "t": np.array(training)},
            ["y"],
        )
        if not training:
            check(proto, given)
            continue
        with pytest.raises(strata.Unsupported, match="training_mode"):
            strata.onnx.load(proto)(given["x"])


def test_joined_arrays_of_the_host_go_to_the_models_device():
    given = L(1, 2)
    proto = model([helper.make_node("Concat", ["w", "x"], ["y"], axis=0)], {"x": given}, {"w": L(5)}, ["y"])
    got = strata.onnx.load(proto, device="emu:gfx1201")(given)
    assert got.device == "emu:gfx1201" and got.numpy().tolist() == [5, 1, 2]


def test_softmax_of_earlier_versions_is_over_all_axes_from_one_on():
    """The evaluator has version 13's for all. https://onnx.ai/onnx/operators/onnx__Softmax.html, version 11."""
    x = F(2, 3, 4)
    power = np.exp(x)
    for axis, summed in ((None, (1, 2)), (2, 2), (0, (0, 1, 2)), (-1, 2)):
        node = helper.make_node("Softmax", ["x"], ["y"], **({} if axis is None else {"axis": axis}))
        got = strata.onnx.load(model([node], {"x": x}, {}, ["y"], 11))(x)
        np.testing.assert_allclose(got.numpy(), power / power.sum(summed, keepdims=True), rtol=1e-5)


# Networks


def residual_block():
    w = {"w1": F(8, 4, 3, 3) / 4, "w2": F(8, 8, 3, 3) / 6, "ws": F(8, 4, 1, 1), "fw": F(10, 8), "fb": F(10)} | {
        f"{k}{i}": P(8) for i in (1, 2) for k in ("s", "b", "m", "v")
    }
    n = helper.make_node
    nodes = [n("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        n("BatchNormalization", ["a", "s1", "b1", "m1", "v1"], ["b"]), n("Relu", ["b"], ["c"]),
        n("Conv", ["c", "w2"], ["d"], pads=[1, 1, 1, 1]),
        n("BatchNormalization", ["d", "s2", "b2", "m2", "v2"], ["e"]),
        n("Conv", ["x", "ws"], ["f"], strides=[2, 2]), n("Add", ["e", "f"], ["g"]), n("Relu", ["g"], ["h"]),
        n("MaxPool", ["h"], ["i"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        n("GlobalAveragePool", ["i"], ["j"]), n("Flatten", ["j"], ["k"]),
        n("Gemm", ["k", "fw", "fb"], ["y"], transB=1)]  # fmt: skip
    return model(nodes, {"x": F(2, 4, 16, 16)}, w, ["y"]), {"x": F(2, 4, 16, 16)}


def masked(causal):
    """Scores become masked: by a triangle that is made of the shape, or by the mask that is given."""
    n = helper.make_node
    if causal:
        return [n("Concat", ["length", "length"], ["square"], axis=0),
            n("ConstantOfShape", ["square"], ["ones"], value=numpy_helper.from_array(np.array([1], np.int64))),
            n("Trilu", ["ones"], ["seen"], upper=0), n("Cast", ["seen"], ["may"], to=TensorProto.BOOL),
            n("Where", ["may", "scores", "low"], ["masked"])]  # fmt: skip
    return [
        n("Unsqueeze", ["mask", "onetwo"], ["m4"]),
        n("Cast", ["m4"], ["mf"], to=TensorProto.FLOAT),
        n("Sub", ["unit", "mf"], ["hidden"]),
        n("Mul", ["hidden", "low"], ["bias"]),
        n("Add", ["scores", "bias"], ["masked"]),
    ]


def transformer(causal):
    """Attention as exporters write it: shapes taken apart and put together; gelu of erf or of tanh."""
    width, heads = 16, 4
    w = {"table": F(20, width), "position": F(12, width), "ln": P(width), "lb": F(width),
        "qkv": F(width, 3 * width) / 4, "qb": F(3 * width), "o": F(width, width) / 4, "up": F(width, 32) / 4,
        "down": F(32, width) / 4, "zero": L(0), "one": L(1), "two": L(2),
        "minus": L(-1), "heads": L(heads), "size": L(width // heads), "half": np.float32(0.5), "unit": np.float32(1),
        "root": np.float32(np.sqrt(2)), "scale": np.float32(2), "low": np.float32(-1e9), "n0": np.int64(0),
        "n1": np.int64(1)}  # fmt: skip
    n = helper.make_node
    nodes = [n("Gather", ["table", "ids"], ["e"]), n("Shape", ["ids"], ["s"]), n("Gather", ["s", "one"], ["length"]),
        n("Gather", ["s", "zero"], ["batch"]), n("Slice", ["position", "zero", "length", "zero"], ["p"]),
        n("Add", ["e", "p"], ["h"]),
        n("LayerNormalization", ["h", "ln", "lb"], ["hn"]), n("MatMul", ["hn", "qkv"], ["m"]),
        n("Add", ["m", "qb"], ["mb"]), n("Split", ["mb"], ["q", "k", "v"], axis=-1, num_outputs=3),
        n("Concat", ["batch", "length", "heads", "size"], ["apart"], axis=0),
        n("Concat", ["batch", "length", "minus"], ["whole"], axis=0)]  # fmt: skip
    for c in "qkv":
        nodes += [
            n("Reshape", [c, "apart"], [c + "r"]),
            n("Transpose", [c + "r"], [c + "t"], perm=[0, 2, 3, 1] if c == "k" else [0, 2, 1, 3]),
        ]
    nodes += [n("MatMul", ["qt", "kt"], ["raw"]), n("Div", ["raw", "scale"], ["scores"])]
    nodes += masked(causal)
    if not causal:
        w["onetwo"] = L(1, 2)
    nodes += [
        n("Softmax", ["masked"], ["weights"], axis=-1),
        n("MatMul", ["weights", "vt"], ["mixed"]),
        n("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        n("Reshape", ["back", "whole"], ["joined"]),
        n("MatMul", ["joined", "o"], ["attended"]),
        n("Add", ["h", "attended"], ["r"]),
        n("MatMul", ["r", "up"], ["u"]),
    ]
    if causal:
        w |= {"c": np.float32(0.044715), "t": np.float32(np.sqrt(2 / np.pi)), "three": np.float32(3)}
        nodes += [
            n("Pow", ["u", "three"], ["u3"]),
            n("Mul", ["u3", "c"], ["uc"]),
            n("Add", ["u", "uc"], ["us"]),
            n("Mul", ["us", "t"], ["ut"]),
            n("Tanh", ["ut"], ["th"]),
            n("Add", ["th", "unit"], ["t1"]),
        ]
    else:
        nodes += [n("Div", ["u", "root"], ["ut"]), n("Erf", ["ut"], ["th"]), n("Add", ["th", "unit"], ["t1"])]
    nodes += [
        n("Mul", ["u", "t1"], ["g1"]),
        n("Mul", ["g1", "half"], ["g"]),
        n("MatMul", ["g", "down"], ["d"]),
        n("Add", ["r", "d"], ["y"]),
    ]
    inputs = {"ids": rng.integers(0, 20, (2, 7))} | ({} if causal else {"mask": np.array([[1] * 7, [1] * 4 + [0] * 3])})
    return model(nodes, inputs, w, ["y"]), inputs


def audio_encoder():
    w = {"w1": F(8, 4, 3) / 3, "b1": F(8), "w2": F(8, 8, 3) / 5, "b2": F(8), "p": F(10, 8)}
    n = helper.make_node
    nodes = [
        n("Conv", ["x", "w1", "b1"], ["a"], pads=[1, 1]),
        n("Gelu", ["a"], ["b"]),
        n("Conv", ["b", "w2", "b2"], ["c"], pads=[1, 1], strides=[2]),
        n("Gelu", ["c"], ["d"]),
        n("Transpose", ["d"], ["e"], perm=[0, 2, 1]),
        n("Add", ["e", "p"], ["y"]),
    ]
    inputs = {"x": F(2, 4, 20)}
    return model(nodes, inputs, w, ["y"], 20), inputs


NETWORKS = {
    "ResNet": residual_block,
    "BERT": lambda: transformer(False),
    "GPT-2": lambda: transformer(True),
    "Whisper's encoder": audio_encoder,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_blocks_of_networks_are_the_references(name):
    check(*NETWORKS[name]())


def test_constants_and_ranges_of_shapes_are_known_to_the_host():
    n = helper.make_node
    nodes = [n("Constant", [], ["zero"], value_int=0),
        n("Constant", [], ["one"], value=numpy_helper.from_array(np.int64(1))),
        n("Constant", [], ["by"], value_float=0.5), n("Shape", ["ids"], ["s"]), n("Gather", ["s", "one"], ["length"]),
        n("Range", ["zero", "length", "one"], ["places"]), n("Gather", ["table", "places"], ["p"]),
        n("Mul", ["p", "by"], ["y"])]  # fmt: skip
    inputs = {"ids": np.zeros((2, 5), np.int64)}
    check(model(nodes, inputs, {"table": F(8, 3)}, ["y", "places"]), inputs)


def test_ranges_of_floats_of_the_model_are_known_to_the_host():
    """As detectors are exported: a captured call reads nothing."""
    n = helper.make_node
    nodes = [
        n("Shape", ["x"], ["s"]),
        n("Gather", ["s", "one"], ["n"]),
        n("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        n("Mul", ["half", "two"], ["step"]),
        n("Range", ["zero", "f", "step"], ["r"]),
        n("Add", ["x", "r"], ["y"]),
    ]
    w = {"one": np.int64(1), "zero": np.float32(0), "half": np.float32(0.5), "two": np.float32(2)}
    proto = model(nodes, {"x": F(2, 5)}, w, ["y"])
    net = strata.onnx.load(proto)
    run = strata.jit(lambda x: net(x))
    for _ in range(4):
        x = F(2, 5)
        np.testing.assert_array_equal(run(Tensor(x)).numpy(), x + np.arange(5, dtype=np.float32))
    net.weights["two"] = Tensor(np.float32(0.4))  # a changed weight changes the model: steps of 0.2
    assert strata.onnx.load(model(nodes[:-1], {"x": F(2, 5)}, w | {"two": np.float32(4)}, ["r"]))(F(2, 5)).tolist() == [
        0,
        2,
        4,
    ]


def test_what_shapes_are_made_of_may_be_computed():
    n = helper.make_node
    net = strata.onnx.load(
        model([n("Range", ["x", "to", "by"], ["y"])], {"x": L(1)}, {"to": np.int64(7), "by": np.int64(2)}, ["y"])
    )
    assert net(L(1)).tolist() == [1, 3, 5]


def test_other_sizes_than_the_models_are_taken():
    proto, inputs = transformer(True)
    ids = rng.integers(0, 20, (1, 11))
    got = strata.onnx.load(proto)(Tensor(ids))
    np.testing.assert_allclose(got.numpy(), ReferenceEvaluator(proto).run(None, {"ids": ids})[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["ResNet", "GPT-2"])
def test_a_captured_call_is_the_call(name):
    proto, inputs = NETWORKS[name]()
    net = strata.onnx.load(proto)
    run = strata.jit(lambda x: net(x))
    (given,) = inputs.values()
    for i in range(4):
        x = np.roll(given, i)
        np.testing.assert_array_equal(run(Tensor(x)).numpy(), net(Tensor(x)).numpy())


def test_gradients_reach_the_weights():
    proto, inputs = residual_block()
    net, x = strata.onnx.load(proto), Tensor(inputs["x"])
    net.weights["fb"].requires_grad_()
    net(x).sum().backward()
    assert net.weights["fb"].grad.tolist() == [2.0] * 10


def test_a_file_and_its_bytes_are_read(tmp_path):
    proto, inputs = audio_encoder()
    wanted, content = ReferenceEvaluator(proto).run(None, inputs)[0], proto.SerializeToString()
    onnx.save(proto, tmp_path / "x.onnx", save_as_external_data=True, location="x.data", size_threshold=0)
    for given in (tmp_path / "x.onnx", content):
        net = strata.onnx.load(given)
        assert net.inputs == {"x": (2, 4, 20)} and net.outputs == ["y"] and "6 nodes" in repr(net)
        np.testing.assert_allclose(net(inputs["x"]).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    n, x = helper.make_node, {"x": F(2, 3)}
    with pytest.raises(strata.Unsupported, match="ImageDecoder, com.microsoft.FusedGelu"):
        strata.onnx.load(
            model(
                [
                    n("ImageDecoder", ["x"], ["a"]),
                    n("Relu", ["a"], ["b"]),
                    n("FusedGelu", ["b"], ["y"], domain="com.microsoft"),
                ],
                x,
                {},
                ["y"],
            )
        )
    with pytest.raises(strata.Unsupported, match="Relu 'r'.*slope"):
        strata.onnx.load(model([n("Relu", ["x"], ["y"], name="r", slope=2)], x, {}, ["y"]))(F(2, 3))
    with pytest.raises(strata.Unsupported, match="'at' is a further result"):
        strata.onnx.load(model([n("Relu", ["x"], ["y", "at"])], x, {}, ["at"]))(F(1, 2, 5))
    net = strata.onnx.load(model([n("Relu", ["x"], ["y"])], x, {}, ["y"]))
    for call in (lambda: net(), lambda: net(F(2), F(2)), lambda: net(z=F(2))):
        with pytest.raises(strata.UsageError, match="the model takes x"):
            call()
    (tmp_path / "x.onnx").write_bytes(b"\xff no model")
    for wrong in (tmp_path / "x.onnx", b"\xff no model"):
        with pytest.raises(strata.UsageError, match="no model"):
            strata.onnx.load(wrong)
    with pytest.raises(strata.UsageError, match="no such file"):
        strata.onnx.load(tmp_path / "y.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(strata.Unsupported, match="pip install onnx"):
        strata.onnx.load(tmp_path / "x.onnx")
