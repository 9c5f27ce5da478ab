"""strata bench kernels: what tensor programs become without a search and with one, as the timing model of a card sees
it.
"""

import tempfile
import time

import numpy as np

WIDTH = 2  # of the beam


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def centred(x):
    return x - x.mean(-1, keepdims=True)


def attention(q, k, v):
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    return softmax(np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)) @ v


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def programs():
    """name: (shapes, dtype, tensors to tensor, arrays to array, bytes that must move, operations)"""
    from strata import nn

    rows, n = (2048, 4096), 2048 * 4096
    square = (4096, 4096)
    heads = (4, 8, 128, 64)

    def tanh_gelu(x):
        return x * 0.5 * (((x + x * x * x * 0.044715) * 0.7978845608028654).tanh() + 1)

    return {
        "x * 2 + 1": ([rows], "float32", lambda x: x * 2 + 1, lambda x: x * 2 + 1, 8 * n, 0),
        "gelu": ([rows], "float32", tanh_gelu, gelu, 8 * n, 0),
        "transpose": ([square], "float32", lambda x: x.T.contiguous(), lambda x: x.T, 8 * 4096**2, 0),
        "softmax": ([rows], "float32", lambda x: x.softmax(-1), softmax, 8 * n, 0),
        "layernorm": (
            [rows],
            "float32",
            nn.layernorm,
            lambda x: centred(x) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
            8 * n,
            0,
        ),
        "rmsnorm": (
            [rows],
            "float32",
            nn.rmsnorm,
            lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6),
            8 * n,
            0,
        ),
        "var": ([rows], "float32", lambda x: x.var(-1), lambda x: x.var(-1), 4 * n, 0),
        "argmax": ([rows], "float32", lambda x: x.argmax(-1), lambda x: x.argmax(-1), 4 * n, 0),
        "cumsum": ([rows], "float32", lambda x: x.cumsum(-1), lambda x: x.cumsum(-1), 8 * n, 0),
        "sum": ([(1 << 24,)], "float32", lambda x: x.sum(), lambda x: x.sum(), 4 << 24, 0),
        "attention": (
            [heads] * 3,
            "float32",
            lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True),
            attention,
            16 * 4 * 8 * 128 * 64,
            4 * 4 * 8 * 128 * 128 * 64,
        ),
        "matmul 512 float32": ([(512, 512)] * 2, "float32", lambda a, b: a @ b, np.matmul, 12 * 512**2, 2 * 512**3),
        "matmul 1024 float32": ([(1024, 1024)] * 2, "float32", lambda a, b: a @ b, np.matmul, 12 << 20, 2 << 30),
        "matmul 1024 float16": ([(1024, 1024)] * 2, "float16", lambda a, b: a @ b, np.matmul, 6 << 20, 2 << 30),
    }


QUICK = ("softmax", "matmul 512 float32")


def figures(stats, moved, operations):
    out = {
        "kernels": stats.kernels,
        "modelled_ms": round(stats.time_ms, 5),
        "gb_per_s": round(moved / stats.time_ms * 1e-6, 1),
    }
    return out | ({"tflop_per_s": round(operations / stats.time_ms * 1e-9, 1)} if operations else {})


def stats_of(call, tensors):
    """(values, what the launches took, seconds)"""
    import strata

    out = call(*tensors)
    strata.reset_stats()
    start = time.perf_counter()
    out.realize()
    seconds = time.perf_counter() - start
    return out.numpy().astype(np.float64), strata.stats(), seconds


def measured(shapes, dtype, call, reference, moved, operations, search):
    import strata

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]

    def operands():  # new ones each time: what was computed of the same ones would not be computed again
        return [strata.Tensor(a).cast(dtype).realize() for a in arrays]

    tensors = operands()
    got, stats, _ = stats_of(call, tensors)
    row = figures(stats, moved, operations)
    want = reference(*[t.cast("float32").numpy().astype(np.float64) for t in tensors])
    error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
    if not error < 2e-3:
        raise strata.Error(f"wrong by {error:.3g} of the largest value")
    if search:
        with tempfile.TemporaryDirectory() as folder, strata.config(cache_dir=folder, beam=WIDTH):
            seconds = stats_of(call, operands())[2]
            row["searched"] = {
                "seconds": round(seconds, 2),
                **figures(stats_of(call, operands())[1], moved, operations),
            }
    return row


def bench_kernels(quick):
    import strata

    out = {}
    for name, program in programs().items():
        if quick and name not in QUICK:
            continue
        try:
            out[name] = measured(*program, search=not quick)
        except strata.Error as error:
            raise type(error)(f"{name}: {error}") from None
    return out


def table(result):
    """The result of bench_kernels for people."""

    def cells(row):
        speed = f"{row['tflop_per_s']:8.1f} TFLOP/s" if "tflop_per_s" in row else f"{row['gb_per_s']:8.1f} GB/s   "
        return f"{row['kernels']:3d} {row['modelled_ms']:9.4f} ms {speed}"

    lines = [f"{'':22s}{'kernels, without a search':^36s}  {'BEAM=' + str(WIDTH) + ', nothing known':^36s}"]
    for name, row in result.items():
        lines.append(
            f"{name:22s}{cells(row)}"
            + (f"  {row['searched']['seconds']:6.2f} s {cells(row['searched'])}" if "searched" in row else "")
        )
    return "\n".join(lines)
