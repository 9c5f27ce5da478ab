"""NumPy's answer to what the rows of drop_in.tsv compute, where an expression is not enough, and input with a layout of its own."""

import numpy as np


def softmax(x):
    e = np.exp(x.astype("float64") - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(x, epsilon=1e-5):
    x = x.astype("float64")
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def rms_normalized(x, epsilon=1e-5):
    x = x.astype("float64")
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype("float64")))


def erf(x):
    from math import erf

    return np.vectorize(erf)(x)


def gelu(x):
    x = x.astype("float64")
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def hadamard(n):
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


def windows(x, height, width, stride=1, padding=0):
    """The patches of the last two axes: (..., rows, columns, height, width)."""
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    return np.lib.stride_tricks.sliding_window_view(x, (height, width), (-2, -1))[..., ::stride, ::stride, :, :]


def folded(columns, stride, padding, length):
    """columns[t, channel, k] added up at t * stride + k - padding: (channel, length)."""
    times, channels, size = columns.shape
    out = np.zeros((channels, times * stride + size))
    for t in range(times):
        out[:, t * stride : t * stride + size] += columns[t]
    return out[:, padding : padding + length]


def transposed_convolution(x, weights, stride):
    """x (in, h, w), weights (in, out, kh, kw)."""
    _, out_channels, kh, kw = weights.shape
    out = np.zeros((out_channels, (x.shape[1] - 1) * stride + kh, (x.shape[2] - 1) * stride + kw))
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            out[:, i * stride : i * stride + kh, j * stride : j * stride + kw] += np.tensordot(x[:, i, j], weights, 1)
    return out


def rotated(x, position, base=10000.0, halves=False):
    """Rotary embedding of x (..., positions, dimensions): of neighbours, or of an element and that half the row on."""
    n = x.shape[-1]
    angle = np.asarray(position)[:, None] * base ** (-np.arange(0, n, 2) / n)
    first, second = (np.s_[..., : n // 2], np.s_[..., n // 2 :]) if halves else (np.s_[..., ::2], np.s_[..., 1::2])
    out = np.empty(x.shape)
    out[first] = x[first] * np.cos(angle) - x[second] * np.sin(angle)
    out[second] = x[first] * np.sin(angle) + x[second] * np.cos(angle)
    return out


def recurrence(kind, state, *rows, scale=1.0, first=None):
    """Linear attention, head by head: rows (steps, heads, size) each, state (heads, size, size); all outputs, then the state."""
    out, state = [], state.astype("float64").copy()
    for step in zip(*rows):
        if kind == "wkv":
            k, v, r, decay = (x[:, :, None] for x in step)
            kv = k * v.transpose(0, 2, 1)
            out.append((r * (first[:, :, None] * kv + state)).sum(1))
            state = state * decay + kv
        elif kind == "gla":
            k, v, r, decay = (x[:, :, None] for x in step)
            state = state * decay + k * v.transpose(0, 2, 1)
            out.append((r * state).sum(1) * scale)
        else:
            r, w, k, v, a, b = step
            sa = (state * a[:, None, :]).sum(-1, keepdims=True)
            state = state * w[:, None, :] + v[:, :, None] * k[:, None, :] + sa * b[:, None, :]
            out.append((state * r[:, None, :]).sum(-1))
    return np.concatenate([np.ravel(out), state.ravel()])


def blocks(rng, count, size, *halves):
    """Random bytes of quantized blocks, with a small float16 at each of `halves`."""
    out = rng.integers(0, 256, (count, size)).astype("uint8")
    for at in halves:
        out[:, at : at + 2] = (0.01 + 0.05 * rng.random((count, 1))).astype("float16").view("uint8")
    return out


def half(b, at):
    return b[:, at : at + 2].copy().view("float16").astype("float64")


def from_q4_0(b):
    q = np.concatenate([b[:, 2:] & 15, b[:, 2:] >> 4], 1).astype(int)
    return (q - 8) * half(b, 0)


def from_q4_1(b):
    q = np.concatenate([b[:, 4:] & 15, b[:, 4:] >> 4], 1).astype(int)
    return q * half(b, 0) + half(b, 2)


def from_q8_0(b):
    return b[:, 2:].view("int8") * half(b, 0)


def from_table(b, at, scale, table):
    q = np.concatenate([b[:, at:] & 15, b[:, at:] >> 4], 1)
    return np.array(table)[q] * scale


def from_iq4_nl(b):
    return from_table(b, 2, half(b, 0), [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


def from_mxfp4(b):
    e2m1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    return from_table(b, 1, 2.0 ** (b[:, :1].astype(int) - 127), e2m1 + [-x for x in e2m1])


def scales_of_k(s):
    """The six-bit scales and minima of eight groups, packed in twelve bytes."""
    s = s.astype(int)
    scale = np.concatenate([s[:, :4] & 63, s[:, 8:] & 15 | s[:, :4] >> 6 << 4], 1)
    least = np.concatenate([s[:, 4:8] & 63, s[:, 8:] >> 4 | s[:, 4:8] >> 6 << 4], 1)
    return scale[:, :, None], least[:, :, None]


def from_q4_k(b):
    scale, least = scales_of_k(b[:, 4:16])
    q = b[:, 16:].reshape(-1, 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], 2).reshape(-1, 8, 32).astype(int)
    return half(b, 0)[:, :, None] * scale * q - half(b, 2)[:, :, None] * least


def from_q5_k(b):
    scale, least = scales_of_k(b[:, 4:16])
    q = b[:, 48:].reshape(-1, 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], 2).reshape(-1, 8, 32).astype(int)
    high = (b[:, 16:48].astype(int)[:, None, :] >> np.arange(8)[:, None] & 1) * 16
    return half(b, 0)[:, :, None] * scale * (q + high) - half(b, 2)[:, :, None] * least


def from_q2_k(b):
    q = b[:, 16:80].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], "uint8")[:, None] & 3
    s = b[:, :16].reshape(-1, 2, 4, 2, 1)
    d, least = (half(b, at)[:, :, None, None, None] for at in (80, 82))
    return d * (s & 15) * q.reshape(-1, 2, 4, 2, 16) - least * (s >> 4)


def from_q6_k(b):
    low, high = b[:, :128].reshape(-1, 2, 2, 32).astype(int), b[:, 128:192].reshape(-1, 2, 1, 32).astype(int)
    low = np.concatenate([low & 15, low >> 4], 2)
    q = (low | (high >> np.array([0, 2, 4, 6])[:, None] & 3) << 4) - 32
    s = b[:, 192:208].view("int8").reshape(-1, 2, 4, 2, 1)
    return half(b, 208)[:, :, None, None, None] * s * q.reshape(-1, 2, 4, 2, 16)


def to_q8_1(x):
    """Scale, sum and signed bytes of each 32."""
    x = x.reshape(-1, 32)
    d = np.abs(x).max(1, keepdims=True) / np.float32(127)
    q = x / d
    q = (np.sign(q) * np.floor(np.abs(q) + 0.5)).astype("int8")
    head = np.concatenate([d, x.sum(1, keepdims=True, dtype="float32")], 1).astype("float16")
    return np.concatenate([head.view("uint8"), q.view("uint8")], 1)


def bilinear(x, height, width):
    """Half-pixel centres, edges repeated; x (..., rows, columns)."""

    def along(x, axis, size):
        n = x.shape[axis]
        at = np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        high, part = np.minimum(low + 1, n - 1), (at - low).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
        return np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part

    return along(along(x.astype("float64"), -2, height), -1, width)


def haar(x):
    """The coefficients of every level, the coarsest first, from 1 on; 0 is not written."""
    out, x = [], x.astype("float64")
    while len(x) > 1:
        out.append((x[::2] - x[1::2]) / np.sqrt(2))
        x = (x[::2] + x[1::2]) / np.sqrt(2)
    return np.concatenate([np.zeros(1), *out[::-1]])


def attraction(points, softening=1e-9):
    d = points[None].astype("float64") - points[:, None]
    return (d / ((d * d).sum(-1, keepdims=True) + softening) ** 1.5).sum(1)


def binomial(uniform, steps=254, volatility=0.3, riskless=0.02):
    """Values of calls on a binomial tree; price, strike and years lie between fixed bounds."""
    u = uniform.astype("float64").ravel()[:, None]
    price, strike, years = 5 + 25 * u, 1 + 99 * u, 0.25 + 9.75 * u
    dt = years / steps
    growth, up = np.exp(riskless * dt), np.exp(volatility * np.sqrt(dt))
    p = (growth - 1 / up) / (up - 1 / up)
    value = np.maximum(price * up ** (2.0 * np.arange(steps + 1) - steps) - strike, 0)
    while value.shape[1] > 1:
        value = (p * value[:, :-1] + (1 - p) * value[:, 1:]) / growth
    return value


def smoothed(x, a0, a1, a2, a3, b1, b2):
    """A recursive filter down the rows, then up, its output in bytes after each."""
    out, x = np.zeros(x.shape), x.astype("float64")
    x1 = y1 = y2 = np.zeros(x.shape[1:])
    for row in range(len(x)):
        x1, y1, y2 = x[row], a0 * x[row] + a1 * x1 - b1 * y1 - b2 * y2, y1
        out[row] = np.trunc(y1)
    x1 = x2 = y1 = y2 = np.zeros(x.shape[1:])
    for row in reversed(range(len(x))):
        x1, x2, y1, y2 = x[row], x1, a2 * x1 + a3 * x2 - b1 * y1 - b2 * y2, y1
        out[row] = np.trunc(out[row] + y1)
    return out


def small_float(exponent_bits, mantissa_bits, bias, finite):
    """The values of all bytes of an eight-bit float; `finite`: no infinities, NaN where all bits are set."""
    code = np.arange(256)
    exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
    value = np.where(exponent == 0, mantissa, mantissa + (1 << mantissa_bits)) * 2.0 ** (np.maximum(exponent, 1) - bias - mantissa_bits)
    return np.where((code & 127 == 127) if finite else (exponent == (1 << exponent_bits) - 1), np.nan, np.where(code >> 7, -value, value))


def to_e4m3(x):
    """The nearest of OCP's E4M3, of two the even one, as a byte; x within its range."""
    table = small_float(4, 3, 7, True)[:127]
    above = np.clip(np.searchsorted(table, np.abs(x)), 1, 126)
    low, high = np.abs(x) - table[above - 1], table[above] - np.abs(x)
    code = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    return (code | np.where(np.signbit(x), 128, 0)).astype("uint8")


def best(x, count):
    """Places and values of the largest of each row; values divided by their sum."""
    places = np.argsort(-x, 1, kind="stable")[:, :count]
    values = np.take_along_axis(x, places, 1)
    return places, values / values.sum(1, keepdims=True)
