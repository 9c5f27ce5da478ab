"""strata bench lang: kernels of Python functions: what a call costs the host, what a first call costs."""

import time

import strata
from strata import Tensor, lang

from . import median


def add(out: lang.Tensor, a: lang.Tensor, b: lang.Tensor, n):
    i = lang.block_idx.x * 256 + lang.thread_idx.x
    if i < n:
        out[i] = a[i] + b[i]


def softmax(out: lang.Tensor, x: lang.Tensor, columns):
    row, largest, total = lang.block_idx.x, float("-inf"), 0.0
    for i in lang.range(lang.thread_idx.x, columns, 128):
        largest = max(largest, x[row, i])
    largest = lang.block_reduce(largest, "max")
    for i in lang.range(lang.thread_idx.x, columns, 128):
        total += lang.exp(x[row, i] - largest)
    total = lang.block_reduce(total)
    for i in lang.range(lang.thread_idx.x, columns, 128):
        out[row, i] = lang.exp(x[row, i] - largest) / total


def traced_ms(function, block, *arguments, repeat):
    """The time to trace a function whose syntax tree is rewritten already: the first trace rewrites it."""
    times = []
    for _ in range(repeat + 1):
        kernel = strata.kernel(function, grid=1, block=block)
        start = time.perf_counter()
        kernel.graph(*arguments, arch="gfx1100")
        times.append((time.perf_counter() - start) * 1e3)
    return {"first_ms": round(times[0], 3), "ms": median(times[1:], 3)}


def code_ms(function, block, *arguments, repeat):
    times = []
    for _ in range(repeat):
        kernel = strata.kernel(function, grid=1, block=block)
        made = kernel.compiled(*arguments, arch="gfx1100")
        start = time.perf_counter()
        with strata.config(no_cache=True):
            strata.compile(made, arch="gfx1100", target="asm")
        times.append((time.perf_counter() - start) * 1e3)
    return median(times, 3)


def call_us(repeat):
    """A call of a known kernel with three tensors and a number. Measured are one thread on the emulated device, and the
    host's part up to the launch alone."""
    kernel = strata.kernel(add, grid=1, block=1)
    out, a, b = (Tensor.zeros(1).contiguous().realize() for _ in range(3))
    kernel(out, a, b, 1)
    whole, chosen = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        kernel(out, a, b, 1)
        whole.append((time.perf_counter() - start) * 1e6)
        start = time.perf_counter()
        kernel.chosen(out, a, b, 1)
        chosen.append((time.perf_counter() - start) * 1e6)
    return {"call_us": median(whole, 1), "choose_us": median(chosen, 1)}


def bench_lang(quick):
    repeat = 5 if quick else 40
    vectors, rows = [lang.TensorSpec(1 << 20)] * 3, [lang.TensorSpec((64, 4096))] * 2
    return {
        **call_us(200 if quick else 5000),
        "trace_add": traced_ms(add, 256, *vectors, 1 << 20, repeat=repeat),
        "trace_softmax": traced_ms(softmax, 128, *rows, 4096, repeat=repeat),
        "code_add_ms": code_ms(add, 256, *vectors, 1 << 20, repeat=repeat),
        "code_softmax_ms": code_ms(softmax, 128, *rows, 4096, repeat=repeat),
    }
