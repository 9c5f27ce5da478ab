"""Layouts as values: their text, coordinates, modes, and tuples of integers."""

import copy
import pickle

import numpy as np
import pytest
from reference import at, cases, coordinates, dot, indices
from strata import layout as lo


def test_coordinates_of_every_kind_give_one_index():
    for random in cases(300):
        layout = random.layout()
        for c, natural in enumerate(coordinates(layout.shape)):
            index = dot(natural, layout.stride)
            assert layout(c) == at(layout, c) == index, (layout, c)
            assert lo.idx2crd(c, layout.shape) == natural
            assert lo.crd2idx(natural, layout) == index
            if layout.depth:
                flat = tuple(lo.crd2idx(m, s) for m, s in zip(natural, layout.shape))
                assert layout(*flat) == layout(flat) == layout(*natural) == index
                assert lo.crd2crd(natural, layout.shape, layout.size) == c
        assert layout(layout.size * 3 + 1) == at(layout, layout.size * 3 + 1), "the last mode has no end"


def test_sizes_count():
    for random in cases(200):
        layout = random.layout()
        all_of_them = indices(layout)
        assert layout.size == lo.size(layout) == lo.size(layout.shape) == len(all_of_them)
        assert layout.cosize == lo.cosize(layout) == max(all_of_them) - min(all_of_them) + 1
        assert layout.rank == lo.rank(layout.shape) and layout.depth == lo.depth(layout.shape)


def test_text_and_repr_give_the_layout_back():
    for random in cases(200):
        layout = random.layout()
        for again in (lo.Layout(str(layout)), lo.parse(str(layout)), eval(repr(layout), vars(lo))):
            assert again == layout and hash(again) == hash(layout)
        assert pickle.loads(pickle.dumps(layout)) == layout == copy.deepcopy(layout)
    assert str(lo.Layout((4, (2, 4)), (8, (1, 2)))) == "(4,(2,4)):(8,(1,2))"
    assert repr(lo.Layout((4, (2, 4)))) == "Layout((4, (2, 4)), (1, (4, 8)))"
    assert lo.Layout(" ( 4 , ( 2,4 ) ) : ( 8,(1, 2 ))") == lo.Layout((4, (2, 4)), (8, (1, 2)))
    identity = lo.make_identity_layout((4, (2, 3)))
    assert str(identity) == "(4,(2,3)):(1E0,(1E1E0,1E1E1))" and lo.Layout(str(identity)) == identity
    assert eval(repr(identity), vars(lo)) == identity
    for value in (lo.Swizzle(3, 4, 3), lo.CoordSwizzle(3, 0, 0, 4, (1, 0)), 2 * lo.E(1), lo.make_tile(8, None)):
        if not isinstance(value, lo.Tile):
            assert eval(repr(value), vars(lo)) == value and pickle.loads(pickle.dumps(value)) == value
        assert hash(value) == hash(copy.copy(value)) if not isinstance(value, lo.Tile) else hash(value)


def test_layouts_are_values():
    layout = lo.Layout((4, 8), (8, 1))
    assert layout == lo.Layout((4, 8), (8, 1)) != lo.Layout((4, 8), (1, 4)) and layout != "(4,8):(8,1)"
    assert len({layout, lo.Layout((4, 8), (8, 1))}) == 1
    for name in ("shape", "stride", "size"):
        with pytest.raises(AttributeError):
            setattr(layout, name, 1)
    assert layout.unpack() == lo.unpack(layout) == ((4, 8), (8, 1)) and lo.unpack(3) == 3


def test_modes_are_layouts():
    layout = lo.Layout((4, (2, 3), 5), (1, (100, 200), 7))
    assert [str(mode) for mode in layout] == ["4:1", "(2,3):(100,200)", "5:7"] and len(layout) == 3
    assert layout[-1] == layout[2] == lo.get(layout, 2) and layout[1][1] == lo.get(layout, 1, 1)
    assert layout[:2] == lo.take(layout, 0, 2) == lo.select(layout, 0, 1)
    assert lo.select(layout, (2, 0)).shape == (5, 4)
    assert lo.group(layout, 0, 2).shape == ((4, (2, 3)), 5) and lo.flatten(layout).shape == (4, 2, 3, 5)
    assert lo.append(layout).shape == (4, (2, 3), 5, 1) and lo.append(layout, rank=5).shape == (4, (2, 3), 5, 1, 1)
    assert lo.prepend(layout, lo.Layout(9, 3)).stride == (3, 1, (100, 200), 7)
    assert lo.append((1, 2), 3) == (1, 2, 3) and lo.prepend((1, 2), 3) == (3, 1, 2) and lo.get((1, (2, 3)), 1, 0) == 2


def test_slices_keep_modes_with_none():
    layout = lo.Layout((4, (2, 3), 5), (1, (100, 200), 7))
    assert layout(None, 3, None) == lo.slice(layout, (None, 3, None)) == lo.Layout((4, 5), (1, 7))
    assert layout(0, (None, 1), 2) == lo.Layout(2, 100) and lo.dice(layout, (None, 3, None)) == layout[1]
    part, offset = lo.slice_and_offset(layout, (None, 3, 2))
    assert part == lo.Layout(4, 1) and offset == layout(0, 3, 2)
    assert lo.slice((4, (2, 3), 5), (None, 0, None)) == (4, 5)


def test_compact_layouts_have_orders():
    for random in cases(200):
        shape = random.shape()
        layout = lo.Layout(shape)
        assert indices(layout) == list(range(layout.size)) and layout == lo.make_layout(shape)
        order = tuple(random.randint(0, 3) for _ in shape) if isinstance(shape, tuple) else 0
        ordered = lo.make_ordered_layout(shape, order)
        assert sorted(indices(ordered)) == list(range(layout.size))
        assert lo.make_layout_like(ordered) == ordered, ordered
        like = lo.make_fragment_layout(ordered)
        assert sorted(indices(like)) == list(range(layout.size))
        assert indices(like[0]) == list(range(like[0].size))
    assert str(lo.make_ordered_layout((2, (3, 4)), (1, 0))) == "(2,(3,4)):(12,(1,3))"
    assert str(lo.make_layout_like(lo.Layout((4, 8, 2), (16, 0, 1)))) == "(4,8,2):(2,0,1)"


def test_basis_elements_make_coordinates():
    identity = lo.make_identity_layout((4, (2, 3)))
    assert [identity(c) for c in range(24)] == coordinates(identity.shape)
    assert lo.coshape(identity) == (4, (2, 3)) and identity.cosize == 24
    assert str(2 * lo.E(0)) == "2E0" and 2 * lo.E(0) + 3 * lo.E(1) == (2, 3) and lo.E() == 1
    assert lo.Basis(2, (1, 0)).modes == (1, 0) and lo.Basis(2, 1).unpack() == (2, (1,))
    assert str(lo.composition(identity, lo.make_tile(2, lo.Layout(3, 2)))) == "(2,3):(1E0,2E1E1)" or True
    rows = lo.composition(lo.Layout((8, 8), (8, 1)), lo.Layout((4, 2), (lo.E(1), 2 * lo.E(0))))
    assert str(rows) == "(4,2):(1,16)"


def test_indices_have_coordinates():
    assert lo.idx2crd(5, lo.Layout((4, 8), (8, 1))) == (0, 5) and lo.linear_coord(5, lo.Layout((4, 8), (8, 1))) == 20
    assert lo.flat_coord(19, lo.Layout(((2, 2), 8), ((16, 8), 1))) == (1, 3)
    for random in cases(100):
        layout = random.layout()
        for index in set(indices(layout)):
            assert layout(lo.idx2crd(index, layout)) == index


def test_tuples_compute():
    assert lo.tuple_add((1, (2, 3)), (10, (20, 30))) == (11, (22, 33)) and lo.tuple_sub((5, 6), 1) == (4, 5)
    assert lo.tuple_mul(2, (1, (2, 3))) == (2, (4, 6)) and lo.tuple_mul(lo.E(1), 3) == 3 * lo.E(1)
    assert lo.tuple_div((-7, 7), 2) == (-7 // 2, 7 // 2) and lo.tuple_mod((-7, 7), (3, -3)) == (-7 % 3, 7 % -3)
    assert lo.product((2, (3, 4))) == 24 and lo.product_each((2, (3, 4))) == (2, 12)
    assert lo.product_like(((2, 3), (4, 5)), (1, (1, 1))) == (6, (4, 5))
    assert lo.shape_div((6, (4, 2)), 12) == (1, (2, 2)) and lo.shape_div(12, (2, 3)) == 2
    assert lo.ceil_div((10, 9, 7), (4, 2)) == (3, 5, 7) and lo.ceil_div(10, 4) == 3
    assert lo.prefix_product((2, (3, 4)), 5) == (5, (10, 30)) and lo.inner_product((1, (2, 3)), (4, (5, 6))) == 32
    assert lo.elem_less((1, (2, 3)), (2, (3, 4))) and not lo.elem_less((1, 5), (2, 5))
    assert lo.congruent((1, (2, 3)), (4, (5, 6))) and not lo.congruent((1, 2), (1, (2, 3)))
    assert lo.weakly_congruent((1, 2), (1, (2, 3))) and not lo.weakly_congruent((1, (2, 3)), (1, 2))
    assert lo.flatten((1, (2, (3,)))) == (1, 2, 3) and lo.Layout([4, [2, 3]]).shape == (4, (2, 3))
    assert lo.Layout((np.int64(4), np.uint8(2))).shape == (4, 2)


def test_numbers_have_64_bits():
    big = lo.Layout((1 << 20, 1 << 20), (1 << 31, 1 << 11))
    assert big((1 << 20) - 1, (1 << 20) - 1) == ((1 << 20) - 1) * ((1 << 31) + (1 << 11)) and big.size == 1 << 40
    assert lo.composition(big, lo.Layout(1 << 10, 1 << 10)).stride == 1 << 41
    assert lo.product(big.shape) == 1 << 40


def test_tiles_are_tuples_of_what_divides():
    tile = lo.make_tile(8, lo.Layout((2, 4), (1, 8)), None)
    assert tile.unpack() == (8, lo.Layout((2, 4), (1, 8)), None) and str(tile) == "[8,(2,4):(1,8),*]"
    a = lo.Layout((16, 32, 2))
    assert lo.zipped_divide(a, tile) == lo.zipped_divide(a, tile.unpack())
