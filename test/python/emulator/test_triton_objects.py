"""Code objects of Triton's compiler, frozen by test/triton/freeze.py: they load, are right, and strict mode and the
linter find nothing."""

import json
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, emulator

FOLDER = Path(__file__).parent / "triton"
KERNELS = json.loads((FOLDER / "index.json").read_text())["kernels"]


def normal(*shape, seed=3, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax():
    x = normal(6, 300)
    return 6, [x], np.zeros_like(x), [300], softmax_of(x)


def product():
    a, b = normal(70, 45, dtype=np.float16), normal(45, 100, seed=7, dtype=np.float16)
    return 12, [a, b], np.zeros((70, 100), np.float32), [70, 100, 45], a.astype(np.float64) @ b.astype(np.float64)


def attention():
    q, k, v = normal(3, 128, 64, dtype=np.float16)
    scores = np.where(np.tri(128) > 0, q.astype(np.float64) @ k.astype(np.float64).T / 8, -np.inf)
    return 4, [q, k, v], np.zeros((128, 64), np.float32), [], softmax_of(scores) @ v.astype(np.float64)


def recurrence():
    a, b, h, wanted = np.tanh(normal(512)), normal(512, seed=5), 0.0, []
    for x, y in zip(a.astype(np.float64), b.astype(np.float64), strict=True):
        h = h * x + y
        wanted.append(h)
    return 1, [a, b], np.zeros(512, np.float32), [], np.array(wanted)


def atomics():
    x = np.random.default_rng(4).integers(-500, 500, (4, 256)).astype(np.int32)
    first = np.array([0, -(2**31), 2**31 - 1, 0, 0], np.int32)
    return 4, [x], first, [], np.array([x.sum(), x.max(), x.min(), 15, 1 ^ 2 ^ 3 ^ 4])


def sort():
    x = np.random.default_rng(4).integers(0, 64, 512).astype(np.int32)
    return 1, [x], np.zeros(512, np.int32), [], np.sort(x)


LAUNCHES = {f.__name__: f for f in (softmax, product, attention, recurrence, atomics, sort)}


@pytest.mark.parametrize("which", KERNELS)
def test_a_frozen_kernel_is_right_and_clean(which):
    name, arch = which.split(".")
    grid, inputs, out, numbers, wanted = LAUNCHES[name]()
    kernel, code = KERNELS[which], (FOLDER / f"{which}.co").read_bytes()
    device = f"emu:{arch}"
    given = [Tensor(x, device=device) for x in inputs]
    result = Tensor(out, device=device).realize()
    run = strata.asm_kernel(code, name=kernel["name"], grid=grid, block=kernel["block"], lds=kernel["lds"])
    with emulator.check() as report:
        run(*given, result, *numbers, None, None)  # no scratch of the launch and of a profile
        got = result.numpy()
    np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)
    assert not list(report), str(report)
    assert not strata.asm.lint(code), strata.asm.lint(code)
