"""Values that read the same memory in the same loops, or each other, are one kernel with several outputs."""

import numpy as np
import pytest
import strata
from strata import Tensor

TARGETS = ["hip", "asm"]
ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def moments(x, axis):
    return [x.mean(axis), x.var(axis)]


def extremes(x, axis):
    return [x.min(axis), x.max(axis), x.sum(axis)]


def totals(x, axis):
    total = x.sum(axis)
    return [total + 1, total * 2]


def row_and_more(x, axis):
    e = x - x.max(axis, keepdims=True)
    return [e, e * e]


SAME = {"moments": moments, "extremes": extremes, "totals": totals, "row_and_more": row_and_more}


def step(w, m, v, g):
    """Adam, less its corrections."""
    m = m * 0.9 + g * 0.1
    v = v * 0.99 + g * g * 0.01
    return [w - m / (v * v + 1), m, v]


def check(got, wanted, rtol=2e-5, atol=2e-5):
    for t, x in zip(got, wanted, strict=True):
        assert t.shape == x.shape
        np.testing.assert_allclose(t.numpy(), x, rtol=rtol, atol=atol)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "shape, axis", [((6, 5), 1), ((3, 1000), -1), ((40, 300), 0), ((2, 5000), 1), ((7, 3, 33), 1)], ids=str
)
@pytest.mark.parametrize("name", SAME)
def test_results_of_the_same_rows_are_one_kernel(name, shape, axis, target, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    with strata.config(target=target):
        t = Tensor(x).realize()
        strata.reset_stats()
        got = SAME[name](t, axis)
        strata.realize(got)
        s = strata.stats()
        assert s.kernels == 1
        assert s.bytes == x.nbytes + sum(y.nbytes for y in got)
        check(got, SAME[name](x.astype(np.float64), axis))


def test_all_of_a_large_tensor_is_read_once_for_its_extremes(rng):
    x = rng.standard_normal(1 << 17).astype(np.float32)
    t = Tensor(x).realize()
    strata.reset_stats()
    got = [t.min(), t.max()]
    strata.realize(got)
    assert strata.stats().kernels == 1, "the parts of both, and what comes of each by the last block"
    assert strata.stats().bytes < 1.1 * x.nbytes
    assert [g.item() for g in got] == [x.min(), x.max()]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_on_every_arch(arch, target, rng):
    x = rng.standard_normal((5, 300)).astype(np.float32)
    arrays = [rng.standard_normal((31, 17)).astype(np.float32) for _ in range(4)]
    a, ws = arrays[0], [rng.standard_normal((17, 40)).astype(np.float32) for _ in range(3)]
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for make in SAME.values():
            for axis in (0, 1):
                got = make(Tensor(x), axis)
                strata.realize(got)
                check(got, make(x.astype(np.float64), axis))
        got = step(*map(Tensor, arrays))
        strata.realize(got)
        check(got, step(*[y.astype(np.float64) for y in arrays]))
        got = [Tensor(a) @ Tensor(w) for w in ws]
        strata.realize(got)
        check(got, [a.astype(np.float64) @ w for w in ws])


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_of_training_reads_each_array_once(target, rng):
    arrays = [rng.standard_normal((64, 100)).astype(np.float32) for _ in range(4)]
    with strata.config(target=target):
        tensors = [Tensor(a).realize() for a in arrays]
        strata.reset_stats()
        got = step(*tensors)
        strata.realize(got)
        assert strata.stats().kernels == 1
        assert strata.stats().bytes == 7 * 4 * 6400
        check(got, step(*[a.astype(np.float64) for a in arrays]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("n, k, m", [(5, 7, 3), (64, 64, 64), (128, 128, 128), (33, 65, 129), (1, 256, 256)])
def test_small_products_of_one_operand_are_one_kernel(n, k, m, dtype, target, rng):
    x, *ws = (rng.integers(-3, 4, s).astype(dtype) for s in ((n, k), (k, m), (k, m), (k, m)))
    bias = rng.integers(-3, 4, m).astype(dtype)
    with strata.config(target=target):
        t = Tensor(x)
        got = [t @ Tensor(ws[0]) + Tensor(bias), t @ Tensor(ws[1]), (t @ Tensor(ws[2])).maximum(0)]
        strata.reset_stats()
        strata.realize(got)
        assert strata.stats().kernels == (3 if dtype == "float16" and n == 128 else 1), (
            "matrix instructions, which have one result, are worth it"
        )
        wide = x.astype(np.float64)
        atol = 1e-5 if dtype == "float16" else 0  # matrix instructions of gfx1100 round on the way
        check(got, [wide @ ws[0] + bias, wide @ ws[1], np.maximum(wide @ ws[2], 0)], rtol=0, atol=atol)


@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n, k, m", [(8, 128, 128), (64, 64, 64), (128, 64, 64), (64, 128, 128), (128, 1024, 1024)])
def test_narrow_products_of_one_operand_take_no_longer_than_apart(n, k, m, dtype, arch):
    of_type = getattr(strata.dtypes, dtype)
    times = {}
    for fusion in ("cost", "less"):
        with strata.config(device=f"emu:{arch}", target="asm", fusion=fusion, emu_sampled=True):
            x, *ws = (Tensor.empty(*shape, dtype=of_type).realize() for shape in ((n, k), (k, m), (k, m)))
            strata.reset_stats()
            strata.realize([x @ w for w in ws])
            times[fusion] = strata.stats().time_ms
    assert times["cost"] <= times["less"]


def test_explanations_name_all_results():
    x = Tensor.empty(64, 300)
    text = strata.explain(x.mean(1), x.var(1))
    assert "-> float32 (64, 1) and float32 (64, 1)" in text and "1 kernel," in text, text


def test_a_search_keeps_all_values(rng, tmp_path):
    x = rng.standard_normal((96, 160)).astype(np.float32)
    with strata.config(beam=2, cache_dir=str(tmp_path)):
        for axis in (0, 1):
            got = extremes(Tensor(x), axis)
            strata.realize(got)
            check(got, extremes(x.astype(np.float64), axis))
