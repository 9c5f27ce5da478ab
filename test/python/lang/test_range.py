"""lang.range: steps that are unrolled, and copies that come ahead of the step that reads them."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang, layout as lo
from tested import TARGETS

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")


@strata.kernel(grid=1, block=32)
def polynomial(out: lang.Tensor, x: lang.Tensor, n: lang.Constexpr, unroll: lang.Constexpr):
    i, value, last = lang.thread_idx.x, 0.0, 0
    for k in lang.range(n, unroll=unroll):
        value = value * x[i] + k
        last = k
    out[i] = value + last * 1000


@strata.kernel(grid=1, block=32)
def of_given_steps(out: lang.Tensor, n, unroll: lang.Constexpr):
    i, total, steps = lang.thread_idx.x, 0, 0
    for k in lang.range(3, n, 2, unroll=unroll):
        total += k * k
        steps += 1
    for k in lang.range(i, unroll=unroll):
        total += 10000 * k
    out[i] = total + 1000000 * steps


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("unroll", [1, 2, 3, 4, 7, 40])
def test_unrolled_steps_give_what_those_of_a_loop_give(unroll, target):
    x = np.linspace(-1, 1, 32, dtype="float32")
    with strata.config(device="emu:gfx1100", target=target, check="raise"):
        for n in (1, 2, 6, 7):
            wanted = np.zeros(32)
            for k in range(n):
                wanted = wanted * x + k
            (got,) = polynomial(Tensor.zeros(32), Tensor(x), n, unroll)
            np.testing.assert_allclose(got.numpy(), wanted + (n - 1) * 1000, rtol=1e-5)


@pytest.mark.parametrize("unroll", [1, 2, 3, 8])
def test_steps_that_the_launch_gives_are_unrolled_too(unroll):
    with strata.config(check="raise"):
        for n in (0, 3, 4, 9, 20):
            (got,) = of_given_steps(Tensor.zeros(32, dtype="int32"), n, unroll)
            odd = [k for k in range(3, n, 2)]
            wanted = [sum(k * k for k in odd) + 1000000 * len(odd) + 10000 * sum(range(i)) for i in range(32)]
            assert got.numpy().tolist() == wanted


def test_the_loop_has_so_much_fewer_steps():
    def size_of(unroll):
        tree = polynomial.graph(lang.TensorSpec(32), lang.TensorSpec(32), 12, unroll).tree()
        (loop,) = (line for line in tree.splitlines() if " = range " in line)
        return int(loop.split()[5]), tree.count(" = mul float32")

    assert size_of(1) == (12, 1)
    assert size_of(4) == (3, 4)


def test_lists_and_branches_are_carried_through_unrolled_steps():
    @strata.kernel(grid=1, block=8)
    def f(out: lang.Tensor, unroll: lang.Constexpr):
        i, held = lang.thread_idx.x, [0, 1]
        for k in lang.range(9, unroll=unroll):
            if (i + k) % 2 == 0:
                held[0] = held[0] + k
            else:
                held[1] = held[1] * 2 % 1009
        out[i] = held[0] * 2000 + held[1]

    values = [f(Tensor.zeros(8, dtype="int32"), unroll)[0].numpy().tolist() for unroll in (1, 2, 3)]
    assert values[0] == values[1] == values[2]
    wanted = []
    for i in range(8):
        a, b = 0, 1
        for k in range(9):
            a, b = (a + k, b) if (i + k) % 2 == 0 else (a, b * 2 % 1009)
        wanted.append(a * 2000 + b)
    assert values[0] == wanted


@strata.kernel(grid=1, block=128)
def column_sums(out: lang.Tensor, a: lang.Tensor, stages: lang.Constexpr):
    """Each thread adds up what its mirrored one copied."""
    i, row, total = lang.thread_idx.x, lang.shared(128, "float32"), 0.0
    for k in lang.range(a.shape[0], stages=stages):
        row[i] = a[k, i]
        lang.barrier()
        total = total * 0.5 + row[127 - i]
        lang.barrier()
    out[i] = total


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_copies_of_any_number_of_stages_give_the_same(rng, arch, target):
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for steps in (1, 2, 5):
            a = rng.standard_normal((steps, 128)).astype("float32")
            wanted = np.zeros(128)
            for row in a:
                wanted = wanted * 0.5 + row[::-1]
            for stages in (1, 2, 3, 4):
                (got,) = column_sums(Tensor.zeros(128), Tensor(a), stages)
                np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_the_reference_finds_nothing_wrong_with_copies_ahead(rng):
    a = rng.standard_normal((5, 128)).astype("float32")
    for stages in (1, 2, 4):
        (got,) = column_sums.interpret(Tensor.zeros(128), Tensor(a), stages)
        (wanted,) = column_sums(Tensor.zeros(128), Tensor(a), 1)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_local_memory_has_a_part_for_each_stage():
    def lds(stages):
        made = column_sums.compiled(lang.TensorSpec(128), lang.TensorSpec((8, 128)), stages)
        return strata.compile(made, arch="gfx1100", target="asm").kernels[0].lds

    assert [lds(stages) for stages in (1, 2, 3)] == [512, 1024, 1536]


def test_steps_of_a_causal_loop_come_ahead(rng):
    """Blocks of different numbers of steps, as attention has them."""

    @strata.kernel(grid=4, block=64)
    def below(out: lang.Tensor, a: lang.Tensor):
        block, i, row, total = lang.block_idx.x, lang.thread_idx.x, lang.shared(64, "float32"), 0.0
        for k in lang.range((block + 1) * 2 // 2, stages=2):
            row[i] = a[k, i]
            lang.barrier()
            total += row[63 - i]
            lang.barrier()
        out[block, i] = total

    a = rng.standard_normal((4, 64)).astype("float32")
    with strata.config(check="raise"):
        (got,) = below(Tensor.zeros(4, 64), Tensor(a))
    np.testing.assert_allclose(got.numpy(), np.cumsum(a, 0)[:, ::-1], rtol=1e-5)


def refusal(body, *arguments):
    with pytest.raises(strata.UsageError) as found:
        strata.kernel(body, grid=1, block=64)(Tensor.zeros(64), Tensor.zeros(8, 64), *arguments)
    return str(found.value)


def test_what_cannot_come_ahead_says_why():
    def no_barrier(out: lang.Tensor, a: lang.Tensor):
        row, i = lang.shared(64, "float32"), lang.thread_idx.x
        for k in lang.range(8, stages=2):
            row[i] = a[k, i]
            out[i] = row[i]

    def leaves(out: lang.Tensor, a: lang.Tensor):
        row, i = lang.shared(64, "float32"), lang.thread_idx.x
        for k in lang.range(8, stages=2):
            row[i] = a[k, i]
            lang.barrier()
            if row[i] > 1:
                break

    def empty(out: lang.Tensor, a: lang.Tensor, n):
        row, i = lang.shared(64, "float32"), lang.thread_idx.x
        for k in lang.range(n, stages=2):
            row[i] = a[k, i]
            lang.barrier()
            out[i] = row[i]

    def nothing(out: lang.Tensor, a: lang.Tensor):
        for k in lang.range(8, stages=2):
            out[lang.thread_idx.x] = a[k, 0]

    def both(out: lang.Tensor, a: lang.Tensor):
        for k in lang.range(8, stages=2, unroll=2):
            out[lang.thread_idx.x] = a[k, 0]

    def unrolled_break(out: lang.Tensor, a: lang.Tensor):
        for k in lang.range(8, unroll=2):
            if a[k, 0] > 1:
                break

    assert "no lang.barrier() of the loop comes after all its copies" in refusal(no_barrier)
    assert "threads leave the loop by themselves" in refusal(leaves)
    assert "the loop may take no step" in refusal(empty, 4)
    assert "copies nothing of a tensor to memory of the block" in refusal(nothing)
    assert "different loops" in refusal(both)
    assert "break or return leaves" in refusal(unrolled_break)


def test_a_refusal_points_at_the_loop():
    def no_barrier(out: lang.Tensor, a: lang.Tensor):
        row, i = lang.shared(64, "float32"), lang.thread_idx.x
        for k in lang.range(8, stages=2):
            row[i] = a[k, i]
            out[i] = row[i]

    with pytest.raises(strata.UsageError) as found:
        strata.kernel(no_barrier, grid=1, block=64)(Tensor.zeros(64), Tensor.zeros(8, 64))
    frame = found.traceback[-1]
    assert frame.path.name == "test_range.py" and "lang.range(8, stages=2)" in str(frame.statement)


def test_numbers_of_stages_and_unrolled_steps_are_checked():
    for given in ({"unroll": 0}, {"stages": -1}, {"unroll": 1.5}, {"stages": True}):
        with pytest.raises(strata.UsageError, match="a number from 1 on"):
            lang.range(4, **given)
    assert list(lang.range(4, unroll=2)) == [0, 1, 2, 3]


def test_a_product_with_stages_is_that_without(rng):
    @strata.kernel(grid=(1, 2), block=128)
    def product(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, stages: lang.Constexpr):
        m, n = lang.block_idx.x, lang.block_idx.y
        mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype), (2, 128 // lang.wave_size() // 2, 1))
        thread = mma.get_slice(lang.thread_idx.x)
        ga, gb = lo.local_tile(a, (64, 32), (m, None)), lo.local_tile(b, (64, 32), (n, None))
        gc = lo.local_tile(c, (64, 64), (m, n))
        sa, sb = (lang.shared(lo.Layout((64, 32), (40, 1)), a.dtype) for _ in range(2))
        sums = thread.make_fragment_C(gc)
        sums.fill(0)
        for k in lang.range(ga.shape[2], stages=stages):
            lang.copy_tile(ga[None, None, k], sa)
            lang.copy_tile(gb[None, None, k], sb)
            lang.barrier()
            lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
            lang.barrier()
        thread.store_C(sums, gc)

    a, b = (rng.standard_normal((rows, 160)).astype("float16") for rows in (64, 128))
    for arch in ARCHS:
        with strata.config(device=f"emu:{arch}", check="raise"):
            for stages in (2, 3):
                (c,) = product(Tensor.zeros(64, 128), Tensor(a), Tensor(b), stages)
                np.testing.assert_allclose(c.numpy(), a.astype(float) @ b.astype(float).T, rtol=1e-4, atol=1e-4)
