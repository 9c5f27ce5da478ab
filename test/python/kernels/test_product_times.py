"""Modelled times of products have no cliffs: no layout of the operands, and no row more, makes one much slower."""

import itertools

import numpy as np
import pytest
import strata

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
LAYOUTS = {
    "a @ b": lambda a, b: a @ b,
    "a @ b.T": lambda a, b: a @ b.T,
    "a.T @ b": lambda a, b: a.T @ b,
    "a.T @ b.T": lambda a, b: a.T @ b.T,
}


def modelled_ms(call, *shapes, dtype):
    tensors = [strata.Tensor.empty(*shape, dtype=dtype).realize() for shape in shapes]
    strata.reset_stats()
    call(*tensors).realize()
    return strata.stats().time_ms


@pytest.mark.parametrize("arch, dtype, side", itertools.product(ARCHS, ("float32", "float16"), (512, 1024)))
def test_no_layout_of_operands_takes_much_longer_than_another(arch, dtype, side):
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        times = {name: modelled_ms(call, *[(side, side)] * 2, dtype=dtype) for name, call in LAYOUTS.items()}
    assert max(times.values()) <= 2.2 * min(times.values()), times


@pytest.mark.parametrize("arch, dtype", itertools.product(ARCHS, ("float16", "bfloat16")))
def test_rows_that_a_matrix_instruction_has_room_for_take_no_longer_than_all_of_them(arch, dtype):
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        times = {m: modelled_ms(LAYOUTS["a @ b"], (m, 2048), (2048, 4096), dtype=dtype) for m in (8, 9, 11, 13, 15, 16)}
    assert max(times.values()) <= 1.1 * times[16], times


@pytest.mark.parametrize(
    "arch, size", itertools.product(ARCHS, ((2047, 2045, 2049), (1025, 1024, 1091), (4095, 4093, 4097)))
)
def test_odd_sizes_take_little_longer_than_the_next_ones_that_tiles_divide(arch, size):
    whole = [-(-side // 128) * 128 for side in size]
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        odd, even = (modelled_ms(LAYOUTS["a @ b"], (m, k), (k, n), dtype="bfloat16") for m, k, n in (size, whole))
    assert odd <= 2 * even, (odd, even)


@pytest.mark.parametrize(
    "layout, arch, target",
    [(layout, arch, "asm") for layout in LAYOUTS for arch in ("gfx1100", "gfx942")]
    + [("a @ b", "gfx1100", "hip"), ("a @ b", "gfx942", "hip")],
)
def test_products_whose_rows_start_between_dwords_are_those_of_float64(layout, arch, target):
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((261, 261)).astype(np.float16) for _ in range(2))
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        got = LAYOUTS[layout](strata.Tensor(a), strata.Tensor(b)).numpy().astype(np.float64)
    want = LAYOUTS[layout](a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("target, rows", itertools.product(("asm", "hip"), (8, 11, 15)))
def test_products_of_few_rows_are_those_of_float64(target, rows):
    rng = np.random.default_rng(rows)
    for arch, (k, n) in zip(("gfx1100", "gfx942"), ((272, 300), (333, 512))):
        a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((rows, k), (k, n)))
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            got = (strata.Tensor(a) @ strata.Tensor(b)).numpy().astype(np.float64)
        np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("target, depth", itertools.product(("asm", "hip"), (64, 96, 128, 160)))
def test_products_of_few_and_of_odd_numbers_of_steps_are_those_of_float64(target, depth):
    """Loops read a step ahead, and store it to the other half of local memory: there is none after the last."""
    rng = np.random.default_rng(depth)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, depth), (depth, 256)))
    for arch in ("gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            got = (strata.Tensor(a) @ strata.Tensor(b)).numpy().astype(np.float64)
        np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3, atol=2e-2)
