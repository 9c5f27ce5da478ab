"""Leaves and coordinates that are UOps: the same values as with integers in their place."""

import re

import pytest
from reference import cases, given, indices
from strata import layout as lo, uop

INFIX = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "idiv": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "mod": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "bit_and": lambda a, b: a & b,
    "bit_xor": lambda a, b: a ^ b,
    "bit_or": lambda a, b: a | b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "max": max,
}


def value(x, given):
    """The value of an integer, a UOp or a tuple of them, with numbers of ranges and variables by their first words."""
    if isinstance(x, tuple):
        return tuple(value(mode, given) for mode in x)
    if not isinstance(x, uop.UOp):
        return x
    values = []
    for line in x.tree().splitlines():
        _, text, sources = re.match(r"%(\d+) = (.*?)(?:  <- (.*))?$", line).groups()
        op, _, *argument = text.split()
        of = [values[int(s[1:])] for s in sources.split(", ")] if sources else []
        if op == "constant":
            values.append(int(argument[0]))
        elif op == "cast":
            values.append(of[0])
        elif op in INFIX:
            values.append(INFIX[op](*of))
        else:
            values.append(given[" ".join(argument)])
    return values[-1]


def lane(size=64):
    return uop.range(size, 0, "global"), f"r0 {size} global"


def test_indices_of_uops_are_those_of_their_values():
    for random in cases(60):
        layout = random.layout()
        c, name = lane(layout.size)
        index = layout(c)
        assert [value(index, {name: i}) for i in range(layout.size)] == indices(layout), layout
        natural = lo.idx2crd(c, layout.shape)
        assert [value(natural, {name: i}) for i in range(layout.size)] == [
            lo.idx2crd(i, layout.shape) for i in range(layout.size)
        ]


def test_swizzles_and_coordinates_of_uops():
    c, name = lane()
    for swizzle in (lo.Swizzle(2, 1, 3), lo.Swizzle(2, 1, -3)):
        assert [value(swizzle(c), {name: i}) for i in range(64)] == [swizzle(i) for i in range(64)]
    composed = lo.make_composed_layout(lo.Swizzle(3, 0, 3), 5, lo.Layout((8, 8), (8, 1)))
    assert [value(composed(c), {name: i}) for i in range(64)] == [composed(i) for i in range(64)]
    threads = lo.Layout((8, 4), (4, 1))
    t, name = lane(32)
    assert [value(lo.flat_coord(t, threads), {name: i}) for i in range(32)] == [
        lo.flat_coord(i, threads) for i in range(32)
    ]
    layout, offset = lo.local_partition(lo.Layout((16, 8), (8, 1)), threads, t)
    for i in range(32):
        assert (layout, value(offset, {name: i})) == lo.local_partition(lo.Layout((16, 8), (8, 1)), threads, i)


def sized():
    """Rows and columns that come with the kernel."""
    rows, columns = uop.range(4096, 1, "global"), uop.range(4096, 2, "global")
    return rows, columns, lambda m, n: {"r1 4096 global": m, "r2 4096 global": n}


def numbers(layout, at):
    return lo.Layout(value(layout.shape, at), value(layout.stride, at))


@pytest.mark.parametrize("make", [
    lambda m, n: lo.local_tile(lo.Layout((m, n), (n, 1)), (8, 4), (1, None)),
    lambda m, n: lo.zipped_divide(lo.Layout((m, n), (1, m)), (8, 4)),
    lambda m, n: lo.composition(lo.Layout((m, n), (n, 1)), (4, None)),
    lambda m, n: lo.complement(lo.Layout(4, 1), m),
    lambda m, n: lo.coalesce(lo.Layout((m, n), (1, m))),
    lambda m, n: lo.right_inverse(lo.Layout((m, n), (1, m))),
    lambda m, n: lo.logical_product(lo.Layout(8), lo.Layout(m)),
    lambda m, n: lo.Layout((m, (n, 2))),
    lambda m, n: lo.recast_layout(lo.Layout((8, m), (1, 8)), 16, 32),
    lambda m, n: lo.coshape(lo.make_identity_layout((m, n))),
    lambda m, n: lo.make_ordered_layout((m, n), (1, 0)),
])  # fmt: skip
def test_sizes_that_are_uops_give_what_numbers_give(make):
    m, n, names = sized()
    symbolic, at = make(m, n), names(64, 32)
    expected = make(64, 32)
    if isinstance(symbolic, lo.Layout):
        assert numbers(symbolic, at) == expected
    elif isinstance(symbolic[0], lo.Layout):
        assert (numbers(symbolic[0], at), value(symbolic[1], at)) == expected
    else:
        assert value(symbolic, at) == expected


def test_static_parts_stay_static():
    m, n, _ = sized()
    tile, _ = lo.local_tile(lo.Layout((m, n), (n, 1)), (8, 4), (0, 0))
    assert tile.shape == (8, 4) and tile.stride[1] == 1
    assert lo.Layout((4, m)).stride == (1, 4)
    assert lo.Layout((4, uop.const(8, "int32"))) == lo.Layout((4, 8)), "a constant is known"


def test_what_must_know_a_leaf_says_which():
    m, n, _ = sized()
    for call in (
        lambda: lo.is_injective(lo.Layout((4, m))),
        lambda: lo.idx2crd(5, lo.Layout((4, m))),
        lambda: lo.composition(lo.Layout((m, n), (n, 1)), lo.Layout(8, 2)),
        lambda: lo.left_inverse(lo.Layout(4, m)),
    ):
        with pytest.raises(lo.LayoutError, match=r"must know the leaf \?\{range index r[12] 4096 global\}"):
            call()
    assert "?{range index r1 4096 global}" in str(lo.Layout((4, m)))


def test_wrong_uops_are_refused():
    for leaf in (uop.const(2.0, "float32"), uop.const(True, "bool")):
        with pytest.raises(lo.LayoutError, match="integer UOp"):
            lo.Layout((4, leaf))


def test_uops_against_numbers_on_random_layouts():
    for random in cases(60, 9):
        a, b = random.compact(), random.compact()
        plain = given(lo.composition, a, b)
        if plain is None or not b.depth:
            continue
        c, name = lane(plain.size)
        assert [value(plain(c), {name: i}) for i in range(plain.size)] == [a(b(i)) for i in range(plain.size)]
