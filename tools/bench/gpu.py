"""strata bench gpu: a card beside what else runs there (torch, torch.compile, CuPy, where they are installed), in one
process and one run. Times are medians of the device's own (events around each call's kernels). Bytes are those that
must move: each input read once, each result written once."""

import functools
import importlib.util
import math
import statistics
import time

import numpy as np

ROWS, WIDE, SQUARE = (16384, 4096), 1 << 28, 4096


def attention(strata, causal=True):
    return lambda q, k, v: strata.nn.scaled_dot_product_attention(q, k, v, causal=causal)


def tanh_gelu(x):
    return x * 0.5 * (((x + x * x * x * 0.044715) * 0.7978845608028654).tanh() + 1)


def pointwise_cases(strata, F):
    """Operations by element and by row."""
    nn, n = strata.nn, ROWS[0] * ROWS[1]
    rows = {
        "x + 1": (lambda x: x + 1, lambda x: x + 1, 8 * n),
        "tanh gelu": (tanh_gelu, lambda x: F.gelu(x, approximate="tanh"), 8 * n),
        "row sums": (lambda x: x.sum(axis=1), lambda x: x.sum(1), 4 * n),
        "column sums": (lambda x: x.sum(axis=0), lambda x: x.sum(0), 4 * n),
        "softmax": (lambda x: x.softmax(-1), lambda x: x.softmax(-1), 8 * n),
        "layernorm": (nn.layernorm, lambda x: F.layer_norm(x, x.shape[-1:]), 8 * n),
        "rmsnorm": (nn.rmsnorm, lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6), 8 * n),
    }
    out = {"sum 1 GiB": ([(WIDE,)], "float32", lambda x: x.sum(), lambda x: x.sum(), 4 * WIDE, 0, 1e-3)}
    out |= {name: ([ROWS], "float32", ours, theirs, moved, 0, 1e-4) for name, (ours, theirs, moved) in rows.items()}
    return out


def product_cases():
    """Products of matrices."""
    out = {}
    for dtype, width, tolerance in (("float32", 4, 1e-4), ("bfloat16", 2, 2e-2)):
        moved, operations = 3 * width * SQUARE**2, 2 * SQUARE**3
        out[f"matmul {dtype}"] = ([(SQUARE, SQUARE)] * 2, dtype, product, product, moved, operations, tolerance)
    for m in (1, 8, 16):
        shapes, moved, operations = [(m, SQUARE), (SQUARE, SQUARE)], 4 * (SQUARE**2 + 2 * m * SQUARE), 2 * m * SQUARE**2
        for name, call in (("a matrix", product), ("a transposed one", lambda x, w: x @ w.T)):
            out[f"{m} x {SQUARE} by {name}"] = (shapes, "float32", call, call, moved, operations, 1e-4)
    return out


def convolution_cases(strata, F):
    out, ours = {}, strata.nn.functional.conv2d
    for x, weight, stride in (
        ((16, 64, 32, 32), (64, 64, 3, 3), 1),
        ((1, 3, 224, 224), (64, 3, 7, 7), 2),
        ((8, 256, 28, 28), (256, 256, 1, 1), 1),
    ):
        how = {"stride": stride, "padding": weight[-1] // 2}
        results = x[0] * weight[0] * (x[2] // stride) * (x[3] // stride)
        moved, operations = 4 * (math.prod(x) + math.prod(weight) + results), 2 * results * math.prod(weight[1:])
        call, theirs = functools.partial(ours, **how), functools.partial(F.conv2d, **how) if F else None
        name = f"conv2d {'x'.join(map(str, x))} by {'x'.join(map(str, weight))}"
        out[name] = ([x, weight], "float32", call, theirs, moved, operations, 1e-4)
    return out


def odd_row_cases():
    """Reductions of rows whose lengths are no multiples of anything."""
    rows = (
        (436409, 25, "softmax", lambda x: x.softmax(-1), lambda x: x.softmax(-1)),
        (722309, 9, "var", lambda x: x.var(1), lambda x: x.var(1, correction=0)),
        (22724, 233, "mean", lambda x: x.mean(), lambda x: x.mean()),
    )
    moved = {name: 4 * m * (2 * n if name == "softmax" else n) for m, n, name, *_ in rows}
    return {
        f"{name} of {m} x {n}": ([(m, n)], "float32", ours, theirs, moved[name], 0, 1e-3)
        for m, n, name, ours, theirs in rows
    }


def attention_cases(strata, F):
    def theirs(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    out = {}
    for shape in ((16, 16, 1024, 64), (8, 16, 4096, 128)):
        batch, heads, length, width = shape
        moved, operations = (
            8 * batch * heads * length * width,
            2 * batch * heads * length**2 * width,
        )  # causal: half of 4
        name = f"attention {'x'.join(map(str, shape))}"
        out[name] = ([shape] * 3, "bfloat16", attention(strata), theirs, moved, operations, 2e-2)
    return out


def slope(strata, f, of):
    """The gradient of one argument of f, of the sum of squares of its result."""

    def ours(*given):
        return strata.gradients((f(*given).cast(strata.dtypes.float32) ** 2).sum(), [given[of]])[0]

    def theirs(*given):
        import torch

        leaves = [x.detach().requires_grad_(i == of) for i, x in enumerate(given)]
        return torch.autograd.grad((f(*leaves).float() ** 2).sum(), [leaves[of]])[0]

    return ours, theirs


def composed_cases(strata, F):
    """Products in company: what layers of a model are made of."""

    def norm(x):
        return x * ((x * x).mean(-1, True) + 1e-5).rsqrt()

    def mlp(silu):
        return lambda x, g, u, d: (silu(x @ g) * (x @ u)) @ d

    m, n, k = 8192, 11008, 4096
    x, up, down, one = (m, k), (k, n), (n, k), 2 * m * n * k
    ours, theirs = mlp(strata.nn.functional.silu), mlp(F.silu) if F else None
    rows = {
        "gate x up": ([x, up, up], lambda x, g, u: (x @ g) * (x @ u), None, (m, n), 2 * one),
        "rmsnorm, product": ([x, up], lambda x, g: norm(x) @ g, None, (m, n), one),
        "SwiGLU": ([x, up, up, down], ours, theirs, x, 3 * one),
        "SwiGLU, gradient of the input": (
            [x, up, up, down],
            slope(strata, ours, 0)[0],
            slope(strata, theirs, 0)[1],
            x,
            6 * one,
        ),
        "product, gradient of the weight": ([x, down[::-1]], *slope(strata, product, 1), down[::-1], 2 * one),
    }
    return {
        name: (shapes, "bfloat16", call, other or call, 2 * sum(map(math.prod, [*shapes, result])), operations, 3e-2)
        for name, (shapes, call, other, result, operations) in rows.items()
    }


def product(a, b):
    return a @ b


def cases(strata, torch):
    """name: (shapes, dtype, by Strata, by torch, bytes, operations, tolerance relative to the result's norm)"""
    F = torch.nn.functional if torch else None
    return {
        **pointwise_cases(strata, F),
        **product_cases(),
        **convolution_cases(strata, F),
        **odd_row_cases(),
        **attention_cases(strata, F),
        **composed_cases(strata, F),
    }


def ours_ms(strata, make, repeat):
    """Device times of calls that compute again."""
    times = []
    for _ in range(repeat):
        strata.reset_stats()
        make().realize()
        times.append(strata.stats().time_ms)
    return times


def theirs_ms(events, call, repeat):
    """Device times between two events around a call; events() gives (record, elapsed after waiting)."""
    times = []
    for _ in range(repeat):
        start, stop, elapsed = events()
        start()
        call()
        stop()
        times.append(elapsed())
    return times


def torch_events(torch):
    def events():
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

        def elapsed():
            b.synchronize()
            return a.elapsed_time(b)

        return a.record, b.record, elapsed

    return events


def cupy_sum_ms(cupy, array, repeat):
    def events():
        a, b = cupy.cuda.Event(), cupy.cuda.Event()

        def elapsed():
            b.synchronize()
            return cupy.cuda.get_elapsed_time(a, b)

        return a.record, b.record, elapsed

    cupy.sum(array)
    return theirs_ms(events, lambda: cupy.sum(array), repeat)


def latency_us(call, repeat=300):
    """Wall time from Python to a number in Python."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return round(statistics.median(times[repeat // 10 :]), 2)


def entry(times, moved, operations):
    ms = statistics.median(times)
    out = {"ms": round(ms, 4), "GB/s": round(moved / ms / 1e6)}
    if operations:
        out["TFLOP/s"] = round(operations / ms / 1e9, 2)
    return out


def as_numpy(strata, tensor):
    return tensor.cast(strata.dtypes.float32).numpy()


def measure(strata, torch, cupy, case, repeat):
    shapes, dtype, ours, theirs, moved, operations, tolerance = case
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    kind = getattr(strata.dtypes, dtype)
    mine = [strata.Tensor(a).cast(kind).realize() for a in arrays]
    out = {}
    ours_ms(strata, lambda: ours(*mine), 3)
    out["strata"] = entry(ours_ms(strata, lambda: ours(*mine), repeat), moved, operations)
    result = ours(*mine).realize()  # while it is there, some calls need compute nothing
    out["strata"]["kernels"] = len(strata.compile(ours(*mine)).kernels)
    if torch:
        given = [torch.from_numpy(a).cuda().to(getattr(torch, dtype)) for a in arrays]
        expected = theirs(*given)
        want = expected.double().cpu().numpy()
        error = float(np.linalg.norm(as_numpy(strata, result).astype(np.float64) - want) / np.linalg.norm(want))
        out["strata"]["error to torch"] = float(f"{error:.2e}")
        out["right"] = bool(error <= tolerance)
        for _ in range(3):
            theirs(*given)
        out["torch"] = entry(theirs_ms(torch_events(torch), lambda: theirs(*given), repeat), moved, operations)
        try:
            fused = torch.compile(theirs)
            for _ in range(3):
                fused(*given)
            out["torch.compile"] = entry(
                theirs_ms(torch_events(torch), lambda: fused(*given), repeat), moved, operations
            )
        except Exception as error:  # its own compiler may lack a tool here
            out["torch.compile"] = {"failed": type(error).__name__}
        del given, expected
    if cupy and shapes == [(WIDE,)]:
        array = cupy.asarray(arrays[0])
        out["CuPy"] = entry(cupy_sum_ms(cupy, array, repeat), moved, operations)
    return out


def bench_gpu(quick, only=()):
    import strata

    if strata.device_properties()["time_is_modelled"]:
        raise strata.Unsupported(
            "'strata bench gpu' measures a card, and the device here is an emulated one: STRATA_DEVICE=hip"
        )
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    cupy = importlib.import_module("cupy") if importlib.util.find_spec("cupy") else None
    if torch:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    repeat = 5 if quick else 30
    out = {
        "device": strata.device_properties()["name"],
        "repeat": repeat,
        "torch": torch and torch.__version__,
        "CuPy": cupy and cupy.__version__,
    }
    # Before torch.compile starts its processes.
    small = strata.Tensor(np.ones(16, np.float32)).realize()
    few = {"strata": latency_us(lambda: small.sum().item())}
    if torch:
        ones = torch.ones(16, device="cuda")
        few["torch"] = latency_us(functools.partial(lambda x: x.sum().item(), ones))
    out["sum of 16, us from Python to the number"] = few
    for name, case in cases(strata, torch).items():
        if only and name not in only:
            continue
        try:
            out[name] = measure(strata, torch, cupy, case, repeat)
        except (strata.CompileError, strata.LaunchError, strata.DeviceError, strata.Unsupported) as error:
            out[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        if torch:
            torch.cuda.empty_cache()
    return out
