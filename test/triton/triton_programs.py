"""Kernels in Triton, as people write them; triton_cases.py has a launch of each."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def swiglu(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, i < n)
    tl.store(o + i, a * tl.sigmoid(a) * tl.load(y + i, i < n), i < n)


@triton.jit
def transpose(x, o, m, n, B: tl.constexpr):
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * n + c[None, :], (r[:, None] < m) & (c[None, :] < n))
    tl.store(o + c[:, None] * m + r[None, :], tl.trans(v), (c[:, None] < n) & (r[None, :] < m))


@triton.jit
def pipelined(a, b, c, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((BM, N), tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        acc = tl.dot(
            tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc
        )
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def grouped(a, b, c, M, N, K, B: tl.constexpr, G: tl.constexpr):
    pid, wide = tl.program_id(0), tl.cdiv(N, B)
    first = pid // (G * wide) * G
    rows = min(tl.cdiv(M, B) - first, G)
    pm, pn = first + pid % (G * wide) % rows, pid % (G * wide) // rows
    rm, rn, rk = pm * B + tl.arange(0, B), pn * B + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :], (rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :], ((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + rm[:, None] * N + rn[None, :], acc, (rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def one_product(a, b, c, N: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), out_dtype=TYPE))


@triton.jit
def persistent(x, o, n, tiles, B: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        i = tile * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def atomics(x, o, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_add(o, tl.sum(v, 0))
    tl.atomic_max(o + 1, tl.max(v, 0))
    tl.atomic_min(o + 2, tl.min(v, 0))
    tl.atomic_or(o + 3, 1 << tl.program_id(0))
    tl.atomic_xor(o + 4, tl.program_id(0) + 1)


@triton.jit
def locked(lock, o, B: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(o + i) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def scatter_sums(index, x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + tl.load(index + i, i < n), tl.load(x + i, i < n), i < n)


@triton.jit
def products_so_far(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.cumprod(tl.load(x + i), 0))


@triton.jit
def joined(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def recurrence(a, b, o, B: tl.constexpr):
    i = tl.arange(0, B)
    _, h = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, joined)
    tl.store(o + i, h)


@triton.jit
def largest(x, o, at, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v, k = tl.max(tl.load(x + row * n + i, i < n, other=-float("inf")), 0, return_indices=True)
    tl.store(o + row, v)
    tl.store(at + row, k)


@triton.jit
def smallest_at(x, o, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(o + m, tl.argmin(tl.load(x + m[:, None] * N + n[None, :]), 1))


@triton.jit
def flipped(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.flip(tl.load(x + i), 0))


@triton.jit
def gathered(x, index, o, N: tl.constexpr, M: tl.constexpr):
    tl.store(o + tl.arange(0, M), tl.gather(tl.load(x + tl.arange(0, N)), tl.load(index + tl.arange(0, M)), 0))


@triton.jit
def rotated(x, cos, sin, o, D: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, D // 2)
    a, b = tl.split(tl.load(x + row * D + tl.arange(0, D)).reshape(D // 2, 2))
    c, s = tl.load(cos + row * (D // 2) + i), tl.load(sin + row * (D // 2) + i)
    tl.store(o + row * D + tl.arange(0, D), tl.interleave(a * c - b * s, a * s + b * c))


@triton.jit
def embedded(table, ids, o, D: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, D)
    at = tl.load(ids + row)
    tl.store(o + row * D + i, tl.load(table + at.to(tl.int64) * D + i))


@triton.jit
def cross_entropy(x, target, o, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, i < n, other=-float("inf")).to(tl.float32)
    top = tl.max(v, 0)
    tl.store(o + row, tl.log(tl.sum(tl.exp(v - top), 0)) + top - tl.load(x + row * n + tl.load(target + row)))


@triton.jit
def online_softmax(x, o, n, B: tl.constexpr):
    row = tl.program_id(0) * n
    top, total = tl.full((), -float("inf"), tl.float32), tl.full((), 0.0, tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + row + i, i < n, other=-float("inf"))
        higher = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), 0)
        top = higher
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        tl.store(o + row + i, tl.exp(tl.load(x + row + i, i < n) - top) / total, i < n)


@triton.jit
def weight_gradient(x, dy, dw, M, N: tl.constexpr, B: tl.constexpr):
    c, acc = tl.program_id(0) * N + tl.arange(0, N), tl.zeros((N,), tl.float32)
    wide = N * tl.num_programs(0)
    for start in range(0, M, B):
        r = start + tl.arange(0, B)
        at, inside = r[:, None] * wide + c[None, :], (r < M)[:, None]
        acc += tl.sum(tl.load(x + at, inside, other=0.0) * tl.load(dy + at, inside, other=0.0), 0)
    tl.store(dw + c, acc)


@triton.jit
def dropped(x, o, seed, p, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.where(tl.rand(seed, i) > p, tl.load(x + i) / (1 - p), 0.0))


@triton.jit
def random_words(o, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.randint(seed, i))


@triton.jit
def convolved(x, w, o, n, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x + i + k, i + k < n, other=0.0) * tl.load(w + k)
    tl.store(o + i, acc, i < n - K + 1)


@triton.jit
def whole_numbers(x, y, q, r, s, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(q + i, a // b)
    tl.store(r + i, a % b)
    tl.store(s + i, (a ^ b) | (a & 0xFF) << 3)


@triton.jit
def functions(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.abs(tl.load(x + i)) + 0.5
    tl.store(o + i, tl.exp2(tl.log2(v)) + tl.sqrt(v) * tl.rsqrt(v) + tl.sin(v) + tl.cos(v) + tl.erf(v) + tl.floor(v))


@triton.jit
def of_libdevice(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, libdevice.tanh(v) + libdevice.pow(tl.abs(v), 1.5) + libdevice.expm1(v))


@triton.jit
def collatz(x, o, B: tl.constexpr):
    v, steps = tl.load(x + tl.program_id(0)), 0
    while v > 1:
        v = tl.where(v % 2 == 0, v // 2, 3 * v + 1)
        steps += 1
    tl.store(o + tl.program_id(0), steps)


@triton.jit
def descriptors(x, o, M, N, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [B, B])
    result = tl.make_tensor_descriptor(o, [M, N], [N, 1], [B, B])
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    result.store(at, source.load(at) * 3)


@triton.jit(noinline=True)
def squared(v):
    return v * v


@triton.jit
def called(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) + squared(tl.program_id(0) + 2))


@triton.jit
def tuples(pair, scales, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(pair[1] + i, tl.load(pair[0] + i) * scales[0] + scales[1])


@triton.jit
def narrow(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, (tl.load(x + i, i < n).to(tl.float32) * 1.5).to(o.dtype.element_ty), i < n)


@triton.jit
def counted(x, o, n, B: tl.constexpr):
    total = 0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        total += tl.sum((tl.load(x + i, i < n, other=0) > 7).to(tl.int32), 0)
    tl.store(o, total)
