"""Products by matrix instructions: what the action matrix makes of tensors' products, on every arch that has such
instructions.
"""

import re

import numpy as np
import pytest
import strata
from strata import Tensor

ARCHS = ["gfx1100", "gfx1201", "gfx90a", "gfx942"]
TARGETS = ["hip", "asm"]
OPERANDS = ["float16", "bfloat16", "int8"]


def on(arch, target, **more):
    return strata.config(device=f"emu:{arch}", target=target, **more)


def operand(rng, shape, dtype):
    """(tensor, the values that it has as float64)"""
    values = rng.integers(-100, 100, shape) if dtype == "int8" else rng.standard_normal(shape)
    tensor = Tensor(values.astype(np.float32)).cast(dtype).realize()
    return tensor, tensor.cast("float32").numpy().astype(np.float64)


def expect_product(got, a, b, dtype, also=0.0):
    """Sums in float32 of exact products, rounded to the result's type; wrapped sums of bytes. `also` was added
    to them.
    """
    got = got.cast("float64").numpy()
    if dtype == "int8":
        np.testing.assert_array_equal(got.astype(np.int64), (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int8))
        return
    result = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-40}[dtype]
    sums = 2.0**-20 if dtype != "float64" else 2.0**-40
    want, most = a @ b + also, np.abs(a) @ np.abs(b) + np.abs(also)
    assert np.all(np.abs(got - want) <= result * np.abs(want) + sums * most)


def multiplies_matrices(tensor, arch, target="asm"):
    return [
        text for text in re.findall(r"v_(?:wmma|mfma)_\w+", strata.compile(tensor, arch=arch, target=target).assembly)
    ]


@pytest.mark.usual_schedules
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", OPERANDS)
def test_products_of_narrow_types_are_made_by_matrix_instructions(dtype, arch, target, rng):
    (x, a), (y, b) = operand(rng, (64, 96), dtype), operand(rng, (96, 128), dtype)
    with on(arch, target):
        assert multiplies_matrices(x @ y, arch)
        expect_product(x @ y, a, b, dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", OPERANDS)
def test_all_lanes_take_part_where_few_have_results(dtype, arch, target, rng):
    """Operands are computed in all lanes, though those beyond the last column store nothing."""
    a, b = rng.integers(-4, 5, (16, 100)).astype(np.float64), rng.integers(-4, 5, (100, 17)).astype(np.float64)
    with on(arch, target, check="raise"):
        product = (Tensor(a).cast(dtype).realize() * 2) @ (Tensor(b).cast(dtype).realize() + 1)
        expect_product(product, a * 2, b + 1, dtype)
        np.testing.assert_allclose(
            (product.cast("float32") * 0.5).numpy(), product.cast("float32").numpy() * 0.5, rtol=1e-6
        )


def rounds_along(rng, first, product, sums):
    """(tensor, NumPy's value) of sums of products whose operands, products and sums have these types one after the
    other.
    """
    x, y = (
        rng.integers(-128, 128, (32, 32)).astype(np.int8)
        if first == "int8"
        else (300 * rng.standard_normal((32, 32))).astype(first)
        for _ in range(2)
    )

    def sum_of(a, b, cast):
        return cast(cast(a, product[0]) * cast(b, product[-1]), sums).sum(-1, dtype=sums)

    got = sum_of(Tensor(x).reshape(32, 1, 32), Tensor(y).reshape(1, 32, 32), lambda t, to: t.cast(to))
    with np.errstate(over="ignore"):
        return got, sum_of(x[:, None], y[None], lambda a, to: a.astype(to))


@pytest.mark.parametrize(
    "first, product, sums",
    [
        ("int8", ("int8",), "int32"),
        ("int8", ("uint8", "int32"), "int32"),
        ("int8", ("uint16",), "int32"),
        ("int8", ("uint32",), "int32"),
        ("float16", ("float16",), "float32"),
        ("float32", ("float16",), "float32"),
        ("float32", ("float16", "float32"), "float32"),
    ],
)
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_casts_between_operands_products_and_sums_that_lose_values_lose_them(arch, first, product, sums, rng):
    with on(arch, "asm"):
        got, want = rounds_along(rng, first, product, sums)
        got = got.numpy()
    if sums == "int32":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
        kept = np.isfinite(want)
        np.testing.assert_allclose(got[kept], want[kept], rtol=0, atol=2.0**-19 * np.abs(want[kept]).max(initial=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_wide_products_of_cdna_are_too(arch, dtype, rng):
    (x, a), (y, b) = operand(rng, (64, 64), dtype), operand(rng, (64, 64), dtype)
    for target in TARGETS:
        with on(arch, target):
            assert multiplies_matrices(x @ y, arch)
            expect_product(x @ y, a, b, dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "arch, dtype",
    [("gfx1201", "fp8e4m3"), ("gfx1201", "fp8e5m2"), ("gfx942", "fp8e4m3fnuz"), ("gfx942", "fp8e5m2fnuz")],
)
def test_products_of_8_bit_floats_are_where_the_arch_has_them(arch, dtype, target, rng):
    (x, a), (y, b) = operand(rng, (64, 96), dtype), operand(rng, (96, 64), dtype)
    with on(arch, target):
        product = x.cast("float32") @ y.cast("float32")
        assert all("8" in name for name in multiplies_matrices(product, arch)) and multiplies_matrices(product, arch)
        expect_product(product, a, b, "float32")


def test_products_that_an_arch_has_no_instruction_for_are_not(rng):
    x, _ = operand(rng, (64, 64), "float32")
    assert not multiplies_matrices(x @ x, "gfx1100")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("moved", ["left", "right", "both", "result"])
def test_operands_and_results_may_lie_in_memory_either_way(moved, arch, rng):
    (x, a), (y, b) = operand(rng, (96, 64), "float16"), operand(rng, (96, 64), "float16")
    (z, c) = operand(rng, (64, 96), "float16")
    product, left, right = {
        "left": (x.T @ y, a.T, b),
        "right": (x @ y.T, a, b.T),
        "both": (x.T @ z.T, a.T, c.T),
        "result": ((x @ z).T, c.T, a.T),
    }[moved]
    with on(arch, "asm"):
        assert multiplies_matrices(product, arch)
        expect_product(product, left, right, "float16")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_what_is_done_with_a_product_stays_with_it(arch, target, rng):
    (x, a), (y, b) = operand(rng, (64, 48), "float16"), operand(rng, (48, 64), "float16")
    (bias, c), (residual, d) = operand(rng, (64,), "float16"), operand(rng, (64, 64), "float16")
    with on(arch, target):
        out = (x.cast("float32") @ y.cast("float32") + bias + residual).relu()
        assert len(strata.compile(out, arch=arch, target=target).kernels) == 1
        assert multiplies_matrices(out, arch)
        np.testing.assert_allclose(out.numpy(), np.maximum(a @ b + c + d, 0), atol=1e-4)


@pytest.mark.parametrize(
    "sizes", [(16, 16, 16), (17, 33, 19), (100, 40, 260), (300, 300, 300), (64, 1000, 48)], ids=str
)
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_sides_of_any_size_are_filled_up_with_zeros_that_nobody_loads(sizes, arch, rng):
    m, k, n = sizes
    (x, a), (y, b) = operand(rng, (m, k), "float16"), operand(rng, (k, n), "float16")
    with on(arch, "asm", check="raise"):
        assert multiplies_matrices(x @ y, arch)
        expect_product(x @ y, a, b, "float16")


def test_values_beyond_the_sides_do_not_matter(rng):
    """The memory after an operand's rows is infinite."""
    x, y = rng.standard_normal((40, 64)).astype(np.float16), rng.standard_normal((64, 40)).astype(np.float16)
    x[:, 33:], y[33:, :] = np.inf, np.inf
    got = Tensor(x)[:, :33] @ Tensor(y)[:33, :]
    assert multiplies_matrices(got, "gfx1100")
    np.testing.assert_allclose(
        got.numpy(), x[:, :33].astype(np.float32) @ y[:33, :].astype(np.float32), rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("arch", ARCHS)
def test_batches_and_shared_weights_are_products_too(arch, rng):
    (x, a), (y, b), (w, c) = (
        operand(rng, (3, 32, 64), "float16"),
        operand(rng, (3, 64, 32), "float16"),
        operand(rng, (64, 48), "float16"),
    )
    with on(arch, "asm"):
        for left, right, want in [(x, y, (a, b)), (x, w, (a, c))]:
            assert multiplies_matrices(left @ right, arch)
            expect_product(left @ right, *want, "float16")


@pytest.mark.parametrize("arch", ARCHS)
def test_a_large_product_comes_by_way_of_local_memory_and_is_clean(arch, rng):
    (x, a), (y, b) = operand(rng, (256, 128), "bfloat16"), operand(rng, (128, 192), "bfloat16")
    with on(arch, "asm", check="raise"):
        kernel = strata.compile(x @ y, arch=arch, target="asm").kernels[-1]
        assert kernel.lds and re.search("stage|double_buffer|async_copy", kernel.schedule) and not kernel.scratch
        expect_product(x @ y, a, b, "bfloat16")


def test_convolutions_of_halves_are_right(rng):
    image, weights = (
        rng.standard_normal((1, 16, 18, 18)).astype(np.float16),
        rng.standard_normal((16, 16, 3, 3)).astype(np.float16),
    )
    windows = strata.stack([Tensor(image)[:, :, i : i + 16, j : j + 16] for i in range(3) for j in range(3)])
    got = (
        (windows.reshape(9, 16, 1, 16, 16) * Tensor(weights).permute(2, 3, 1, 0).reshape(9, 16, 16, 1, 1))
        .sum(axis=(0, 1))
        .numpy()
    )
    want = sum(
        np.einsum(
            "chw,oc->ohw",
            image[0, :, i : i + 16, j : j + 16].astype(np.float64),
            weights[:, :, i, j].astype(np.float64),
        )
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(got.reshape(16, 16, 16), want, rtol=0.02, atol=0.05)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint8", "int8", "bool"])
@pytest.mark.parametrize("m, k, n", [(48, 17, 128), (64, 64, 64), (32, 48, 33)])
def test_sums_of_narrow_products_that_are_widened_again_keep_their_values(dtype, arch, target, m, k, n, rng):
    """clang 19 takes other bytes of joined loads, and one product of halves for another."""
    a, b = (rng.integers(0, 2 if dtype == "bool" else 4, shape).astype(dtype) for shape in ((m, k), (k, n)))
    with strata.config(device=f"emu:{arch}", target=target):
        got = (Tensor(a) @ Tensor(b)).cast("float64").numpy()
    np.testing.assert_array_equal(got, (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype))
