"""strata.compile of functions: what is saved runs in a process without a compiler, and computes what NumPy does."""

import os
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Spec, Tensor, nn

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
# name -> (function, shapes of its arguments, the same by NumPy)
PROGRAMS = {
    "elementwise": (lambda x, y: x * 2 + y, [(64, 64), (64, 64)], lambda x, y: x * 2 + y),
    "a sum in two stages": (lambda x: x.sum(), [(300, 700)], lambda x: x.astype(np.float64).sum()),
    "a product between others": (
        lambda x, y: nn.functional.relu((x + 1) @ (y * 2).T) @ y,
        [(48, 40), (56, 40)],
        lambda x, y: np.maximum((x + 1) @ (y * 2).T, 0) @ y,
    ),
    "a softmax": (
        lambda x: x.softmax(-1),
        [(33, 130)],
        lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
    ),
    "an argument as it is": (lambda x: x, [(3, 5)], lambda x: x),
    "a view of an argument": (lambda x: x.T, [(3, 5)], lambda x: x.T),
    "nothing": (lambda x: x + 1, [(0, 4)], lambda x: x + 1),
    "a scalar": (lambda x: x * x, [()], lambda x: x * x),
}


def values(shapes):
    random = np.random.default_rng(1)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_saved_function_computes_what_numpy_does(program, arch, tmp_path):
    function, shapes, by_numpy = PROGRAMS[program]
    made = strata.compile(function, *(Spec(shape, "float32") for shape in shapes), arch=[arch], target="asm")
    for name in ("folder", "file.strata"):
        made.save(tmp_path / name)
        loaded = strata.Artifact.load(tmp_path / name)
        given = values(shapes)
        with strata.config(device=f"emu:{arch}"):
            found = loaded(*map(Tensor, given))
            assert found.device == f"emu:{arch}"
            np.testing.assert_allclose(found.numpy(), by_numpy(*given), rtol=1e-4, atol=1e-4)
            np.testing.assert_array_equal(made(*map(Tensor, given)).numpy(), found.numpy())


def test_another_process_runs_it_without_a_compiler(tmp_path):
    def f(x, y):
        return (x @ y).relu(), x.sum(0)

    strata.compile(f, Spec((64, 64)), Spec((64, 64)), arch=ARCHS, target="asm").save(tmp_path / "f.strata")
    script = """if True:
        import sys
        import numpy as np
        import strata
        a = strata.Artifact.load(sys.argv[1])
        x, y = np.ones((64, 64), np.float32), np.eye(64, dtype=np.float32)
        for arch in a.archs:
            with strata.config(device=f"emu:{arch}", run_only=True, no_cache=True):
                product, total = a(strata.Tensor(x), strata.Tensor(y))
                assert (product.numpy() == x).all() and (total.numpy() == 64).all()
        assert strata.stats().compile_ms == 0
        print("right")
        """
    got = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "f.strata"],
        env={**os.environ, "PATH": "/nowhere", "STRATA_TOOLS": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert got.stdout == "right\n", got.stderr
