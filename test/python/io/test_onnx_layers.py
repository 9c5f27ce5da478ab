"""Recurrent layers, quantised operators, pools, loops and operators of early versions against their formulas in NumPy.
The package's node tests and its evaluator have few of their attributes.
"""

import itertools

import numpy as np
import pytest
import strata
from strata import Tensor
from tested import QUICK_TARGET

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from test_onnx import F, P, model  # noqa: E402

N = helper.make_node
rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def quick():
    with strata.config(target=QUICK_TARGET):
        yield


def computed(nodes, given, weights=None, outputs=("y",), version=22):
    """Arrays of a model's outputs; inputs by name."""
    got = strata.onnx.load(model(nodes, given, weights or {}, outputs, version))(**given)
    return [t.numpy() for t in (got if isinstance(got, tuple) else (got,))]


# Recurrent layers

sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
FUNCTIONS = {
    "Tanh": np.tanh,
    "Sigmoid": sigmoid,
    "Relu": lambda x: np.maximum(x, 0),
    "LeakyRelu": lambda x: np.where(x >= 0, x, 0.2 * x),
    "HardSigmoid": lambda x: np.clip(0.3 * x + 0.4, 0, 1),
    "Affine": lambda x: 0.2 * x + 0.4,
}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def step_of(kind, f, x, h, c, w, r, b, p, reset_first, coupled):
    n = len(h)
    wb, rb = np.split(b, 2)
    if kind == "RNN":
        return f[0](w @ x + r @ h + wb + rb), c
    if kind == "GRU":
        z, q = (
            f[0](
                w[i * n : (i + 1) * n] @ x
                + r[i * n : (i + 1) * n] @ h
                + wb[i * n : (i + 1) * n]
                + rb[i * n : (i + 1) * n]
            )
            for i in (0, 1)
        )
        last = r[2 * n :]
        new = f[1](
            w[2 * n :] @ x
            + wb[2 * n :]
            + (last @ (q * h) + rb[2 * n :] if not reset_first else q * (last @ h + rb[2 * n :]))
        )
        return (1 - z) * new + z * h, c
    i, o, g, new = np.split(w @ x + r @ h + wb + rb, 4)
    i = f[0](i + p[:n] * c)
    g = 1 - i if coupled else f[0](g + p[2 * n :] * c)
    cell = g * c + i * f[1](new)
    return f[0](o + p[n : 2 * n] * cell) * f[2](cell), cell


def layer_of(kind, x, w, r, b, lengths, h0, c0, p, direction, names, clip, reset_first, coupled, near=lambda h: h):
    """x (steps, n, width) -> (outputs, last h, last c), a sequence at a time."""
    steps, n, directions = *x.shape[:2], len(w)
    y, hs, cs = np.zeros((steps, directions, n, r.shape[-1])), h0.copy(), c0.copy()
    for d, k in itertools.product(range(directions), range(n)):
        f = [
            lambda v, g=FUNCTIONS[name]: g(v if clip is None else np.clip(v, -clip, clip))
            for name in names[d * len(USUAL[kind]) :]
        ]
        order = range(lengths[k])
        for t in reversed(order) if direction == "reverse" or d else order:
            hs[d, k], cs[d, k] = step_of(
                kind, f, x[t, k], near(hs[d, k]), cs[d, k], w[d], r[d], b[d], p[d], reset_first, coupled
            )
            y[t, d, k] = hs[d, k]
    return y, hs, cs


CASES = [
    *itertools.product(GATES, ("forward", "reverse", "bidirectional"), (False, True), (0,), ({},)),
    *((kind, "bidirectional", True, 1, {}) for kind in GATES),
    ("RNN", "forward", True, 0, {"activations": ["Relu"], "clip": 0.5}),
    ("GRU", "reverse", True, 0, {"linear_before_reset": 1}),
    ("GRU", "bidirectional", False, 0, {"activations": ["HardSigmoid", "Tanh", "Sigmoid", "LeakyRelu"],
            "activation_alpha": [0.3, 0.2], "activation_beta": [0.4]}),
    ("LSTM", "forward", True, 0, {"peepholes": True}),
    ("LSTM", "reverse", True, 0, {"peepholes": True, "input_forget": 1, "clip": 0.7}),
    ("LSTM", "forward", False, 0,
        {"activations": ["Sigmoid", "Affine", "Tanh"], "activation_alpha": [0.2], "activation_beta": [0.4]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case[:4])) + "".join(case[4]))
def test_recurrent_layers_are_their_formulas(case):
    kind, direction, some, layout, extra = case
    extra, steps, n, width, hidden = dict(extra), 4, 3, 2, 3
    directions, gates = 2 if direction == "bidirectional" else 1, GATES[kind]
    x, w, r, b = (
        F(steps, n, width),
        F(directions, gates * hidden, width),
        F(directions, gates * hidden, hidden),
        F(directions, 2 * gates * hidden),
    )
    h0, c0, p = (
        F(directions, n, hidden),
        F(directions, n, hidden),
        F(directions, 3 * hidden) * extra.pop("peepholes", False),
    )
    lengths = np.array([4, 1, 3] if some else [steps] * n, np.int32)
    names = extra.get("activations", USUAL[kind] * directions)
    wanted = layer_of(
        kind,
        *(v.astype(np.float64) for v in (x, w, r, b)),
        lengths,
        *(v.astype(np.float64) for v in (h0, c0, p)),
        direction,
        names,
        extra.get("clip"),
        extra.get("linear_before_reset"),
        extra.get("input_forget"),
    )
    turned = (lambda v: np.swapaxes(v, 0, 1)) if layout else (lambda v: v)
    given = {"x": turned(x), "lengths": lengths, "h": turned(h0)} | ({"c": turned(c0)} if kind == "LSTM" else {})
    inputs = ["x", "w", "r", "b", "lengths" if some else "", "h"] + (["c", "p"] if kind == "LSTM" else [])
    given = {name: a for name, a in given.items() if name in inputs}
    outputs = ["y", "h_last"] + (["c_last"] if kind == "LSTM" else [])
    got = computed(
        [N(kind, inputs, outputs, hidden_size=hidden, direction=direction, layout=layout, **extra)],
        given,
        {"w": w, "r": r, "b": b, "p": p},
        outputs,
    )
    y = wanted[0].transpose(2, 0, 1, 3) if layout else wanted[0]
    for mine, theirs in zip(got, (y, *map(turned, wanted[1:]))):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def nearest_of_eight_bits(x):
    """x by its own range, with 0 in it, in 255 steps."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32(high - low) / np.float32(255) or np.float32(1)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * np.float64(scale)


def test_a_quantised_lstm_rounds_inputs_weights_and_states():
    x, b, zeros = F(4, 1, 2), F(1, 24), np.zeros((1, 1, 3))
    w, r = (rng.integers(-128, 127, (1, rows, 12)).astype(np.int8) for rows in (2, 3))
    held = {
        "w": w,
        "r": r,
        "b": b,
        "ws": np.float32([0.01]),
        "wz": np.array([3], np.int8),
        "rs": P(1, 12) / 100,
        "rz": np.arange(12).reshape(1, 12).astype(np.int8),
    }
    weights = (
        ((w.astype(np.float64) - 3) * 0.01).transpose(0, 2, 1),
        ((r.astype(np.float64) - held["rz"]) * held["rs"]).transpose(0, 2, 1),
    )
    wanted = layer_of(
        "LSTM",
        nearest_of_eight_bits(x),
        *weights,
        b.astype(np.float64),
        [4],
        zeros,
        zeros,
        np.zeros((1, 9)),
        "forward",
        USUAL["LSTM"],
        None,
        0,
        0,
        nearest_of_eight_bits,
    )
    node = N(
        "DynamicQuantizeLSTM",
        ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
        ["y"],
        hidden_size=3,
        domain="com.microsoft",
    )
    np.testing.assert_allclose(computed([node], {"x": x}, held)[0], wanted[0], atol=2e-3)


def test_gradients_go_through_a_recurrent_layer():
    w = {"w": F(1, 12, 2), "r": F(1, 12, 3)}
    net = strata.onnx.load(model([N("LSTM", ["x", "w", "r"], ["y"], hidden_size=3)], {"x": F(3, 1, 2)}, w, ["y"]))
    x, weight = Tensor(F(3, 1, 2)), net.weights["w"].requires_grad_()
    net(x).sum().backward()
    slope = weight.grad.numpy()[0, 5, 1]
    moved = w["w"].copy()
    moved[0, 5, 1] += 1e-2
    net.weights["w"] = Tensor(moved)
    higher = net(x).sum().item()
    moved[0, 5, 1] -= 2e-2
    net.weights["w"] = Tensor(moved)
    assert (higher - net(x).sum().item()) / 2e-2 == pytest.approx(slope, rel=1e-2)


# Pools


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "ceil_mode, dilations, with_padding", [(0, [1, 1], 0), (1, [1, 1], 0), (1, [2, 1], 1), (0, [2, 3], 1)]
)
def test_pools_are_of_the_elements_under_each_window(kind, ceil_mode, dilations, with_padding):
    x, window, strides, pads = F(2, 3, 9, 8), [2, 3], [2, 3], [1, 0, 0, 1]
    sizes, reach = [9, 8], [d * (k - 1) + 1 for d, k in zip(dilations, window)]
    counts = [
        (-(-(n + a + b - r) // s) if ceil_mode else (n + a + b - r) // s) + 1
        for n, a, b, r, s in zip(sizes, pads[:2], pads[2:], reach, strides)
    ]
    counts = [c - (ceil_mode and (c - 1) * s >= n + a) for c, s, n, a in zip(counts, strides, sizes, pads)]
    of = {"MaxPool": max, "AveragePool": np.mean, "LpPool": lambda v: np.sqrt(np.square(v).sum())}[kind]
    want = np.zeros((2, 3, *counts))
    for n, c, i, j in np.ndindex(*want.shape):
        rows, columns = (
            [p * s - a + d * t for t in range(k)] for p, s, a, d, k in zip((i, j), strides, pads, dilations, window)
        )
        low, high = (pads[:2], pads[2:]) if with_padding and kind == "AveragePool" else ((0, 0), (0, 0))
        places = [(a, b) for a in rows for b in columns if -low[0] <= a < 9 + high[0] and -low[1] <= b < 8 + high[1]]
        want[n, c, i, j] = of([x[n, c, a, b] if 0 <= a < 9 and 0 <= b < 8 else 0 for a, b in places])
    more = {"count_include_pad": with_padding} if kind == "AveragePool" else {}
    (y,) = computed(
        [
            N(
                kind,
                ["x"],
                ["y"],
                kernel_shape=window,
                strides=strides,
                pads=pads,
                ceil_mode=ceil_mode,
                dilations=dilations,
                **more,
            )
        ],
        {"x": x},
    )
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


def test_places_of_the_largest_are_those_of_the_whole_tensor():
    x = F(2, 3, 5, 6)
    for order in (0, 1):
        y, at = computed(
            [
                N(
                    "MaxPool",
                    ["x"],
                    ["y", "at"],
                    kernel_shape=[2, 3],
                    strides=[1, 2],
                    pads=[1, 1, 0, 0],
                    storage_order=order,
                )
            ],
            {"x": x},
            outputs=("y", "at"),
        )
        flat = x.reshape(-1) if not order else x.transpose(0, 1, 3, 2).reshape(-1)
        np.testing.assert_array_equal(flat[at], y)


# Quantised


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("how", ["tensor", "axis", "blocks"])
def test_quantised_values_are_the_nearest(kind, how):
    x, span = F(6, 4) * 50, np.iinfo(kind)
    shape, attributes = {
        "tensor": ((), {}),
        "axis": ((4,), {"axis": -1}),
        "blocks": ((3, 4), {"axis": 0, "block_size": 2}),
    }[how]
    scale, zero = P(*shape).reshape(shape).astype(np.float32), rng.integers(max(span.min, -9), 9, shape).astype(kind)
    wide = (lambda v: np.repeat(v, 2, 0)) if how == "blocks" else (lambda v: v)
    wanted = np.clip(np.rint(x / wide(scale)) + wide(zero).astype(np.int64), span.min, span.max).astype(kind)
    nodes = [
        N("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        N("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
    ]
    q, y = computed(nodes, {"x": x}, {"s": scale, "z": zero}, ["q", "y"])
    np.testing.assert_array_equal(q, wanted)
    np.testing.assert_allclose(y, (wanted.astype(np.float32) - wide(zero).astype(np.float32)) * wide(scale), rtol=1e-6)


@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_quantised_products_are_those_of_integers(kinds):
    a, b = (rng.integers(np.iinfo(k).min, np.iinfo(k).max, s).astype(k) for k, s in zip(kinds, ((5, 7), (7, 6))))
    za, zb = np.arange(5).astype(kinds[0]), np.arange(6).astype(kinds[1])
    (y,) = computed([N("MatMulInteger", ["a", "b", "za", "zb"], ["y"])], {"a": a}, {"b": b, "za": za, "zb": zb})
    whole = (a.astype(np.int64) - za.astype(np.int64)[:, None]) @ (b.astype(np.int64) - zb)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, whole)
    sa, sb, sy, zy = P(1)[0], P(6), np.float32(40), np.array(3, np.int8)
    (q,) = computed(
        [N("QLinearMatMul", ["a", "sa", "z", "b", "sb", "zb", "sy", "zy"], ["y"])],
        {"a": a},
        {"b": b, "z": za[3], "zb": zb, "sa": sa, "sb": sb, "sy": sy, "zy": zy},
    )
    whole = (a.astype(np.int64) - int(za[3])) @ (b.astype(np.int64) - zb)
    assert (
        np.abs(q.astype(int) - np.clip(np.rint(whole * (sa * sb / sy)) + 3, -128, 127)).max() <= 1
        and q.dtype == np.int8
    )


def test_quantised_convolutions_have_a_zero_point_a_channel():
    x, w = rng.integers(0, 255, (1, 2, 6, 6)).astype(np.uint8), rng.integers(-128, 127, (4, 2, 3, 3)).astype(np.int8)
    zw, bias = np.array([1, -2, 3, 0], np.int8), rng.integers(-999, 999, 4).astype(np.int32)
    whole = np.zeros((1, 4, 6, 6), np.int64)
    around = np.pad(x.astype(np.int64) - 7, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for o, i, j in itertools.product(range(4), range(6), range(6)):
        whole[0, o, i, j] = (around[0, :, i : i + 3, j : j + 3] * (w[o].astype(np.int64) - zw[o])).sum()
    weights = {
        "w": w,
        "zx": np.array(7, np.uint8),
        "zw": zw,
        "b": bias,
        "sx": np.float32(0.02),
        "sw": P(4),
        "sy": np.float32(30),
        "zy": np.array(100, np.uint8),
    }
    (y,) = computed(
        [N("ConvInteger", ["x", "w", "zx", "zw"], ["y"], pads=[1] * 4)],
        {"x": x},
        {k: weights[k] for k in ("w", "zx", "zw")},
    )
    np.testing.assert_array_equal(y, whole)
    (q,) = computed(
        [N("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], pads=[1] * 4)], {"x": x}, weights
    )
    exact = (whole + bias[:, None, None]) * (0.02 * weights["sw"].astype(np.float64) / 30)[:, None, None]
    assert np.abs(q.astype(int) - np.clip(np.rint(exact) + 100, 0, 255)).max() <= 1 and q.dtype == np.uint8


def test_four_bits_are_values_and_saturate():
    q = helper.make_tensor("w", TensorProto.INT4, [4], [-8, 7, 3, -1])
    proto = model(
        [
            N("DequantizeLinear", ["w", "s"], ["d"]),
            N("Add", ["d", "x"], ["y"]),
            N("Cast", ["w"], ["i"], to=TensorProto.INT32),
        ],
        {"x": F(4)},
        {"s": np.float32(0.5)},
        ["y", "i", "w"],
    )
    proto.graph.initializer.append(q)
    y, i, w = strata.onnx.load(proto)(np.zeros(4, np.float32))
    assert y.tolist() == [-4, 3.5, 1.5, -0.5] and i.tolist() == w.tolist() == [-8, 7, 3, -1] and w.dtype.name == "int8"
    with pytest.raises(strata.Unsupported, match="Add 'a' of int4"):
        proto.graph.node.append(N("Add", ["w", "w"], ["b"], name="a"))
        strata.onnx.load(proto)(np.zeros(4, np.float32))


def test_powers_of_two_are_scales():
    """FLOAT8E8M0, the scales of microscaling formats: blocks of 2 along the last axis."""
    q, scale = rng.integers(-99, 99, (3, 4)).astype(np.int8), np.float32([[0.25, 8], [2.0**-20, 1], [3, 0.75]])
    nodes = [
        N("Cast", ["s"], ["e"], to=TensorProto.FLOAT8E8M0, round_mode="down"),
        N("Cast", ["e"], ["f"], to=TensorProto.FLOAT),
        N("DequantizeLinear", ["q", "f"], ["y"], axis=-1, block_size=2),
    ]
    y, e = computed(nodes, {"q": q, "s": scale}, outputs=("y", "e"), version=24)
    exact = 2.0 ** np.floor(np.log2(scale))
    np.testing.assert_array_equal(y, q * np.repeat(exact, 2, 1))
    np.testing.assert_array_equal(e, np.log2(exact) + 127)
