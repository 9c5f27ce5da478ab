"""Matrix products over views: every row that the emulator runs, by both targets in strict mode, against NumPy."""

import re
from pathlib import Path

import pytest
from tiles import ARCHS, TARGETS, WAVE, lang, lo, np, run, strata, tracing

FAMILIES = {"gfx1100": "rdna3", "gfx1201": "rdna4", "gfx942": "cdna3", "gfx90a": "cdna2"}


def rows():
    table = (Path(__file__).parents[3] / "codegen/target/matrix_shapes.def").read_text()
    for row in re.findall(r"^MATRIX\( (.*) \)", table, re.M):
        family, name, m, n, k, operand, acc, *_ = re.split(r",\s*", row)
        for arch in ARCHS:
            if FAMILIES[arch] == family:
                yield arch, name, (int(m), int(n), int(k)), operand, acc


ROWS = list(rows())


def drawn(rng, shape, dtype, arch):
    """Small numbers, whose products and sums are exact: of floats of gfx1100 those of one sign."""
    if dtype == "int8":
        return strata.Tensor(rng.integers(-9, 9, shape).astype(np.int8))
    least = 0 if arch == "gfx1100" else -3
    return strata.Tensor(rng.integers(least, 4, shape).astype(np.float32)).cast(dtype)


def float64(t):
    return t.cast("float64").numpy() if t.dtype.name != "float64" else t.numpy()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch, name, mnk, operand, acc", ROWS, ids=[f"{r[0]}-{r[1]}" for r in ROWS])
def test_every_row_multiplies(rng, arch, name, mnk, operand, acc, target):
    m, n, k = mnk
    with strata.config(device=f"emu:{arch}"):
        a, b = drawn(rng, (m, 2 * k), operand, arch).realize(), drawn(rng, (n, 2 * k), operand, arch).realize()
        wanted = float64(a) @ float64(b).T

        def body(t, _, c, a, b):
            atom = lang.MmaAtom(operand, acc, mnk)
            assert atom.name == name and atom.threads == WAVE[arch]
            thread = lang.make_tiled_mma(atom, (1, 1, 1)).get_slice(t)
            sums = thread.make_fragment_C(c)
            sums.fill(0)
            mma = lang.make_tiled_mma(atom, (1, 1, 1))
            lang.gemm(mma, sums, thread.load_A(a), thread.load_B(b), sums)
            thread.store_C(sums, c)

        got = run(body, ((m, n), acc), a, b, block=WAVE[arch], arch=arch, target=target)
    np.testing.assert_array_equal(np.asarray(got, np.float64), wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_waves_permutations_and_a_loop_through_local_memory(rng, arch, target):
    bm, bn, bk, m, n, k = 64, 64, 32, 64, 128, 96
    with strata.config(device=f"emu:{arch}"):
        a, b = drawn(rng, (m, k), "float16", arch).realize(), drawn(rng, (n, k), "float16", arch).realize()
        wanted = float64(a) @ float64(b).T

        def body(t, block, c, a, b):
            mma = lang.make_tiled_mma(lang.MmaAtom("float16"), (2, 2, 1))
            thread = mma.get_slice(t)
            ga, gb = lo.local_tile(a, (bm, bk), (0, None)), lo.local_tile(b, (bn, bk), (block, None))
            gc = lo.local_tile(c, (bm, bn), (0, block))
            sa, sb = (lang.shared_view(lo.Layout((r, bk), (bk + 8, 1)), "float16") for r in (bm, bn))
            sums = thread.make_fragment_C(gc)
            sums.fill(0)
            step = lang.begin_loop(ga.shape[2])
            lang.copy_tile(ga[None, None, step], sa, t, mma.threads)
            lang.copy_tile(gb[None, None, step], sb, t, mma.threads)
            lang.barrier()
            lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
            lang.barrier()
            lang.end_loop()
            thread.store_C(sums, gc)

        got = run(body, ((m, n), "float32"), a, b, block=4 * WAVE[arch], grid=n // bn, arch=arch, target=target)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("axis", [0, 1])
def test_reduce_gives_rows_and_columns(rng, arch, axis):
    x = rng.standard_normal((64, 64)).astype(np.float32)
    waves = (4, 1, 1) if axis else (1, 2, 1)

    def body(t, _, out, x):
        mma = lang.make_tiled_mma(lang.MmaAtom("float16"), waves)
        thread = mma.get_slice(t)
        mine = thread.make_fragment_C(x)
        lang.autovec_copy(thread.partition_C(x), mine)
        whole = thread.reduce(mine, "max", axis)
        assert [lo.size(s) for s in whole.shape][1 + axis] == 1
        thread.store_C(mine - whole, out)

    threads = WAVE[arch] * waves[0] * waves[1]
    if 64 % (16 * waves[0]) or (arch in ("gfx942", "gfx90a") and 64 % (32 * waves[0])):
        waves = (2, 1, 1)
        threads = WAVE[arch] * 2
    got = run(body, (x.shape, "float32"), x, block=threads, arch=arch)
    np.testing.assert_array_equal(got, x - x.max(axis, keepdims=True))


def test_layouts_of_threads():
    atom = lang.MmaAtom("float16", arch="gfx1100")
    assert str(atom.layout_A_tv) == "((16,2),(8,2)):((1,0),(16,128))"
    mma = lang.make_tiled_mma(atom, lo.Layout((2, 4, 1)), (64, None, 32))
    assert mma.tile_mnk == (64, 64, 32) and mma.threads == 256
    assert lo.size(mma.layout_C_tv) == 64 * 64 and lo.is_injective(mma.layout_C_tv)


def in_kernel(body):
    with tracing("gfx1100"):
        mma = lang.make_tiled_mma(lang.MmaAtom("float16"), (2, 1, 1))
        return body(mma, mma.get_slice(lang.special(True, 0, 64)))


@pytest.mark.parametrize(
    "body, error, says",
    [
        (lambda mma, t: lang.MmaAtom("float32"), strata.Unsupported, "gfx1100 has no matrix instruction for float32"),
        (lambda mma, t: lang.MmaAtom("float16", shape=(32, 32, 8)), strata.Unsupported, "float16 16x16x16 to float32"),
        (lambda mma, t: lang.make_tiled_mma(mma.atom, (2, 2, 2)), lo.LayoutError, "waves along k"),
        (lambda mma, t: lang.make_tiled_mma(mma.atom, (2, 2, 1), (40,)), lo.LayoutError, "no multiple of the 32"),
        (lambda mma, t: t.make_fragment_C((48, 16)), lo.LayoutError, "48 elements are no multiple of the 32"),
        (
            lambda mma, t: lang.gemm(mma, *[t.make_fragment_C((32, 16))] * 4),
            strata.ShapeError,
            "16 elements of float16",
        ),
        (
            lambda mma, t: lang.gemm(
                mma,
                t.make_fragment_C((32, 16)),
                t.make_fragment_A((32, 16)),
                t.make_fragment_B((16, 32)),
                t.make_fragment_C((32, 16)),
            ),
            strata.ShapeError,
            "a has m and k, b n and k",
        ),
        (lambda mma, t: t.reduce(t.make_fragment_C((32, 16)), "max", 0), strata.UsageError, "2 waves have a part each"),
        (lambda mma, t: t.load_A(lang.shared_view((32, 16), "float32")), strata.DTypeError, "float16"),
    ],
)
def test_what_products_refuse(body, error, says):
    with pytest.raises(error, match=says):
        in_kernel(body)
