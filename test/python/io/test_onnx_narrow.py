"""Rows of operators in float16 and bfloat16: rounded once, at ordinary, large and small magnitudes, against float64."""

import ml_dtypes
import numpy as np
import pytest
import strata
from tested import QUICK_TARGET

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_nodes import _array as array_of  # noqa: E402
from test_onnx import ROWS, F, L, P  # noqa: E402

KINDS = {"float16": (np.float16, 2.0**-10), "bfloat16": (ml_dtypes.bfloat16, 2.0**-7)}
SIZES = {"ordinary": 1.0, "large": 300.0, "small": 2.0**-9}
# Cases left out: of other types than floats, without a value in float64 of its own, or larger than float16's range by
# themselves.
WITHOUT = {
    "Cast",
    "CastLike",
    "Mod",
    "IsInf",
    "IsNaN",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "ArgMax",
    "ArgMin",
    "OneHot",
    "Where",
    "GatherND",
}


def is_float(a):
    return a is not None and np.asarray(a).dtype == np.float32


def floats(row):
    return [a for a in row[1] if is_float(a)]


def proto_of(row, kind):
    """The row's node over inputs and weights of a type; None of float64 for the evaluator."""
    name, inputs, weights, attributes, version, count, order = (*row, *(18, 1, None)[len(row) - 4 :])
    typed = lambda a: np.asarray(a).astype(kind) if is_float(a) else np.asarray(a)  # noqa: E731
    held = {f"w{i}": typed(a) for i, a in enumerate(weights) if a is not None}
    names = [*(f"x{i}" for i in range(len(inputs))), *("" if a is None else f"w{i}" for i, a in enumerate(weights))]
    names = [names[i] for i in order] if order else names
    given = [
        helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(typed(a).dtype), np.shape(a))
        for i, a in enumerate(inputs)
    ]
    outputs = [helper.make_value_info(f"y{i}", onnx.TypeProto()) for i in range(count)]
    graph = helper.make_graph(
        [helper.make_node(name, names, [o.name for o in outputs], **attributes)],
        "g",
        given,
        outputs,
        [numpy_helper.from_array(a, n) for n, a in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


MORE = [
    *[(name, [F(3, 5)], [], {}) for name in ("Celu", "Selu", "LpNormalization")], ("Celu", [F(9)], [], {"alpha": 0.3}),
    ("Shrink", [F(3, 5)], [], {"lambd": 0.3, "bias": 0.3}), ("ThresholdedRelu", [F(9)], [], {"alpha": 0.5}),
    ("LpPool", [F(1, 2, 5, 6)], [], {"kernel_shape": [2, 3], "p": 2}),
    ("LRN", [P(4, 4, 3, 2)], [], {"size": 3, "alpha": 0.5}), ("ReduceLogSum", [P(3, 4)], [L(1)], {}),
    ("CumProd", [P(3, 4)], [np.int64(1)], {}, 26), ("SwiGLU", [F(3, 4), F(3, 4)], [], {}, 28),
    ("BatchNormalization", [F(2, 3, 4), P(3), F(3), F(3), P(3)], [], {}),
    ("NegativeLogLikelihoodLoss", [F(4, 5), L(0, 3, 4, 1), P(5)], [], {}, 22),
    ("SoftmaxCrossEntropyLoss", [F(4, 5), L(0, 3, 4, 1), P(5)], [], {}, 22),
    ("Resize", [F(1, 1, 4, 5)], [None, np.float32([1, 1, 1.7, 0.6])], {"mode": "cubic"}),
    *[(kind, [F(3, 2, 4) / 8], [F(1, gates * 3, 4), F(1, gates * 3, 3), F(1, 2 * gates * 3)], {"hidden_size": 3}, 22,
            2) for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))],
    ("RotaryEmbedding", [F(1, 2, 3, 8)], [F(3, 4), F(3, 4), L(0, 1, 2).reshape(1, 3)], {}, 23),
    ("GroupNormalization", [F(2, 4, 3), P(4), F(4)], [], {"num_groups": 2}, 21),
    ("InstanceNormalization", [F(2, 3, 4), P(3), F(3)], [], {}),
]  # fmt: skip
TESTED = [row for row in (*ROWS, *MORE) if row[0] not in WITHOUT and floats(row)]


def log_softmax(x, axis=-1):
    apart = x - x.max(axis, keepdims=True)
    return [apart - np.log(np.exp(apart).sum(axis, keepdims=True))]


def exact(row, held, inputs):
    """By float64 throughout. The evaluator's logarithm of a softmax has underflow; its LRN takes as many channels as
    there are rows.
    """
    given = {n: a.astype(np.float64) if a.dtype.kind not in "iub" else a for n, a in inputs.items()}
    if row[0] == "LogSoftmax":
        return log_softmax(given["x0"])
    if row[0] == "SoftmaxCrossEntropyLoss":
        row, given = ("NegativeLogLikelihoodLoss", *row[1:]), given | {"x0": log_softmax(given["x0"], 1)[0]}
    return ReferenceEvaluator(proto_of((row[0], row[1], held, *row[3:]), np.float64)).run(None, given)


def units_off(mine, theirs, dtype, unit):
    """The largest difference of rounded results, in units of the last place."""
    mine, theirs = mine.astype(np.float64), theirs.astype(dtype).astype(np.float64)
    same = (mine == theirs) | np.isnan(mine) & np.isnan(theirs)
    with np.errstate(all="ignore"):
        off = np.where(same, 0, np.abs(mine - theirs) / np.maximum(np.abs(theirs), np.finfo(np.float16).tiny))
    return off.max(initial=0) / unit


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_narrow_floats_round_once(kind, size):
    dtype, unit = KINDS[kind]
    wrong = []
    with strata.config(target=QUICK_TARGET):
        for row in TESTED:
            scaled = [np.asarray(a) * (SIZES[size] if i == 0 else 1) for i, a in enumerate(row[1])]
            inputs = {f"x{i}": a.astype(dtype) if is_float(row[1][i]) else a for i, a in enumerate(scaled)}
            held = [np.asarray(a).astype(dtype).astype(np.float32) if is_float(a) else a for a in row[2]]
            got = strata.onnx.load(proto_of(row, dtype))(*inputs.values())
            for mine, theirs in zip(got if isinstance(got, tuple) else (got,), exact(row, held, inputs)):
                mine = array_of(mine)
                if mine.dtype == dtype and not units_off(mine, np.asarray(theirs), dtype, unit) <= 1.01:
                    wrong.append(f"{row[0]} {row[3]}: {units_off(mine, np.asarray(theirs), dtype, unit):.1f} units")
    assert not wrong, "\n".join(wrong)
