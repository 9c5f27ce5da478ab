"""Views: elements of memory under layouts, on the emulated GPU in strict mode against NumPy."""

import pytest
from tiles import TARGETS, lang, lo, np, row_major, run, strata, tracing

N = 64


@pytest.fixture
def x(rng):
    return rng.standard_normal((8, 16)).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_elements_are_loaded_and_stored_by_any_coordinate(x, target):
    def body(t, _, out, x):
        out[t] = x[t] * 2  # an integer counts the first mode fastest
        out[t % 8, 8 + t // 8] = x[(t % 8, 8 + t // 8)] + 1

    wanted = x.copy()
    wanted[:, :8] = x[:, :8] * 2
    wanted[:, 8:] = x[:, 8:] + 1
    got = run(body, (x.shape, "float32"), x, block=64, target=target)
    np.testing.assert_array_equal(got, wanted)


def test_slices_and_places_of_slices(x):
    def body(t, _, out, x):
        column, row = x[None, 3], x[2, :]
        assert column.shape == 8 and row.shape == 16 and row.stride == 1
        out[None, 5] = column
        out[t % 8, 6] = row[t % 8]

    got = run(body, np.zeros_like(x), x, block=8)
    np.testing.assert_array_equal(got[:, 5], x[:, 3])
    np.testing.assert_array_equal(got[:, 6], x[2, :8])
    assert not got[:, :5].any()


@pytest.mark.parametrize(
    "take",
    [
        lambda v: lo.local_tile(v, (4, 8), (1, 0)),
        lambda v: lo.zipped_divide(v, (4, 8))[(None, (1, 0))],
        lambda v: lo.select(lo.local_tile(lo.select(v, 1, 0), (8, 4), (0, 1)), 1, 0),
        lambda v: lo.composition(lo.local_tile(v, (4, 8), (1, 0)), (4, 8)),
        lambda v: lo.flatten(lo.group(lo.local_tile(v, (4, 8), (1, 0)), 0, 2)),
    ],
)
def test_functions_of_layouts_take_views_and_give_views(x, take):
    def body(t, _, out, x):
        tile = take(x)
        assert isinstance(tile, lang.View) and lo.size(tile) == 32 and lo.rank(tile) == 2
        out[t % 4, t // 4] = tile[t % 4, t // 4]

    got = run(body, ((4, 8), "float32"), x)
    np.testing.assert_array_equal(got, x[4:, :8])


def test_functions_of_layouts_take_composed_views(rng):
    x = rng.standard_normal((8, 32)).astype(np.float32)
    swizzled = lo.make_composed_layout(lo.Swizzle(3, 2, 3), lo.Layout((8, 32), (32, 1)))

    def body(t, _, out, x):
        shared = lang.shared_view(swizzled, "float32")
        for row in range(8):
            shared[row, t] = x[row, t]
        lang.barrier()
        tile = lo.local_tile(shared, (4, 8), (1, t // 8))
        for row in range(4):
            out[row, t] = tile[row, t % 8]

    got = run(body, ((4, 32), "float32"), x)
    np.testing.assert_array_equal(got, x[4:])


def test_registers_compute_elementwise_and_broadcast(x):
    def body(t, _, out, x):
        a = x[None, t % 16].load()  # 8 elements of a column
        b = lang.make_view(a, lo.Layout((4, 2)))
        row = lang.register_view((1, 2), "float32")
        row[0, 0], row[0, 1] = 10.0, 20.0
        c = (b + row) * 0.5 - -b
        c += 1
        for i in range(8):
            out[i, t % 16] = c[i]

    got = run(body, (x.shape, "float32"), x, block=16)
    rows = np.repeat([10, 20], 4)[:, None].astype(np.float32)
    np.testing.assert_allclose(got, (x + rows) * np.float32(0.5) + x + 1, rtol=1e-6)


def test_fill_cast_map_compare_and_reduce(x):
    def body(t, _, out, x):
        a = x[None, t].load()
        ones = lang.register_view(8, "float32")
        ones.fill(1)
        whole = a.cast("int32")
        assert whole.dtype == strata.dtypes.int32
        out[0, t] = a.reduce("add")
        out[1, t] = a.reduce("max")
        out[2, t] = whole.reduce("min").cast("float32")
        out[3, t] = (a > 0).map(lambda b: b.cast("float32")).reduce("add")
        out[4, t] = a.map(lambda p, q: p * q + 1, ones)[3]

    got = run(body, ((5, 16), "float32"), x, block=16)
    np.testing.assert_allclose(got[0], x.sum(0), rtol=1e-5)
    np.testing.assert_array_equal(got[1], x.max(0))
    np.testing.assert_array_equal(got[2], x.astype(np.int32).min(0))
    np.testing.assert_array_equal(got[3], (x > 0).sum(0))
    np.testing.assert_allclose(got[4], x[3] + 1, rtol=1e-6)


def test_a_place_is_one_element(x):
    def body(t, _, out, x):
        place = x[None, t % 16].at(3)
        assert place.dtype == strata.dtypes.float32
        out.at(t % 8, 2).store(place.load() + 1)

    got = run(body, np.zeros_like(x), x, block=8)
    np.testing.assert_array_equal(got[:, 2], x[3, :8] + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_wide_accesses_where_the_layout_proves_them(rng, target):
    x = rng.integers(-100, 100, (4, 64)).astype(np.int16)

    def body(t, _, out, x):
        mine = lo.local_tile(x, (1, 8), (t // 8, t % 8))
        held = mine.load()
        lo.local_tile(out, (1, 8), (t // 8, t % 8)).store(held + held)

    got = run(body, (x.shape, "int16"), x, target=target)
    np.testing.assert_array_equal(got, x * 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_branch_computes_with_registers_of_its_own(rng, in_loop, target):
    x = rng.standard_normal(64).astype(np.float32)

    def body(t, _, out, x):
        if in_loop:
            lang.begin_loop(2)
        lang.begin_if(t < 16)
        lo.local_tile(out, (2,), (t,)).store(lo.local_tile(x, (2,), (t,)).load() * 2 + 1)
        lang.end_if()
        if in_loop:
            lang.end_loop()

    got = run(body, np.zeros_like(x), x, target=target)
    np.testing.assert_allclose(got, np.where(np.arange(64) < 32, x * 2 + 1, 0), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_bounded_views_give_zero_beyond_the_elements(rng, target):
    x = rng.standard_normal(100).astype(np.float32)

    def body(t, _, out, x):
        beyond = lang.bounded(lo.composition(x, lo.Layout(128)))
        into = lang.bounded(lo.composition(out, lo.Layout(128)))
        for i in range(4):
            into[t + 32 * i] = beyond[t + 32 * i] + beyond[t + 32 * i + 28 * (i == 3)] * 0

    got = run(body, ((100,), "float32"), x, target=target)
    np.testing.assert_array_equal(got, x)


def test_recast_gives_the_same_bits(rng):
    x = rng.integers(0, 2**32, 64, dtype=np.uint64).astype(np.uint32)

    def body(t, _, out, x):
        halves, floats = x.recast("uint16"), x.recast("float32")
        assert halves.shape == (128,) and floats.shape == (64,)
        out[0, t] = halves[2 * t].cast("uint32") | halves[2 * t + 1].cast("uint32") << 16
        out[1, t] = floats[t].bitcast("uint32")
        wide = lang.register_view(4, "uint8")
        wide.fill(3)
        out[2, t] = wide.recast("uint32")[0]

    got = run(body, ((3, 32), "uint32"), x)
    np.testing.assert_array_equal(got[0], x[:32])
    np.testing.assert_array_equal(got[1], x[:32])
    np.testing.assert_array_equal(got[2], np.full(32, 0x03030303, np.uint32))


def test_a_view_of_coordinates_gives_them_tile_by_tile():
    def body(t, _, out):
        tile = lo.local_tile(lang.identity((64, 32)), (16, 8), (t // 4, t % 4))
        row, column = tile[3, 2]
        out[t, 0], out[t, 1] = row, column
        assert lang.identity((4, 8))[2, 5] == (2, 5)

    got = run(body, ((16, 2), "int32"), block=16)
    np.testing.assert_array_equal(got, [[t // 4 * 16 + 3, t % 4 * 8 + 2] for t in range(16)])


# Errors


def in_kernel(body):
    with tracing("gfx1100"):
        return body(lang.make_view(strata.uop.placeholder(64, "float32", "global"), row_major((4, 16))))


@pytest.mark.parametrize(
    "body, error, says",
    [
        (lambda v: v[4, 0], strata.UsageError, "coordinate 4 is outside of a mode of 4 elements: 0 to 3"),
        (lambda v: v[0, -1], strata.UsageError, "coordinate -1 is outside"),
        (lambda v: v[1:3, 0], strata.UsageError, "taken whole"),
        (lambda v: v + 1, strata.UsageError, "load it"),
        (lambda v: lang.make_view(v, lo.Layout((5, 16))), lo.LayoutError, "reaches element 79 of memory that has 64"),
        (lambda v: v[None, 1].recast("float64"), lo.LayoutError, "side by side"),
        (lambda v: v.load() + lang.register_view((4, 8), "float32"), strata.ShapeError, "do not fit"),
        (lambda v: v.store(lang.register_view((4, 16), "int32")), strata.DTypeError, "cast"),
        (lambda v: v.reduce("mean"), strata.UsageError, "add, mul"),
        (lambda v: v.reduce("xor"), strata.DTypeError, "integers"),
        (lambda v: bool(v.load()), TypeError, "no single truth value"),
        (lambda v: list(v), TypeError, "no Python sequence"),
        (lambda v: lang.bounded(v.load()), strata.UsageError, "bounded"),
        (lambda v: lang.identity((4, 4))[0, 0] and lang.identity((4, 4)).load(), strata.UsageError, "coordinates"),
    ],
)
def test_what_views_refuse(body, error, says):
    with pytest.raises(error, match=says):
        in_kernel(body)


def test_loads_outside_of_a_kernel_are_errors():
    view = lang.make_view(strata.uop.placeholder(64, "float32", "global"), row_major((4, 16)))
    assert lo.local_tile(view, (2, 8), (1, 1)).offset == 40
    with pytest.raises(strata.UsageError, match="is for kernels"):
        view[0, 0]
