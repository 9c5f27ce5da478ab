"""RNN, GRU and LSTM: one layer, of one direction or both. Steps are unrolled when a call is made."""

from ... import _strata
from ..._strata import Tensor, Unsupported
from . import elementwise, quantised
from .attention import LONGEST
from .common import wide
from .shapes import reverse_sequence

# name -> (function of x, alpha, beta; usual alpha, usual beta). None: it takes none.
ACTIVATIONS = {
    "affine": (lambda x, a, b: x * a + b, 1.0, 0.0), "elu": (lambda x, a, b: elementwise.elu(x, alpha=a), 1.0, None),
    "hardsigmoid": (lambda x, a, b: (x * a + b).clip(0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, a, b: elementwise.leaky_relu(x, alpha=a), 0.01, None),
    "relu": (lambda x, a, b: x.relu(), None, None), "scaledtanh": (lambda x, a, b: (x * b).tanh() * a, 1.0, 1.0),
    "sigmoid": (lambda x, a, b: x.sigmoid(), None, None), "softplus": (lambda x, a, b: x.logaddexp(0), None, None),
    "softsign": (lambda x, a, b: x / (1 + abs(x)), None, None), "tanh": (lambda x, a, b: x.tanh(), None, None),
    "thresholdedrelu": (lambda x, a, b: _strata.where(x >= a, x, 0), 1.0, None),
}  # fmt: skip


def _activations(names, usual, directions, alphas, betas, clip):
    """Functions of x, for each direction in their order; numbers go to those that take them, in order."""
    names = [name.lower() for name in names or usual * directions]
    if len(names) != len(usual) * directions or any(name not in ACTIVATIONS for name in names):
        raise Unsupported(
            f"[onnx] a recurrent layer with activations {', '.join(names)}: "
            f"{len(usual) * directions} of {', '.join(ACTIVATIONS)}"
        )
    alphas, betas = iter(alphas or ()), iter(betas or ())
    out = []
    for name in names:
        f, alpha, beta = ACTIVATIONS[name]
        alpha, beta = (None if v is None else next(given, v) for v, given in ((alpha, alphas), (beta, betas)))
        out.append(lambda x, f=f, a=alpha, b=beta: f(x if clip is None else x.clip(-clip, clip), a, b))
    return [out[i * len(usual) : (i + 1) * len(usual)] for i in range(directions)]


def _rnn(inputs, states, weight, bias, f, extra, options):
    return (f[0](inputs + states[0] @ weight + bias),)


def _gru(inputs, states, weight, bias, f, extra, options):
    (h,), width = states, states[0].shape[-1]
    z, r = f[0](inputs[:, : 2 * width] + h @ weight[:, : 2 * width] + bias[: 2 * width]).chunk(2, -1)
    given, weight, bias = inputs[:, 2 * width :], weight[:, 2 * width :], bias[2 * width :]
    new = f[1](
        given + r * (h @ weight + bias) if options.get("linear_before_reset") else given + (r * h) @ weight + bias
    )
    return (new + z * (h - new),)


def _lstm(inputs, states, weight, bias, f, extra, options):
    h, c = states
    i, o, forget, new = (inputs + h @ weight + bias).chunk(4, -1)
    looks = extra.chunk(3, -1) if extra is not None else None
    i = f[0](i if looks is None else i + looks[0] * c)
    forget = 1 - i if options.get("input_forget") else f[0](forget if looks is None else forget + looks[2] * c)
    cell = forget * c + i * f[1](new)
    o = f[0](o if looks is None else o + looks[1] * cell)
    return o * f[2](cell), cell


def _one_direction(step, x, w, r, b, states, lengths, backward, f, extra, options):
    """x (steps, n, width) -> (outputs (steps, n, hidden), the last states)."""
    turn = (lambda v: v.flip(0)) if lengths is None else lambda v: reverse_sequence(v, lengths)
    x = turn(x) if backward else x
    gates = w.shape[0]
    from_input, from_state = (
        (b[:gates], b[gates:]) if b is not None else (None, Tensor.zeros(gates, dtype=x.dtype, device=x.device))
    )
    inputs = x @ w.T if from_input is None else x @ w.T + from_input
    weight, outputs = r.T, []
    for t in range(x.shape[0]):
        new = step(inputs[t], states, weight, from_state, f, extra, options)
        shown = new[0]
        if lengths is not None:
            going = (lengths > t).reshape(-1, 1)
            shown = _strata.where(going, shown, 0)
            new = [_strata.where(going, later, now) for later, now in zip(new, states)]
        states = new
        outputs.append(shown)
    y = _strata.stack(outputs, 0)
    return turn(y) if backward else y, states


def layer(step, usual, count_of_states):
    def row(
        x,
        w,
        r,
        b=None,
        lengths=None,
        initial_h=None,
        initial_c=None,
        p=None,
        *,
        activation_alpha=None,
        activation_beta=None,
        activations=None,
        clip=None,
        direction="forward",
        hidden_size=None,
        layout=0,
        output_sequence=0,
        linear_before_reset=0,
        input_forget=0,
        count=1,
    ):
        if direction not in ("forward", "reverse", "bidirectional"):
            raise Unsupported(f"[onnx] a recurrent layer with direction {direction}")
        kind, directions = x.dtype, w.shape[0]
        if directions != (2 if direction == "bidirectional" else 1):
            raise Unsupported(f"[onnx] a recurrent layer with direction {direction} and weights of {directions}")
        x, w, r, b, p, *given = (None if v is None else wide(v) for v in (x, w, r, b, p, initial_h, initial_c))
        if layout:
            x, given = x.transpose(0, 1), [None if v is None else v.transpose(0, 1) for v in given]
        if x.shape[0] > LONGEST:
            raise Unsupported(f"[onnx] a recurrent layer of {x.shape[0]} steps: {LONGEST} are the most")
        f = _activations(activations, usual, directions, activation_alpha, activation_beta, clip)
        zero = Tensor.zeros(x.shape[1], r.shape[-1], dtype=x.dtype, device=x.device)
        options = {"linear_before_reset": linear_before_reset, "input_forget": input_forget}
        found = []
        for d in range(directions):
            states = [zero if v is None else v[d] for v in given[:count_of_states]]
            bias, peephole = (None if v is None else v[d] for v in (b, p))
            backward = direction == "reverse" or d == 1
            found.append(_one_direction(step, x, w[d], r[d], bias, states, lengths, backward, f[d], peephole, options))
        y = _strata.stack([outputs for outputs, _ in found], 1)
        last = [_strata.stack([states[i] for _, states in found], 0) for i in range(count_of_states)]
        if layout:
            y, last = y.permute(2, 0, 1, 3), [v.transpose(0, 1) for v in last]
        return tuple(v.cast(kind) for v in (y, *last))[: max(count, 1)]

    return row


def near(x):
    """x as 8 bits have it, by its own range."""
    values, scale, zero = quantised.dynamic_quantize_linear(x)
    return quantised.dequantize_linear(values, scale, zero)


def _quantised(inputs, states, *more):
    return _lstm(inputs, (near(states[0]), states[1]), *more)


def quantised_lstm(
    x,
    w,
    r,
    b=None,
    lengths=None,
    initial_h=None,
    initial_c=None,
    p=None,
    w_scale=None,
    w_zero_point=None,
    r_scale=None,
    r_zero_point=None,
    *,
    count=1,
    **how,
):
    """ONNX Runtime's: weights of 8 bits (directions, inputs, gates), inputs and states rounded to 8 bits before each
    product.
    """

    def by(v):
        return v.reshape(v.shape[0], 1, -1)

    weights = [
        ((v.cast("int32") - by(zero).cast("int32")).cast("float32") * by(scale)).transpose(1, 2)
        for v, zero, scale in ((w, w_zero_point, w_scale), (r, r_zero_point, r_scale))
    ]
    return layer(_quantised, ["Sigmoid", "Tanh", "Tanh"], 2)(
        near(x), *weights, b, lengths, initial_h, initial_c, p, count=count, **how
    )


ROWS = {
    "GRU": layer(_gru, ["Sigmoid", "Tanh"], 1),
    "LSTM": layer(_lstm, ["Sigmoid", "Tanh", "Tanh"], 2),
    "RNN": layer(_rnn, ["Tanh"], 1),
    "com.microsoft.DynamicQuantizeLSTM": quantised_lstm,
}
