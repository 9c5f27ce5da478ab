"""A launch of each kernel of triton_programs.py, and what NumPy says of it."""

from typing import NamedTuple

import ml_dtypes
import numpy as np
import triton.language as tl
import triton_programs as t
from triton_kernels import softmax, sort as sorted_by_triton

BF16 = ml_dtypes.bfloat16


class Case(NamedTuple):
    """A launch: arrays, then numbers, then constants by name; `wanted` is what the last arrays hold after it."""

    function: object
    grid: tuple
    arrays: list
    numbers: list
    constants: dict
    wanted: list
    tolerance: float = 1e-5
    archs: tuple = ("gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx90a")


def normal(*shape, seed=3, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(high, *shape, seed=4, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def rows_of(x, w):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) * w


def scanned(a, b):
    out, h = [], 0.0
    for x, y in zip(a.astype(np.float64), b.astype(np.float64), strict=True):
        h = h * x + y
        out.append(h)
    return np.array(out)


def steps_of(n):
    steps = 0
    while n > 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


def turned(x, cos, sin):
    a, b = x[:, ::2], x[:, 1::2]
    return np.stack((a * cos - b * sin, a * sin + b * cos), 2).reshape(x.shape)


def philox_words(seed, count):
    """tl.randint by its definition: the first word of Philox 4x32 with 10 rounds of (offset, 0, 0, 0)."""
    words = []
    for offset in range(count):
        c, key = [offset, 0, 0, 0], [seed, 0]
        for _ in range(10):
            low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [high >> 32 ^ c[1] ^ key[0], high & 0xFFFFFFFF, low >> 32 ^ c[3] ^ key[1], low & 0xFFFFFFFF]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words.append(c[0])
    return np.array(words, np.uint32).view(np.int32)


X, Y = normal(1000), normal(1000, seed=5)
SIGNED, DIVISORS = whole(2000, 256) - 1000, whole(30, 256, seed=6) + 1
A, B_ = normal(64, 96, dtype=np.float16), normal(96, 64, seed=6, dtype=np.float16)
RAGGED = normal(70, 45), normal(45, 100, seed=7)
ANGLES = normal(8, 32)
TABLE, IDS = normal(50, 64), whole(50, 9, dtype=np.int64)
LOGITS, LABELS = normal(6, 300), whole(300, 6)
INDEX = whole(10, 1000)


def product_of(dtype, result, kind, **given):
    a, b = (normal(32, 32, seed=s) * (4 if np.dtype(dtype).kind == "i" else 1) for s in (8, 9))
    a, b = a.astype(dtype), b.astype(dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return Case(t.one_product, (1,), [a, b, np.zeros((32, 32), result)], [], {"N": 32, "TYPE": kind}, [exact], **given)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


LIMITS = np.array([0, -(2**31), 2**31 - 1, 0, 0], np.int32)
SPREAD = whole(1000, 4, 256) - 500
CASES = {
    "swiglu": Case(t.swiglu, (4,), [X, Y, zeros(1000)], [1000], {"B": 256}, [X / (1 + np.exp(-X)) * Y]),
    "transpose": Case(t.transpose, (2, 4), [normal(50, 99), zeros(99, 50)], [50, 99], {"B": 32}, [normal(50, 99).T]),
    "pipelined": Case(
        t.pipelined,
        (2,),
        [A, B_, zeros(64, 64)],
        [96],
        {"N": 64, "BM": 32, "BK": 32},
        [A.astype(float) @ B_.astype(float)],
        2e-3,
    ),
    "grouped": Case(
        t.grouped, (12,), [*RAGGED, zeros(70, 100)], [70, 100, 45], {"B": 32, "G": 2}, [RAGGED[0] @ RAGGED[1]], 1e-4
    ),
    "dot f16": product_of(np.float16, np.float32, tl.float32, tolerance=1e-3),
    "dot bf16": product_of(BF16, np.float32, tl.float32, tolerance=1e-3),
    "dot f32": product_of(np.float32, np.float32, tl.float32, tolerance=2e-2),  # as TF32: gfx942 has xf32
    "dot int8": product_of(np.int8, np.int32, tl.int32),
    "dot f64": product_of(np.float64, np.float64, tl.float64, archs=("gfx942", "gfx90a")),
    "dot fp8": product_of(ml_dtypes.float8_e4m3fnuz, np.float32, tl.float32, tolerance=1e-3, archs=("gfx942",)),
    "persistent": Case(t.persistent, (3,), [X, zeros(1000)], [1000, 8], {"B": 128}, [X * 2]),
    "atomics": Case(
        t.atomics,
        (4,),
        [SPREAD, LIMITS.copy()],
        [],
        {"B": 256},
        [np.array([SPREAD.sum(), SPREAD.max(), SPREAD.min(), 15, 1 ^ 2 ^ 3 ^ 4])],
    ),
    "locked": Case(t.locked, (6,), [zeros(1, dtype=np.int32), zeros(64)], [], {"B": 64}, [np.full(64, 6.0)]),
    "scatter sums": Case(
        t.scatter_sums, (4,), [INDEX, X, zeros(10)], [1000], {"B": 256}, [np.bincount(INDEX, X, 10)], 1e-4
    ),
    "products so far": Case(
        t.products_so_far, (1,), [1 + X[:256] / 8, zeros(256)], [], {"B": 256}, [np.cumprod(1 + X[:256] / 8)], 1e-4
    ),
    "recurrence": Case(
        t.recurrence,
        (1,),
        [np.tanh(X[:512]), Y[:512], zeros(512)],
        [],
        {"B": 512},
        [scanned(np.tanh(X[:512]), Y[:512])],
        1e-4,
    ),
    "largest": Case(
        t.largest,
        (10,),
        [X, zeros(10), zeros(10, dtype=np.int32)],
        [100],
        {"B": 128},
        [X.reshape(10, 100).max(1), X.reshape(10, 100).argmax(1)],
    ),
    "smallest at": Case(
        t.smallest_at,
        (1,),
        [normal(16, 64), zeros(16, dtype=np.int32)],
        [],
        {"M": 16, "N": 64},
        [normal(16, 64).argmin(1)],
    ),
    "flipped": Case(t.flipped, (1,), [X[:128].copy(), zeros(128)], [], {"B": 128}, [X[:128][::-1]]),
    "sort of floats": Case(sorted_by_triton, (1,), [X[:512].copy(), zeros(512)], [], {"B": 512}, [np.sort(X[:512])]),
    "gathered": Case(
        t.gathered,
        (1,),
        [X[:128].copy(), whole(128, 64), zeros(64)],
        [],
        {"N": 128, "M": 64},
        [X[:128][whole(128, 64)]],
    ),
    "rotated": Case(
        t.rotated,
        (8,),
        [normal(8, 64), np.cos(ANGLES), np.sin(ANGLES), zeros(8, 64)],
        [],
        {"D": 64},
        [turned(normal(8, 64), np.cos(ANGLES), np.sin(ANGLES))],
    ),
    "embedded": Case(t.embedded, (9,), [TABLE, IDS, zeros(9, 64)], [], {"D": 64}, [TABLE[IDS]]),
    "cross-entropy": Case(
        t.cross_entropy,
        (6,),
        [LOGITS, LABELS, zeros(6)],
        [300],
        {"B": 512},
        [np.log(np.exp(LOGITS.astype(float)).sum(1)) - LOGITS[np.arange(6), LABELS]],
    ),
    "softmax of halves": Case(
        softmax, (6,), [LOGITS.astype(np.float16), zeros(6, 300)], [300], {"B": 512}, [rows_of(LOGITS, 1)], 2e-3
    ),
    "online softmax": Case(t.online_softmax, (6,), [LOGITS, zeros(6, 300)], [300], {"B": 128}, [rows_of(LOGITS, 1)]),
    "weight gradient": Case(
        t.weight_gradient,
        (2,),
        [normal(50, 64), normal(50, 64, seed=8), zeros(64)],
        [50],
        {"N": 32, "B": 16},
        [(normal(50, 64).astype(float) * normal(50, 64, seed=8)).sum(0)],
    ),
    "random words": Case(
        t.random_words, (1,), [zeros(64, dtype=np.int32)], [1234], {"B": 64}, [philox_words(1234, 64)]
    ),
    "convolved": Case(
        t.convolved,
        (4,),
        [X, Y[:5].copy(), zeros(1000)],
        [1000],
        {"K": 5, "B": 256},
        [np.concatenate((np.correlate(X.astype(float), Y[:5].astype(float)), np.zeros(4)))],
    ),
    "whole numbers": Case(
        t.whole_numbers,
        (1,),
        [SIGNED, DIVISORS, *(zeros(256, dtype=np.int32) for _ in range(3))],
        [],
        {"B": 256},
        [
            np.trunc(SIGNED / DIVISORS),
            np.fmod(SIGNED, DIVISORS),
            (SIGNED ^ DIVISORS) | (SIGNED & 0xFF) << 3,
        ],
    ),
    "functions": Case(
        t.functions,
        (1,),
        [X[:256].copy(), zeros(256)],
        [],
        {"B": 256},
        [
            (lambda v: v + 1 + np.sin(v) + np.cos(v) + np.vectorize(__import__("math").erf)(v) + np.floor(v))(
                np.abs(X[:256]) + np.float32(0.5)
            )
        ],
        1e-4,
    ),
    "of libdevice": Case(
        t.of_libdevice,
        (1,),
        [X[:256].copy(), zeros(256)],
        [],
        {"B": 256},
        [(lambda v: np.tanh(v) + np.abs(v) ** 1.5 + np.expm1(v))(X[:256].astype(float))],
        1e-4,
    ),
    "collatz": Case(
        t.collatz,
        (20,),
        [np.arange(1, 21, dtype=np.int32), zeros(20, dtype=np.int32)],
        [],
        {"B": 1},
        [np.array([steps_of(n) for n in range(1, 21)])],
    ),
    "descriptors": Case(
        t.descriptors, (2, 3), [normal(50, 68), zeros(50, 68)], [50, 68], {"B": 32}, [normal(50, 68) * 3]
    ),
    "called": Case(t.called, (1,), [X[:64].copy(), zeros(64)], [], {"B": 64}, [X[:64] + 4]),
    "narrow": Case(t.narrow, (4,), [X.astype(BF16), zeros(1000, dtype=BF16)], [1000], {"B": 256}, [X * 1.5], 2e-2),
    "counted": Case(
        t.counted,
        (1,),
        [whole(16, 1000), zeros(1, dtype=np.int32)],
        [1000],
        {"B": 256},
        [[(whole(16, 1000) > 7).sum()]],
    ),
}
