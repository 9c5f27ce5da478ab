"""Layouts: nested sizes and strides as functions from coordinates to indices, and their algebra. No device is needed.

    from strata import layout as lo
    a = lo.Layout((4, 8), (8, 1))           # row-major, prints (4,8):(8,1)
    a(2, 3)                                 # 19
    lo.zipped_divide(a, (2, 4))             # ((2,4),(2,2)):((8,1),(16,4))

Tuples nest; their leaves are 64-bit integers, UOps, E(mode) and, in coordinates and tiles, None. An integer is a
coordinate of every layout: it counts the first mode fastest, and the last mode has no end. What is no layout is a
LayoutError, which names the operation, the mode and both layouts.
"""

import sys as _sys
from html import escape as _escape

from .. import _strata

_sys.modules.setdefault("strata._layout", _strata._layout)

from .._layout import (  # noqa: E402
    Basis,
    ComposedLayout,
    CoordSwizzle,
    E,
    Layout,
    LayoutError,
    Swizzle,
    Tile,
    append,
    blocked_product,
    ceil_div,
    coalesce,
    complement,
    composition,
    congruent,
    coshape,
    cosize,
    crd2crd,
    crd2idx,
    depth,
    dice,
    elem_less,
    flat_coord,
    flat_divide,
    flat_product,
    flatten,
    get,
    group,
    idx2crd,
    inner_product,
    is_injective,
    left_inverse,
    linear_coord,
    local_partition,
    local_tile,
    logical_divide,
    logical_product,
    make_composed_layout,
    make_fragment_layout,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_layout_tv,
    make_ordered_layout,
    make_tile,
    parse,
    prefix_product,
    prepend,
    product,
    product_each,
    product_like,
    raked_product,
    rank,
    recast_layout,
    right_inverse,
    select,
    shape_div,
    size,
    slice,
    slice_and_offset,
    take,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    tuple_add,
    tuple_div,
    tuple_mod,
    tuple_mul,
    tuple_sub,
    weakly_congruent,
    zipped_divide,
    zipped_product,
)
from ._banks import BankConflicts, bank_conflicts  # noqa: E402
from ._draw import draw  # noqa: E402
from ._show import show  # noqa: E402


def unpack(value: object) -> object:
    """The parts of a Layout, ComposedLayout, swizzle, Basis or Tile as a tuple; anything else is itself."""
    return value.unpack() if hasattr(value, "unpack") else value


def _composed(inner, offset, outer):
    return make_composed_layout(inner, offset, outer)


def _reduce(self):
    return _composed, self.unpack()


def _html(self):
    shown = size(self)
    return draw(self) if isinstance(shown, int) and shown <= 1024 else _escape(str(self))


ComposedLayout.__reduce__ = _reduce  # type: ignore[method-assign]
Layout._repr_html_ = ComposedLayout._repr_html_ = _html  # type: ignore[attr-defined]

__all__ = [
    "BankConflicts",
    "Basis",
    "ComposedLayout",
    "CoordSwizzle",
    "E",
    "Layout",
    "LayoutError",
    "Swizzle",
    "Tile",
    "append",
    "bank_conflicts",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "complement",
    "composition",
    "congruent",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "draw",
    "elem_less",
    "flat_coord",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "group",
    "idx2crd",
    "inner_product",
    "is_injective",
    "left_inverse",
    "linear_coord",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_fragment_layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_tile",
    "parse",
    "prefix_product",
    "prepend",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast_layout",
    "right_inverse",
    "select",
    "shape_div",
    "show",
    "size",
    "slice",
    "slice_and_offset",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tuple_add",
    "tuple_div",
    "tuple_mod",
    "tuple_mul",
    "tuple_sub",
    "unpack",
    "weakly_congruent",
    "zipped_divide",
    "zipped_product",
]
