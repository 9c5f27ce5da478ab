"""Copies over views, on the emulated GPUs in strict mode against NumPy, and what is refused before anything runs."""

import pytest
from strata import lang as lang_of
from tiles import ARCHS, TARGETS, WAVE, lang, lo, np, run, strata, tracing

DTYPES = ["int8", "int16", "float16", "float32", "float64"]


def drawn(rng, shape, dtype):
    return rng.integers(-100, 100, shape).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tiled_copy_of_every_width_moves_the_tile(rng, arch, dtype, target):
    x = drawn(rng, (16, 64), dtype)
    bits = np.dtype(dtype).itemsize * 8

    def body(t, _, out, x):
        for i, width in enumerate(w for w in (8, 16, 32, 64, 128) if w >= bits):
            n = width // bits
            if 4 * n > 64:
                continue
            atom = lang.CopyAtom(width, dtype)
            tiled = lang.make_tiled_copy_tv(atom, lo.Layout((8, 4), (4, 1)), lo.Layout((1, n)))
            mine = tiled.get_slice(t)
            rows = lo.local_tile(x, (16, 4 * n), (0, i % (64 // (4 * n))))
            source, held = mine.partition_S(rows), lang.make_fragment_like(mine.partition_S(rows))
            lang.copy(atom, source, held)
            lang.copy(atom, held, mine.partition_D(lo.local_tile(out[i, None, None], (16, 4 * n), (0, 0))))

    got = run(body, ((5, 16, 64), dtype), x, arch=arch, target=target)
    for i, width in enumerate(w for w in (8, 16, 32, 64, 128) if w >= bits):
        n = width // bits
        if 4 * n <= 64:
            first = i % (64 // (4 * n)) * 4 * n
            np.testing.assert_array_equal(got[i, :, : 4 * n], x[:, first : first + 4 * n])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_block_copies_a_tile_through_local_memory(rng, arch, target):
    x = drawn(rng, (24, 40), "float16")
    threads = WAVE[arch]

    def body(t, _, out, x):
        shared = lang.shared_view(lo.Layout((24, 40), (48, 1)), "float16")
        lang.copy_tile(x, shared, t, threads)  # 120 accesses, which is no multiple of the threads
        lang.barrier()
        lang.copy_tile(lo.select(shared, 1, 0), out, t, threads)  # transposed

    got = run(body, ((40, 24), "float16"), x, block=threads, arch=arch, target=target)
    np.testing.assert_array_equal(got, x.T)


def test_copies_go_through_swizzled_memory(rng):
    x = drawn(rng, (32, 64), "float16")
    layout = lo.make_composed_layout(lo.Swizzle(3, 3, 3), lo.Layout((32, 64), (64, 1)))

    def body(t, _, out, x):
        shared = lang.shared_view(layout, "float16")
        lang.copy_tile(x, shared, t, 64)
        lang.barrier()
        mine = lang.make_tiled_copy_tv(lang.CopyAtom(128, "float16"), lo.Layout((8, 8), (8, 1)), lo.Layout((1, 8)))
        part = mine.get_slice(t)
        lang.copy(mine.atom, part.partition_S(shared), part.partition_D(out))

    np.testing.assert_array_equal(run(body, (x.shape, "float16"), x, block=64), x)


@pytest.mark.parametrize("target", TARGETS)
def test_a_predicate_decides_each_access_by_its_first_element(rng, target):
    x = drawn(rng, (4, 64), "int16")

    def body(t, _, out, x):
        atom = lang.CopyAtom(64, "int16")
        mine = lang.make_tiled_copy_tv(atom, lo.Layout((2, 16), (16, 1)), lo.Layout((2, 4), (4, 1))).get_slice(t)
        source, target = mine.partition_S(x), mine.partition_D(out)
        where = mine.partition_S(lang.identity((4, 64)))
        mask = lang.make_fragment_like(source, "bool")
        for i in range(lo.size(mask)):
            mask[i] = where[i][0] != 1
        lang.copy(atom, source, target, mask)
        lang.copy(atom, source, target, t < 20)

    got = run(body, np.zeros_like(x), x, target=target)
    wanted = x.copy()
    for row in (1,):
        columns = np.arange(64) // 4
        wanted[row] = np.where(columns + 16 * (row // 2 % 2) < 20, x[row], 0)
    np.testing.assert_array_equal(got, wanted)


def test_fragments_of_products_are_retiled_for_copies(rng):
    x = drawn(rng, (64, 64), "float32")

    def body(t, _, out, x):
        mma = lang.make_tiled_mma(lang.MmaAtom("float16"), (2, 1, 1), (64, 32, None))
        held = mma.get_slice(t).make_fragment_C(x)
        lang.autovec_copy(mma.get_slice(t).partition_C(x), held)
        atom = lang.CopyAtom(32, "float32")
        part = lang.make_tiled_copy_C(atom, mma).get_slice(t)
        lang.copy(atom, part.retile(held), part.partition_D(out))

    np.testing.assert_array_equal(run(body, (x.shape, "float32"), x, block=64), x)


def test_gather_and_scatter_take_an_access_at_each_offset(rng):
    x, rows = drawn(rng, (32, 8), "float16"), rng.permutation(32).astype(np.int32)

    def body(t, _, out, x, rows):
        atom = lang.CopyAtom(128, "float16")
        offsets = lang.register_view(1, "int32")
        offsets[0] = rows[t] * 8
        held = lang.register_view(8, "float16")
        lang.gather(atom, x, offsets, held)
        offsets[0] = t * 8
        lang.scatter(atom, held, out, offsets)

    np.testing.assert_array_equal(run(body, (x.shape, "float16"), x, rows), x[rows])


def assembly(body, shapes, dtype, arch):
    """The machine code of a kernel of 64 threads over tensors of these shapes."""

    @strata.kernel(grid=2, block=64)
    def copies(out: lang_of.Tensor, x: lang_of.Tensor):
        body(lang_of.block_idx.x * 64 + lang_of.thread_idx.x, out, x)

    specs = [lang_of.TensorSpec(shape, dtype) for shape in shapes]
    return strata.compile(copies, *specs, arch=arch, target="asm").assembly


def by_buffer(width, dtype, step):
    """Copies an access of `width` bits a thread, `step` accesses on, from and to memory that may have fewer."""
    n = width // (8 * np.dtype(dtype).itemsize)

    def body(t, out, x):
        atom = lang.CopyAtom(width, dtype, "buffer")
        held = lang.register_view(n, dtype)
        runs = lo.Layout((n, 160), (1, n))
        lang.copy(atom, lo.composition(x, runs)[None, t + step], held)
        lang.copy(atom, held, lo.composition(out, runs)[None, t])

    return body, n


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_by_buffer_of_every_width_end_where_the_tensor_ends(rng, arch, dtype, target):
    for width in (8, 16, 32, 64, 128):
        if width < 8 * np.dtype(dtype).itemsize:
            continue
        body, n = by_buffer(width, dtype, 5)
        x, out = drawn(rng, 100 * n, dtype), drawn(rng, 70 * n, dtype)
        got = run(lambda t, block, o, i: body(t + block * 64, o, i), out, x, block=64, grid=2, arch=arch, target=target)
        np.testing.assert_array_equal(got, x[5 * n :][: 70 * n])


@pytest.mark.parametrize("target", TARGETS)
def test_a_predicate_decides_beside_the_bounds_of_a_buffer(rng, target):
    x = drawn(rng, 200, "float32")

    def body(t, block, out, x):
        atom, held = lang.CopyAtom(64, "float32", "buffer"), lang.register_view(2, "float32")
        pairs, at = lo.Layout((2, 128), (1, 2)), t + block * 64
        lang.copy(atom, lo.composition(x, pairs)[None, at], held, at % 3 != 0)
        lang.copy(atom, held, lo.composition(out, pairs)[None, at], at % 4 != 0)

    got = run(body, np.full(200, 7, np.float32), x, block=64, grid=2, target=target)
    at = np.arange(200) // 2
    np.testing.assert_array_equal(got, np.where(at % 4 == 0, 7, np.where(at % 3 == 0, 0, x)))


@pytest.mark.parametrize("arch", ARCHS)
def test_a_buffers_descriptor_is_all_of_the_check(arch):
    """No comparison, no mask of lanes: the addresses of an access go to the descriptor as they are."""
    body, n = by_buffer(128, "float32", 5)
    text = assembly(body, [70 * n, 100 * n], "float32", arch)
    assert "buffer_load" in text and "buffer_store" in text and "global_" not in text
    assert "v_cmp" not in text and "v_cndmask" not in text
    assert f"{70 * n * 4:#x}" in text and f"{100 * n * 4:#x}" in text  # the sizes, in bytes


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("kind", ["universal", "buffer"])
def test_gather_and_scatter_take_one_access_an_offset(arch, kind):
    def body(t, out, x):
        atom, offsets = lang.CopyAtom(128, "float16", kind), lang.register_view(1, "int32")
        offsets[0] = lang_of.thread_idx.x * 7 * 8
        held = lang.register_view(8, "float16")
        lang.gather(atom, x, offsets, held)
        offsets[0] = (lang_of.thread_idx.x ^ 1) * 16
        lang.scatter(atom, held, out, offsets)

    text = assembly(body, [800, 800], "float16", arch)
    place = "buffer" if kind == "buffer" else "global"
    accesses = [word for word in text.split() if word.startswith((f"{place}_load", f"{place}_store"))]
    wide = ("b128", "dwordx4")
    assert len(accesses) == 2 and all(name.endswith(wide) for name in accesses), accesses


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_offsets_beyond_the_tensor_gather_zeros_by_buffer(rng, arch, target):
    x, rows = drawn(rng, (32, 8), "float16"), rng.integers(-8, 40, 64).astype(np.int32)

    def body(t, _, out, x, rows):
        atom, offsets = lang.CopyAtom(128, "float16", "buffer"), lang.register_view(1, "int32")
        offsets[0] = rows[t] * 8
        held = lang.register_view(8, "float16")
        lang.gather(atom, x, offsets, held)
        offsets[0] = t * 8
        lang.scatter(atom, held, out, offsets)  # half of the threads store beyond its end

    got = run(body, ((32, 8), "float16"), x, rows, block=64, arch=arch, target=target)
    inside = (rows >= 0) & (rows < 32)
    np.testing.assert_array_equal(got, np.where(inside[:, None], x[np.where(inside, rows, 0)], 0)[:32])


def global_view(shape, stride, dtype="float32"):
    size = lo.cosize(lo.Layout(shape, stride))
    return lang.make_view(strata.uop.placeholder(size, dtype, "global"), lo.Layout(shape, stride))


@pytest.mark.parametrize(
    "body, error, says",
    [
        (lambda: lang.CopyAtom(256, "float32"), strata.Unsupported, "universal of 8, 16, 32, 64, 128 bits"),
        (lambda: lang.CopyAtom(128, "float32", "tma"), strata.Unsupported, "gfx1100 has no copy 'tma'"),
        (lambda: lang.CopyAtom(128, "float32", "buffer", arch="sm_90"), strata.Unsupported, "it has universal of 8"),
        (
            lambda: lang.copy(
                lang.CopyAtom(32, "float32", "buffer"), lang.shared_view(8, "float32"), lang.register_view(8, "float32")
            ),
            strata.UsageError,
            "from or to a tensor",
        ),
        (
            lambda: lang.gather(
                lang.CopyAtom(32, "float32"),
                lang.register_view(8, "float32"),
                lang.register_view(1, "int32"),
                lang.register_view(1, "float32"),
            ),
            strata.UsageError,
            "in a tensor or in local memory",
        ),
        (lambda: lang.CopyAtom(32, "float64"), strata.UsageError, "no whole elements"),
        (
            lambda: lang.make_tiled_copy(lang.CopyAtom(32, "float32"), lo.Layout((32, 4), (1, 16)), (8, 16)),
            lo.LayoutError,
            "do not cover the 128 elements of the tile",
        ),
        (
            lambda: lang.make_tiled_copy(lang.CopyAtom(128, "float32"), lo.Layout((64, 2), (1, 64)), (8, 16)),
            lo.LayoutError,
            "has 2 values, and an access of 128 bits takes 4",
        ),
        (
            lambda: lang.copy(
                lang.CopyAtom(128, "float32"), global_view((4, 4), (4, 1)), lang.register_view((4, 4), "float32")
            ),
            lo.LayoutError,
            "not neighbours",
        ),
        (
            lambda: lang.copy(
                lang.CopyAtom(64, "float32"), global_view((4, 4), (1, 5)), lang.register_view((4, 4), "float32")
            ),
            lo.LayoutError,
            "copy",
        ),
        (
            lambda: lang.copy(lang.CopyAtom(32, "float32"), global_view(8, 1), lang.register_view(4, "float32")),
            strata.ShapeError,
            "8 elements",
        ),
        (
            lambda: lang.copy(lang.CopyAtom(32, "int32"), global_view(4, 1), lang.register_view(4, "float32")),
            strata.DTypeError,
            "int32",
        ),
        (
            lambda: lang.copy_tile(global_view(8, 1), lang.register_view(8, "float32"), 0, 32),
            strata.UsageError,
            "autovec_copy",
        ),
    ],
)
def test_what_copies_refuse(body, error, says):
    with tracing("gfx1100"), pytest.raises(error, match=says):
        body()
