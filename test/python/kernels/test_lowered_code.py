"""Direct lowering picks the instructions that do several operations at once, and they mean what the operations do."""

import functools
import operator

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, uop

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")


@pytest.fixture(params=ARCHS)
def lowered(request):
    """Values and text of a tensor made on an arch by direct lowering."""
    with strata.config(device=f"emu:{request.param}", target="asm"):
        yield lambda make: (make().numpy(), strata.compile(make(), request.param, "asm").assembly)


def numbers(*shape):
    return np.random.default_rng(3).integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)


def rotation(x, join, left, right):
    return join(x << left, x >> right)


def mnemonics(text):
    return [
        line.split()[0] for line in text.splitlines() if line.startswith("    ") and not line.lstrip().startswith(";")
    ]


@pytest.mark.parametrize("join", [operator.or_, operator.xor, operator.add])
def test_rotations_are_one_instruction_for_every_distance(lowered, join):
    host = numbers(64)
    for distance in (1, 2, 8, 13, 16, 19, 24, 31):
        values, text = lowered(lambda d=distance: rotation(Tensor(host), join, d, 32 - d))
        assert np.array_equal(values, host << np.uint32(distance) | host >> np.uint32(32 - distance))
        assert mnemonics(text).count("v_alignbit_b32") == 1, text


def test_shifts_that_are_no_rotation_stay_shifts(lowered):
    host = numbers(64)
    for left, right in ((13, 18), (13, 20), (4, 4)):
        values, text = lowered(lambda left=left, right=right: rotation(Tensor(host), operator.or_, left, right))
        assert np.array_equal(values, host << np.uint32(left) | host >> np.uint32(right))
        assert "v_alignbit_b32" not in mnemonics(text)
    signed = host.view(np.int32)
    values, _ = lowered(lambda: rotation(Tensor(signed), operator.or_, 13, 19))
    assert np.array_equal(values, signed << 13 | signed >> 19)


@pytest.mark.parametrize("dtype", ["uint32", "int32"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (1, 3, 2, 0), (2, 1, 3, 0)])
def test_sums_of_what_lanes_share_and_what_they_do_not_wrap_as_any_sum(lowered, dtype, order):
    own, other, shared = numbers(64).view(dtype), numbers(2, 64)[1].view(dtype), numbers(4).view(dtype)

    def make():
        key = Tensor(shared)
        terms = [Tensor(own), key[1] + Tensor(other), key[2], key[3]]
        a, b, c, d = (terms[i] for i in order)
        return ((a + b) + c + 77 + d).contiguous()

    values, _ = lowered(make)
    want = sum(t.astype(np.int64) for t in (own, other, *shared[1:])) + 77
    assert np.array_equal(values.astype(np.int64) & 0xFFFFFFFF, np.broadcast_to(want, (64,)) & 0xFFFFFFFF)


@pytest.mark.parametrize("low, high", [(0, 255), (-128, 127), (-4000, 4000), (0, 60000), (-(1 << 30), 1 << 30)])
def test_products_that_are_added_up_keep_all_bits(lowered, low, high):
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(low, high + 1, 256).astype(np.int32) for _ in range(3))
    narrow = (
        "int8"
        if low >= -128 and high <= 127
        else "uint8"
        if low >= 0 and high <= 255
        else "int16"
        if high < 1 << 15
        else "int32"
    )
    values, _ = lowered(
        lambda: Tensor(a.astype(narrow)).cast("int32") * Tensor(b.astype(narrow)).cast("int32") + Tensor(c)
    )
    want = a.astype(narrow).astype(np.int64) * b.astype(narrow).astype(np.int64) + c
    assert np.array_equal(values, want.astype(np.int32))


def test_products_of_float16_are_added_up_in_float32_without_conversions(lowered):
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 17), (17, 64), (17, 64)))
    values, text = lowered(
        lambda: Tensor(a) @ Tensor(b) + Tensor(a) @ Tensor(c)
    )  # two short sums in one kernel: no matrix instructions
    assert np.allclose(values, a.astype(np.float64) @ b + a.astype(np.float64) @ c, rtol=2e-3, atol=2e-2)
    found = mnemonics(text)
    assert "v_fma_mix_f32" in found and not any(name.startswith("v_cvt_f32_f16") for name in found), text


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 65504.0, 6e-8, -0.0])
def test_sums_of_float16_products_know_infinities_and_small_numbers(lowered, special):
    a, b = np.ones((16, 16), np.float16), np.eye(16, 7, dtype=np.float16)  # too few columns for matrix instructions
    a[3, 5], b[5, 6] = special, 0.5
    values, _ = lowered(lambda: Tensor(a).cast(dtypes.float32) @ Tensor(b).cast(dtypes.float32))
    assert np.array_equal(values, a.astype(np.float32) @ b.astype(np.float32), equal_nan=True)


def test_a_greatest_value_is_found_in_one_stretch_a_step(lowered):
    host = np.random.default_rng(6).standard_normal((4, 4096)).astype(np.float32)
    host[1, 17] = np.nan
    values, text = lowered(lambda: Tensor(host).max(axis=1))
    assert np.array_equal(values, host.max(axis=1), equal_nan=True)
    found = mnemonics(text)
    assert found.count("s_cbranch_execz") <= sum(name.startswith("s_barrier") for name in found) + 1, text


def test_bfloat16_is_widened_by_one_instruction_an_element(lowered):
    a, b = (
        Tensor(np.random.default_rng(seed).standard_normal((16, 16)).astype(np.float32)).cast("bfloat16").realize()
        for seed in (11, 12)
    )
    values, text = lowered(lambda: a.cast("float32") @ b.cast("float32"))
    assert np.allclose(values, a.cast("float32").numpy() @ b.cast("float32").numpy(), rtol=1e-5, atol=1e-5)
    found = mnemonics(text)
    assert (
        not any(name.startswith("v_lshrrev") for name in found) and sum(name.startswith("v_bfe") for name in found) <= 2
    ), text


@pytest.mark.parametrize("dtype", ["fp8e4m3", "fp8e5m2", "fp8e4m3fnuz", "fp8e5m2fnuz"])
def test_8_bit_floats_are_loaded_in_vectors_and_keep_their_values(lowered, dtype):
    codes = np.arange(256, dtype=np.uint8)
    values, text = lowered(lambda: Tensor(codes).bitcast(dtype).contiguous().cast("float32").contiguous())
    with strata.config(target="hip"):
        want = Tensor(codes).bitcast(dtype).cast("float32").numpy()
    assert np.array_equal(values, want, equal_nan=True)
    assert np.array_equal(np.signbit(values[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


def bytes_of(dtype, *shape, seed=7):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("a_type, b_type", [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_products_of_bytes_are_added_up_by_matrices_or_four_at_a_time(lowered, a_type, b_type):
    a, b = bytes_of(a_type, 64, 64), bytes_of(b_type, 64, 64, seed=8)
    values, text = lowered(lambda: Tensor(a).cast("int32") @ Tensor(b).cast("int32"))
    assert np.array_equal(values, a.astype(np.int32) @ b.astype(np.int32))
    found = mnemonics(text)
    if a_type == b_type == "int8":
        assert any(name.startswith(("v_wmma_i32", "v_mfma_i32")) for name in found), text
    elif a_type == b_type or "gfx1" in text:
        assert any(name.startswith("v_dot4") for name in found) and not any(
            "_i24" in name or "_u24" in name for name in found
        ), text
    else:
        assert not any(name.startswith("v_dot4") for name in found), text


@pytest.mark.parametrize("terms", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1), (0, 0, 1, 1), (0, 1, 2), (0, 1, 2, 3, 1)])
def test_bytes_of_any_places_are_multiplied_as_they_stand(lowered, terms):
    a, b = bytes_of("int8", 64, 4), bytes_of("int8", 4, 64, seed=9)

    def make():
        x, y = Tensor(a).cast("int32"), Tensor(b).cast("int32")
        total = x[:, terms[0]] * y[0]
        for n, k in enumerate(terms[1:], 1):
            total = total + x[:, k] * y[n % 4]
        return total

    values, _ = lowered(make)
    want = sum(a[:, k].astype(np.int32) * b[n % 4] for n, k in enumerate(terms))
    assert np.array_equal(values, want)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_truths_are_counted_by_their_carries(lowered, dtype):
    host = np.random.default_rng(10).integers(0, 9, (64, 12)).astype(np.int32)
    values, text = lowered(lambda: (Tensor(host) < 4).cast(dtype).sum(axis=1))
    assert np.array_equal(values, (host < 4).sum(axis=1))
    found = mnemonics(text)
    assert sum(name.startswith(("v_add_co_ci", "v_addc_co")) for name in found) >= 11, text
    assert sum(name.startswith("v_cndmask") for name in found) <= 1, text


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sums_across_a_workgroup_run_for_the_lanes_that_store_them(lowered, dtype):
    host = np.random.default_rng(13).integers(-99, 99, (4, 4096)).astype(dtype)
    values, text = lowered(lambda: Tensor(host).sum(axis=1))
    assert np.array_equal(values, host.sum(axis=1))
    found = mnemonics(text)
    assert found.count("s_cbranch_execz") <= sum(name.startswith("s_barrier") for name in found) + 1, text


def test_sums_up_to_each_element_compare_each_distance_once(lowered):
    host = np.arange(1024 * 32, dtype=np.float32).reshape(1024, 1, 32) % 7
    near = np.arange(32)
    values, text = lowered(
        lambda: (Tensor(near) <= Tensor(near[:, None])).where(Tensor(host).expand(1024, 32, 32), 0).sum(2)
    )
    assert np.array_equal(values, host[:, 0].cumsum(1))
    found = mnemonics(text)
    assert 2 * sum(name.startswith("v_cmp") for name in found) < sum("v_cndmask" in name for name in found), text


@pytest.mark.parametrize("threads", [1024, 1000])
def test_what_no_register_holds_is_kept_in_memory_of_each_lane(lowered, threads):
    values, groups = 300, 2
    host = np.random.default_rng(14).integers(-9, 10, (values, groups * threads)).astype(np.float32)

    def kernel(out, x):
        lane = uop.special("gidx0", groups) * threads + uop.special("lidx0", threads)
        held = [x[i * groups * threads + lane].load() for i in range(values)]
        total = functools.reduce(operator.add, held)
        return uop.sink(*(out[i * groups * threads + lane].store(v * total) for i, v in enumerate(held)))

    def make():
        return Tensor.empty(*host.shape).custom_kernel(Tensor(host), kernel=kernel)[0]

    with strata.config(check="raise"):
        got, text = lowered(make)
    assert np.array_equal(got, host * host.sum(axis=0))
    assert {"scratch_store", "scratch_load"} <= {"_".join(name.split("_")[:2]) for name in mnemonics(text)}


@pytest.mark.parametrize("columns", [8, 12, 16, 24])
@pytest.mark.parametrize("shift", [-2, 1])
def test_lanes_without_work_stay_out_beside_many_masks(lowered, columns, shift):
    """Blocks of less than a wave whose last lanes have no row, and a mask for each column at once."""
    x = numbers(200, columns).astype(np.float32)
    rows, steps = Tensor.arange(200).reshape(200, 1), Tensor.arange(columns).reshape(1, columns)
    with strata.config(check="raise"):
        got, _ = lowered(lambda: (steps <= rows + shift).where(Tensor(x), 0).sum(-1))
    np.testing.assert_allclose(got, np.tril(x.astype(np.float64), shift).sum(-1), rtol=1e-5)


def test_bytes_are_stored_as_they_were_loaded_and_transposed_without_being_taken_apart(lowered):
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-128, 128, (128, 128)).astype(np.int8) for _ in range(2))
    x, y = Tensor(a).realize(), Tensor(b).realize()
    values, text = lowered(lambda: x.cast("int32") @ y.cast("int32"))
    assert np.array_equal(values, a.astype(np.int32) @ b.astype(np.int32))
    assert "v_perm_b32" in mnemonics(text) and "v_bfe_i32" not in mnemonics(text), text


def test_accesses_of_local_memory_by_one_address_are_one_instruction(lowered):
    host = np.random.default_rng(7).standard_normal((64, 128, 64), dtype=np.float32)
    values, text = lowered(lambda: Tensor(host).sum(axis=1))
    np.testing.assert_allclose(values, host.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-4)
    assert {"ds_load_2addr_b32", "ds_read2_b32"} & set(mnemonics(text)), text


def test_what_offsets_do_not_reach_shares_a_base(lowered):
    host = np.random.default_rng(8).standard_normal((64, 128, 64), dtype=np.float32)
    _, text = lowered(lambda: Tensor(host).sum(axis=1))
    assert mnemonics(text).count("s_addc_u32") + mnemonics(text).count("s_add_co_ci_u32") <= 6, text


def test_columns_of_a_product_come_into_scalar_registers_wherever_they_lie():
    x, y = (Tensor.zeros(1024, 1024).contiguous().realize() for _ in range(2))
    used = mnemonics(strata.compile(x @ y, "gfx1100", "asm").assembly)
    assert used.count("s_load_b128") >= 16 and "global_load_b128" not in used


def wide(low, high, n=64):
    return np.random.default_rng(5).integers(low, high, n, dtype=np.uint64)


@pytest.mark.parametrize("a_bits, b_bits, products", [(32, 32, 0), (64, 32, 1), (32, 64, 1), (64, 64, 2)])
def test_products_of_64_bits_have_as_many_parts_as_their_factors_have_halves(lowered, a_bits, b_bits, products):
    a, b = (wide(0, (1 << bits) - 1) for bits in (a_bits, b_bits))

    def factor(x, bits):
        return Tensor(x.astype(f"uint{bits}")).cast("uint64")

    values, text = lowered(lambda: factor(a, a_bits) * factor(b, b_bits))
    np.testing.assert_array_equal(values, a * b)
    assert mnemonics(text).count("v_mul_lo_u32") == products, text
    assert sum(m.startswith(("v_mad_u64_u32", "v_mad_co_u64_u32")) for m in mnemonics(text)) == 1, text


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
@pytest.mark.parametrize("by", [31, 32, 33, 63])
def test_shifts_of_64_bits_by_a_half_and_more_are_those_of_32(lowered, dtype, by):
    x = wide(0, (1 << 64) - 1).astype(dtype)
    values, text = lowered(lambda: Tensor(x) << by)
    np.testing.assert_array_equal(values, x << x.dtype.type(by))
    assert any("lshl" in m and "64" in m for m in mnemonics(text)) == (by < 32), text
    values, text = lowered(lambda: Tensor(x) >> by)
    np.testing.assert_array_equal(values, x >> x.dtype.type(by))
    assert any("shr" in m and "64" in m for m in mnemonics(text)) == (by < 32), text


def test_a_block_of_random_words_is_four_elements_and_a_product_for_each_word_of_its_rounds(lowered):
    _, text = lowered(lambda: Tensor.rand(1 << 12))
    words = [
        m for m in mnemonics(text) if "mul_lo" in m or "mul_hi" in m or m.startswith(("v_mad_u64", "v_mad_co_u64"))
    ]
    assert len(words) == 20 and all("mad" in m for m in words), text
    assert sum("store" in m for m in mnemonics(text)) == 1, text
