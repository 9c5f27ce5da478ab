"""Each function of the algebra against what it promises, coordinate by coordinate, on random layouts."""

import pickle

from reference import Random, at, cases, given, has_left_inverse, indices, leaves, product
from strata import layout as lo


def most_have_a_result(results, share=0.05):
    assert sum(r is not None for r in results) >= share * len(results)


def test_coalesce_keeps_indices_and_is_flat():
    for random in cases(300):
        layout = random.layout()
        flat = lo.coalesce(layout)
        assert indices(flat) == indices(layout), layout
        assert lo.depth(flat) <= 1 and lo.rank(flat) <= len(leaves(layout.shape))
        assert lo.coalesce(flat) == flat
        by_mode = lo.coalesce(layout, (1,) * layout.rank) if layout.depth else flat
        assert [indices(mode) for mode in by_mode] == [indices(mode) for mode in layout], layout


def test_composition_is_one_layout_after_the_other():
    results = []
    for random in cases(700):
        a, b = random.layout(), random.layout()
        r = given(lo.composition, a, b)
        results.append(r)
        if r is not None:
            assert indices(r) == [at(a, i) for i in indices(b)], (a, b, r)
            if b.depth and b.rank > 1:
                assert [lo.size(mode) for mode in r] == [lo.size(mode) for mode in b]
    most_have_a_result(results, 0.3)


def test_composition_is_associative_where_it_is_defined():
    for random in cases(500, 1):
        a, b, c = random.compact(), random.compact(), random.compact()
        left = given(lambda: lo.composition(lo.composition(a, b), c))
        right = given(lambda: lo.composition(a, lo.composition(b, c)))
        if left is not None and right is not None and max(indices(c)) < b.size:
            assert indices(left) == indices(right), (a, b, c)


def test_composition_by_mode_leaves_other_modes():
    for random in cases(200, 2):
        a = random.compact(rank=3)
        n = 2 ** random.randint(0, 2)
        r = given(lo.composition, a, (n, None))
        if r is not None:
            assert indices(r[0]) == [at(a[0], c) for c in range(n)] and r[1] == a[1] and r[2] == a[2]


def test_complement_fills_what_a_layout_leaves():
    results = []
    for random in cases(500):
        layout, codomain = random.layout(), random.randint(1, 60)
        r = given(lo.complement, layout, codomain)
        results.append(r)
        if r is not None:
            mine, its = set(indices(layout)), indices(r)
            assert its == sorted(set(its)) and its[0] == 0, (layout, r)
            sums = [i + j for i in mine for j in its]
            assert len(sums) == len(set(sums)) and len(sums) >= codomain, (layout, codomain, r)
            assert set(range(codomain)) <= set(sums) or lo.size(r) * len(mine) >= codomain
    most_have_a_result(results, 0.3)


def test_right_inverses_undo_from_the_right():
    for random in cases(500):
        layout = random.layout()
        r = lo.right_inverse(layout)
        assert [at(layout, i) for i in indices(r)] == list(range(r.size)), (layout, r)
        if sorted(indices(layout)) == list(range(layout.size)):
            assert r.size == layout.size, layout


def test_left_inverses_undo_from_the_left_wherever_there_is_one():
    found = 0
    for random in cases(500):
        shape = tuple(random.randint(1, 4) for _ in range(random.randint(1, 3)))
        layout = lo.Layout(shape, tuple(random.randint(-3, 12) for _ in shape))
        r = given(lo.left_inverse, layout)
        if r is not None:
            found += 1
            assert [at(r, i) for i in indices(layout)] == list(range(layout.size)), (layout, r)
        else:
            assert not (lo.is_injective(layout) and has_left_inverse(layout)), layout
    assert found > 100


def test_is_injective_counts_indices():
    for random in cases(500, 3):
        layout = random.layout()
        assert lo.is_injective(layout) == (len(set(indices(layout))) == layout.size), layout


def test_divides_go_through_tiles_and_from_tile_to_tile():
    results = []
    for random in cases(400):
        a, tile = random.compact(rank=2), tuple(2 ** random.randint(0, 2) for _ in range(2))
        r = given(lo.logical_divide, a, tile)
        results.append(r)
        if r is None:
            continue
        for i in range(2):
            n = lo.size(a[i])
            assert [at(r[i], c) for c in range(n)] == [at(a[i], c) for c in range(n)]
            assert lo.size(r[i][0]) == tile[i]
        zipped = lo.zipped_divide(a, tile)
        assert zipped == lo.make_layout(*(lo.make_layout(r[0][j], r[1][j]) for j in (0, 1)))
        assert lo.tiled_divide(a, tile) == lo.make_layout(zipped[0], *zipped[1])
        assert lo.flat_divide(a, tile) == lo.make_layout(*zipped[0], *zipped[1])
    most_have_a_result(results, 0.5)


def test_a_layout_divides_another():
    results = []
    for random in cases(400, 4):
        a, b = random.compact(), random.compact()
        r = given(lo.logical_divide, a, b)
        results.append(r)
        if r is not None:
            assert indices(r[0]) == [at(a, i) for i in indices(b)]
            rest = lo.complement(b, a.size)
            assert indices(r) == [at(a, i + j) for j in indices(rest) for i in indices(b)], (a, b)
    most_have_a_result(results, 0.2)


def test_short_and_none_tiles_leave_modes():
    a = lo.Layout((8, 6, 2))
    assert lo.zipped_divide(a, (4,)) == lo.Layout((4, (2, 6, 2)), (1, (4, 8, 48)))
    assert lo.zipped_divide(a, (4, None)) == lo.Layout(((4, 6), (2, 1, 2)), ((1, 8), (4, 0, 48)))
    assert lo.logical_divide(a, (None, 3)) == lo.Layout((8, (3, 2), 2), (1, (8, 24), 48))
    assert lo.logical_divide(lo.Layout(10), 4) == lo.Layout((4, 3), (1, 4)), "tiles may go beyond the end"


def test_products_are_copies_of_a_block():
    results = []
    for random in cases(300):
        a, b = random.layout(), random.compact(most=1)
        r = given(lo.logical_product, a, b)
        results.append(r)
        if r is None:
            continue
        assert r[0] == a
        copies = indices(r[1])
        assert indices(r) == [i + j for j in copies for i in indices(a)]
        if lo.is_injective(a):
            assert len(set(indices(r))) == r.size, (a, b, r)
        order = [i for i in sorted(range(b.size), key=lambda c: at(b, c))]
        assert sorted(copies) == [copies[c] for c in order], "copies are in the tile's order"
    most_have_a_result(results, 0.3)


def test_blocked_and_raked_products_pair_modes():
    for random in cases(200):
        a, b = random.compact(rank=2), random.compact(rank=2)
        r = given(lo.logical_product, a, b)
        if r is None:
            continue
        blocked, raked = lo.blocked_product(a, b), lo.raked_product(a, b)
        assert blocked == lo.make_layout(*(lo.make_layout(r[0][i], r[1][i]) for i in (0, 1)))
        assert raked == lo.make_layout(*(lo.make_layout(r[1][i], r[0][i]) for i in (0, 1)))


def test_threads_and_values_share_a_tile():
    for random in cases(200):
        threads, values = random.compact(rank=2, most=2), random.compact(rank=2, most=2)
        (rows, columns), tv = lo.make_layout_tv(threads, values)
        assert (rows, columns) == tuple(threads.shape[i] * values.shape[i] for i in (0, 1))
        for m in range(rows):
            for n in range(columns):
                t = threads(m // values.shape[0], n // values.shape[1])
                v = values(m % values.shape[0], n % values.shape[1])
                assert tv(t, v) == m + rows * n, (threads, values)


def test_local_tiles_and_partitions_are_parts_of_their_layout():
    for random in cases(100):
        a, tile = lo.Layout((16, 8), (random.randint(1, 99), random.randint(1, 99))), (4, 2)
        where = random.randrange(4), random.randrange(4)
        part, offset = lo.local_tile(a, tile, where)
        assert all(offset + part(i, j) == a(where[0] * 4 + i, where[1] * 2 + j) for i in range(4) for j in range(2))
        row, begin = lo.local_tile(a, tile, (where[0], None))
        assert row.shape == (4, 2, 4)
        assert all(
            begin + row(i, j, k) == a(where[0] * 4 + i, k * 2 + j) for i in range(4) for j in range(2) for k in range(4)
        )
        threads = lo.Layout((4, 2), (2, 1))
        i = random.randrange(8)
        mine, first = lo.local_partition(a, threads, i)
        assert all(first + mine(r, c) == a(r * 4 + i // 2, c * 2 + i % 2) for r in range(4) for c in range(4))


def test_tiles_fill_a_shape():
    for random in cases(200, 5):
        block = random.compact(rank=2, most=2)
        shape = tuple(n * random.randint(1, 3) for n in block.shape)
        r = lo.tile_to_shape(block, shape, random.choice(((0, 1), (1, 0))))
        assert (lo.size(r[0]), lo.size(r[1])) == shape and sorted(indices(r)) == list(range(product(shape)))
        for i in range(shape[0]):
            for j in range(shape[1]):
                first = r(i - i % block.shape[0], j - j % block.shape[1])
                assert r(i, j) == first + block(i % block.shape[0], j % block.shape[1])


def bits_of(layout, bits):
    return sorted(i * bits + b for i in indices(layout) for b in range(bits))


def test_recast_layouts_have_the_same_bits():
    results = []
    for random in cases(300, 6):
        layout = random.layout()
        old, new = random.choice((4, 8, 16, 32, 64)), random.choice((4, 6, 8, 16, 32, 64))
        r = given(lo.recast_layout, layout, old, new)
        results.append(r)
        if r is not None:
            assert bits_of(r, new) == bits_of(layout, old), (layout, old, new, r)
    most_have_a_result(results, 0.3)


def swizzled(bits, base, shift, i):
    for bit in range(base, base + bits):
        source, target = (bit + shift, bit) if shift > 0 else (bit, bit - shift)
        if i >> source & 1:
            i ^= 1 << target
    return i


def test_swizzles_move_bits_and_the_same_bytes_when_recast():
    for random in cases(300, 7):
        bits, base = random.randint(0, 3), random.randint(0, 4)
        shift = random.choice((-1, 1)) * random.randint(max(bits, 1), 4)
        swizzle = lo.Swizzle(bits, base, shift)
        assert all(swizzle(i) == swizzled(bits, base, shift, i) for i in range(512)), swizzle
        new = random.choice((8, 16, 32, 64, 128))
        r = given(lo.recast_layout, swizzle, 32, new)
        if r is not None:
            small = min(32, new)
            for part in range(1024):
                byte = part * small
                assert r(byte // new) * new + byte % new == swizzle(byte // 32) * 32 + byte % 32
        else:
            assert new > 32 << base


def test_composed_layouts_apply_their_stages():
    for random in cases(200, 8):
        a, b = random.compact(), random.compact()
        swizzle, x, y = lo.Swizzle(2, 1, 3), random.randrange(64), random.randrange(64)
        inside = lo.make_composed_layout(a, y, b)
        both = lo.make_composed_layout(swizzle, x, inside)
        for c in range(b.size):
            assert inside(c) == a(y + b(c))
            assert both(c) == swizzle(x + a(y + b(c)))
        assert both.inner == swizzle and both.offset == x and both.outer == inside
        assert lo.parse(str(both)) == both and hash(lo.parse(str(both))) == hash(both)
        assert pickle.loads(pickle.dumps(both)) == both
        tiled = given(lo.logical_divide, both, 2)
        if tiled is not None:
            plain = lo.logical_divide(b, 2)
            assert [tiled(c) for c in range(plain.size)] == [swizzle(x + a(y + plain(c))) for c in range(plain.size)]


def test_composition_with_a_swizzle_is_composed():
    rows = lo.Layout((8, 8), (8, 1))
    r = lo.composition(lo.Swizzle(3, 0, 3), rows)
    assert str(r) == "S<3,0,3> o 0 o (8,8):(8,1)"
    assert sorted(r(c) for c in range(64)) == list(range(64))
    assert [r(i, 0) for i in range(8)] == [9 * i for i in range(8)]
    assert r(None, 3).shape == 8


def test_coordinate_swizzles_move_columns_by_rows():
    swizzle = lo.CoordSwizzle(2, 0, 0, 1, 1)
    L = lo.make_composed_layout(swizzle, lo.make_identity_layout((8, 8)))
    assert [L(r, c) for r in range(8) for c in range(8)] == [(r, c ^ (r % 4) << 1) for r in range(8) for c in range(8)]
    assert lo.parse(str(L)) == L and eval(repr(L), vars(lo)) == L


def test_every_random_case_is_deterministic():
    assert str(Random(5).layout()) == str(Random(5).layout())
