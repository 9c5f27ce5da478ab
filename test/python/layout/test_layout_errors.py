"""Wrong layouts are a LayoutError that names its operation, mode and operands; nothing aborts."""

import os
import sys
import time

import pytest
import strata
from reference import Random
from strata import layout as lo

A, B = lo.Layout((4, 2), (1, 10)), lo.Layout((2, 2), (1, 3))
SWIZZLE = lo.Swizzle(2, 0, 2)

# call, operation, what its message has
WRONG = [
    (lambda: lo.Layout((4, 2), (1, (2, 3))), "Layout", "(4,2) and (1,(2,3)): shape and stride are not congruent"),
    (lambda: lo.Layout((4, 0)), "Layout", "the size 0: sizes are from 1 on"),
    (lambda: lo.Layout((4, -2)), "Layout", "the size -2: sizes are from 1 on"),
    (lambda: lo.Layout((4, 2.5)), "Layout", "a leaf is an integer, a UOp, E(mode) or None, and this is 2.5"),
    (lambda: lo.Layout((4, True)), "Layout", "and this is True"),
    (lambda: lo.Layout((4, lo.E(0))), "Layout", "sizes are integers"),
    (lambda: lo.Layout((4, 2), (1, None)), "Layout", "a leaf that is no number"),
    (lambda: lo.Layout((4, 1 << 64)), "Layout", "a leaf has 64 bits"),
    (lambda: lo.Layout((1 << 40, 1 << 40)).size, "Layout", "does not fit 64 bits"),
    (lambda: lo.Layout("(4,2):(1"), "parse", "column 9"),
    (lambda: lo.Layout("(4,2):(1,10) o"), "parse", "column"),
    (lambda: lo.parse("S<9,0,1>"), "Swizzle", "S<9,0,1>: it reads bits that it writes"),
    (lambda: A(1, 2, 3), "crd2idx", "(1,2,3) and (4,2):(1,10): the coordinate (1,2,3) has not the modes of (4,2)"),
    (lambda: A[2], "mode", "(4,2):(1,10): it has no mode 2"),
    (lambda: lo.idx2crd(5, A), "idx2crd", "5 and (4,2):(1,10): no coordinate has the index 5"),
    (lambda: lo.composition(A, B), "composition", "(4,2):(1,10) and (2,2):(1,3): its modes together reach 4"),
    (lambda: lo.composition(A, lo.Layout(3, 2)), "composition", "3 steps of 2 pass the end of a mode of A after 2"),
    (
        lambda: lo.composition(A, (lo.Layout(3, 2), lo.Layout(3, 3), 1)),
        "composition",
        "the tile has 3 modes, the layout 2",
    ),
    (lambda: lo.logical_divide(lo.Layout((4, (6, 2)), (1, (10, 100))), (2, 4)), "logical_divide", ", mode 1"),
    (lambda: lo.complement(B, 24), "complement", "(2,2):(1,3) and 24: the stride 3 is no multiple of the 2 indices"),
    (lambda: lo.complement(A, 0), "complement", "a codomain has a size from 1 on, not 0"),
    (lambda: lo.left_inverse(lo.Layout(4, 0)), "left_inverse", "4:0: two coordinates have one index"),
    (lambda: lo.left_inverse(lo.Layout((3, 3), (2, 3))), "left_inverse", "no layout gives its coordinates back"),
    (lambda: lo.shape_div((6, 4), (4, 2)), "shape_div", "(6,4) and (4,2): neither of 6 and 4 divides the other"),
    (lambda: lo.tuple_add((1, 2), (1, 2, 3)), "tuple_add", "(1,2) and (1,2,3): (1,2) and (1,2,3) have 2 and 3 modes"),
    (lambda: lo.tuple_div((4, 2), 0), "tuple_div", "a division by zero"),
    (lambda: lo.tile_to_shape(lo.Layout((8, 8)), (12, 32)), "tile_to_shape", "mode 0: blocks of 8 do not fill 12"),
    (lambda: lo.make_ordered_layout((2, 3), (0, (1, 2))), "make_ordered_layout", "(2,3) and (0,(1,2)): "),
    (lambda: lo.recast_layout(lo.Layout(4, 2), 32, 16), "recast_layout", "4:2: no mode goes from element to element"),
    (
        lambda: lo.recast_layout(lo.Layout(3), 16, 32),
        "recast_layout",
        "3:1: a mode of 3 elements does not hold whole ones",
    ),
    (lambda: lo.recast_layout(SWIZZLE, 16, 32), "recast_layout", "S<2,0,2>: it moves parts of an element of 32 bits"),
    (
        lambda: lo.make_composed_layout(A, 0, SWIZZLE),
        "make_composed_layout",
        "(4,2):(1,10) and S<2,0,2>: the outer one",
    ),
    (lambda: lo.slice(A, (None, 1, 2)), "slice", "(4,2):(1,10) and (*,1,2): "),
    (
        lambda: lo.local_tile(A, (2, 2), (0, 0, 0)),
        "local_tile",
        "(4,2):(1,10) and [2,2] and (0,0,0), mode 1: the coordinate",
    ),
    (lambda: lo.local_partition(A, lo.Layout((2, 2)), 7), "local_partition", "no coordinate has the index 7"),
    (lambda: lo.take(A, 1, 3), "take", "(4,2):(1,10): it has 2 modes, no modes 1 to 2"),
    (lambda: lo.coalesce(A, (1, 1, 1)), "coalesce", "the profile has 3 modes, the layout 2"),
    (lambda: lo.size("abc"), "size", "and this is 'abc'"),
    (lambda: lo.rank({}), "rank", "and this is {}"),
    (lambda: lo.coalesce((4, 2)), "coalesce", "a Layout is wanted, and this is (4, 2)"),
    (lambda: lo.bank_conflicts(lo.Layout((4, 2), (4, 2)), bits=32), "_bank_conflicts", "do not lie side by side"),
    (lambda: lo.bank_conflicts(lo.Layout(128)), "_bank_conflicts", "has 128 lanes"),
    (lambda: lo.show(lo.Layout(1 << 20)), "show", "[show] 1048576:1: 1048576 cells are too many"),
]


@pytest.mark.parametrize("call, operation, text", WRONG, ids=range(len(WRONG)))
def test_errors_name_what_is_wrong(call, operation, text):
    with pytest.raises(lo.LayoutError) as told:
        call()
    assert text in str(told.value), told.value
    assert told.value.operation == operation
    assert isinstance(told.value, ValueError) and isinstance(told.value, strata.Error)


def test_errors_carry_operation_mode_and_operands():
    with pytest.raises(lo.LayoutError) as told:
        lo.logical_divide(lo.Layout((4, (6, 2)), (1, (10, 100))), (2, 4))
    assert told.value.operation == "logical_divide" and told.value.mode.startswith("1")
    assert told.value.operands == ("(4,(6,2)):(1,(10,100))", "[2,4]")


def test_deep_tuples_are_refused():
    deep = 1
    for _ in range(sys.getrecursionlimit() // 2):
        deep = (deep, 1)
    for f in (lo.Layout, lo.size, lo.make_tile, lo.flatten):
        with pytest.raises(lo.LayoutError, match="deep"):
            f(deep)
    for text in ("(" * 10000, "[" * 10000, "4:1 o 0 o " * 1000 + "4:1"):
        with pytest.raises(lo.LayoutError):
            lo.parse(text)


def test_any_call_gives_a_value_or_an_error():
    """Every function with arguments of every kind: STRATA_FUZZ_SECONDS of them, a second without."""
    random, functions = (
        Random(1),
        [getattr(lo, n) for n in lo.__all__ if n not in ("draw", "LayoutError", "BankConflicts")],
    )
    until, calls, worked = time.monotonic() + float(os.environ.get("STRATA_FUZZ_SECONDS", "0")), 0, 0
    most = sys.maxsize

    def argument():
        return random.choice((
            random.layout, random.layout, random.shape, random.compact, lambda: random.randint(-2, 9), lambda: None,
            lambda: random.choice((0, 1, -1, most, -most - 1, 1 << 40, 2.5, "4:1", "S<2,0,3>", [], (), (None, 1))),
            lambda: (random.layout(), None, 2), lambda: lo.E(random.randint(0, 2)) * random.randint(-1, 3),
            lambda: lo.make_identity_layout(random.shape()), lambda: lo.Swizzle(2, 1, 3),
            lambda: lo.Layout(random.shape(), most) if random.random() < 0.1 else lo.Layout((most, 3), (most, -most)),
            lambda: lo.make_composed_layout(lo.Swizzle(1, 0, 2), random.randint(0, 9), random.layout()),
            lambda: lo.CoordSwizzle(1, 0, 0, 1, 1), lambda: lo.make_tile(random.randint(1, 4), random.layout()),
        ))()  # fmt: skip

    while calls < 4000 or time.monotonic() < until:
        calls += 1
        try:
            given = [argument() for _ in range(random.randint(1, 3))]
            random.choice(functions)(*given)
            worked += 1
        except (lo.LayoutError, strata.UsageError, TypeError):
            pass
    assert worked > calls // 20
