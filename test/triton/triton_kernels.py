"""Kernels in Triton, compiled offline by the compiler inside PyPI's triton for the devices that Strata emulates."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WARPS = 4


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(o + row * n + i, v / tl.sum(v, 0), i < n)


@triton.jit
def layernorm(x, w, b, o, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, i < n, other=0.0)
    d = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5)
    tl.store(o + row * n + i, d * scale * tl.load(w + i, i < n) + tl.load(b + i, i < n), i < n)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        acc = tl.dot(x, tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc, input_precision="ieee")
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def scan(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def sort(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.sort(tl.load(x + i)))


@triton.jit
def histogram(x, o, B: tl.constexpr, N: tl.constexpr):
    tl.atomic_add(o + tl.arange(0, N), tl.histogram(tl.load(x + tl.arange(0, B)), N))


@triton.jit
def sums(x, o, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, N), tl.sum(v, 0))
    tl.store(o + N + tl.arange(0, M), tl.sum(v, 1))


@triton.jit
def attention(q, k, v, o, D: tl.constexpr, B: tl.constexpr):
    rm, rd = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D)
    x = tl.load(q + rm[:, None] * D + rd[None, :])
    top = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for j in range(0, (tl.program_id(0) + 1) * B, B):
        rn = j + tl.arange(0, B)
        s = tl.dot(x, tl.trans(tl.load(k + rn[:, None] * D + rd[None, :]))) * 0.125
        s = tl.where(rm[:, None] >= rn[None, :], s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        p, old = tl.exp(s - higher[:, None]), tl.exp(top - higher)
        total = total * old + tl.sum(p, 1)
        acc = acc * old[:, None] + tl.dot(p.to(tl.float16), tl.load(v + rn[:, None] * D + rd[None, :]))
        top = higher
    tl.store(o + rm[:, None] * D + rd[None, :], acc / total[:, None])


def compiled(function, types, constants, arch, wave):
    """The code object, its kernel's name, its dynamic local memory in bytes, and its work-items."""
    signature = dict(types, **{name: "constexpr" for name in constants})
    target = GPUTarget("hip", arch, wave)
    made = triton.compile(ASTSource(function, signature, constants), target=target, options={"num_warps": WARPS})
    return made.asm["hsaco"], made.metadata.name, made.metadata.shared, WARPS * wave
