"""Triton's code objects load, are right and are clean in strict mode (opt-in: test/run --triton)."""

import numpy as np
import pytest
import strata
from strata import Tensor, emulator

pytest.importorskip("triton")
import triton_kernels as t

WAVES = {"gfx1100": 32, "gfx1151": 32, "gfx1201": 32, "gfx942": 64, "gfx90a": 64}
F32, F16, I32 = "*fp32", "*fp16", "*i32"


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normal(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def product(dtype, tile, kind):
    a, b = normal(128, 96).astype(dtype), normal(96, 128).astype(dtype)
    types = {"a": kind, "b": kind, "c": F32, "N": "i32", "K": "i32"}
    constants = {"BM": tile, "BN": tile, "BK": 32}
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    return t.matmul, types, constants, (128 // tile, 128 // tile), [a, b], [128, 96], wanted


def rowwise(function, extra, wanted):
    x = normal(8, 500)
    types = {"x": F32, **{name: F32 for name in "wb"[: len(extra)]}, "o": F32, "n": "i32"}
    return function, types, {"B": 512}, 8, [x, *extra], [500], wanted(x)


def normalised(x, w, b):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b


def attended():
    q, k, v = (normal(3, 128, 64)[i].astype(np.float16) for i in range(3))
    s = np.where(np.tri(128) > 0, q.astype(np.float32) @ k.astype(np.float32).T * 0.125, -np.inf)
    types = {"q": F16, "k": F16, "v": F16, "o": F32}
    return t.attention, types, {"D": 64, "B": 32}, 4, [q, k, v], [], softmax_of(s) @ v.astype(np.float32)


X = normal(1024)
WHOLE = np.random.default_rng(4).integers(0, 64, 1024).astype(np.int32)
W, B = normal(2, 500)
# Name: function, types, constants, grid, inputs before the output, numbers after it, the output.
CASES = {
    "add": (t.add, {"x": F32, "y": F32, "o": F32, "n": "i32"}, {"B": 256}, 4, [X, X[::-1].copy()], [1024], X + X[::-1]),
    "softmax": rowwise(t.softmax, [], softmax_of),
    "layernorm": rowwise(t.layernorm, [W, B], lambda x: normalised(x, W, B)),
    "product of halves": product(np.float16, 64, F16),
    "product of floats": product(np.float32, 32, F32),
    "scan": (t.scan, {"x": F32, "o": F32}, {"B": 1024}, 1, [X], [], np.cumsum(X)),
    "sort": (t.sort, {"x": I32, "o": I32}, {"B": 512}, 1, [WHOLE[:512]], [], np.sort(WHOLE[:512])),
    "histogram": (
        t.histogram,
        {"x": I32, "o": I32},
        {"B": 1024, "N": 64},
        1,
        [WHOLE],
        [],
        np.bincount(WHOLE, minlength=64),
    ),
    "sums": (
        t.sums,
        {"x": F32, "o": F32},
        {"M": 32, "N": 32},
        1,
        [X.reshape(32, 32)],
        [],
        np.concatenate([X.reshape(32, 32).sum(0), X.reshape(32, 32).sum(1)]),
    ),
    "attention": attended(),
}


@pytest.mark.parametrize("arch", WAVES)
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_right_and_clean(arch, name):
    function, types, constants, grid, inputs, numbers, wanted = CASES[name]
    code, kernel, lds, block = t.compiled(function, types, constants, arch, WAVES[arch])
    device = f"emu:{arch}"
    given = [Tensor(x, device=device) for x in inputs]
    out = Tensor(
        np.zeros(wanted.shape, np.int32 if types["o" if "o" in types else "c"] == I32 else np.float32), device=device
    )
    scratch = [
        Tensor(np.zeros(1, np.float32), device=device)
    ] * 2  # of the whole launch and of a profile; nothing uses them
    with emulator.check() as report:
        strata.asm_kernel(code, name=kernel, grid=grid, block=block, lds=lds)(*given, out, *numbers, *scratch)
        got = out.numpy()
    np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)
    assert not list(report), str(report)
    assert not list(strata.asm.lint(code)), [str(finding) for finding in strata.asm.lint(code)]
