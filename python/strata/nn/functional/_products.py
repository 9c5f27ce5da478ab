"""Products of groups, and of numbers of 8 bits with scales."""

from __future__ import annotations

from ..._strata import DTypeError, ShapeError, Tensor, UsageError, cat, dtypes, promote, stack
from ._shared import widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DTypeLike


__all__ = ["grouped_mm", "scaled_mm"]

_BLOCK = 128  # elements of k, and of n, that share a scale of blocks


def _ends(offs: Tensor, most: int) -> list[int]:
    """The ends of groups, on the host."""
    if offs.ndim != 1 or not offs.dtype.is_integer:
        raise ShapeError(f"[grouped_mm] offs {offs.shape} of {offs.dtype.name}: integers (groups,), where each ends")
    ends = offs.tolist()
    for before, end in zip([0, *ends], ends):
        if not before <= end <= most:
            raise UsageError(f"[grouped_mm] offs has {end} after {before}: they do not fall, and {most} is the most")
    return ends


def _joined(parts: list[Tensor], axis: int, size: int) -> Tensor:
    """The parts one after the other, then zeros."""
    rest = size - sum(part.shape[axis] for part in parts)
    shape = [rest if i == axis else n for i, n in enumerate(parts[0].shape)]
    zeros = [Tensor.zeros(*shape, dtype=parts[0].dtype, device=parts[0].device)] if rest else []
    return cat([*parts, *zeros], axis)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    offs: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    out_dtype: DTypeLike | None = None,
) -> Tensor:
    """Products of groups: (groups, n, k) @ (groups, k, m), or groups that offs (groups,), where each ends, makes of an
    axis.

    (n, k) @ (groups, k, m) is grouped by rows: (n, m). (groups, n, k) @ (k, m) is grouped by columns: (n, m). (n, k) @
    (k, m) is grouped by k: (groups, n, m). Rows and columns behind the last group are 0. bias (groups, m) is added to
    rows of groups. offs is read on the host. Summed in float32, rounded once to out_dtype, or the operands' type.
    UsageError for offsets that fall, ShapeError.
    """
    kinds = (mat_a.ndim, mat_b.ndim)
    if {*kinds} - {2, 3} or (offs is None and kinds != (3, 3)):
        raise ShapeError(
            f"[grouped_mm] shapes {mat_a.shape} and {mat_b.shape}: matrices or stacks of them, "
            f"with offs (groups,) unless both are stacks"
        )
    ends = [] if offs is None or kinds == (3, 3) else _ends(offs, _split(kinds, mat_a, mat_b))
    groups = mat_a.shape[0] if mat_a.ndim == 3 else mat_b.shape[0] if mat_b.ndim == 3 else len(ends)
    if ends and len(ends) != groups:
        raise ShapeError(f"[grouped_mm] {len(ends)} offs for shapes {mat_a.shape} and {mat_b.shape}: one a group")
    if bias is not None and (kinds == (3, 2) or bias.shape != (groups, mat_b.shape[-1])):
        raise ShapeError(f"[grouped_mm] bias {bias.shape} for {groups} groups of rows: (groups, {mat_b.shape[-1]})")
    to = promote(mat_a.dtype, mat_b.dtype) if out_dtype is None else out_dtype
    wide_a, wide_b = widened(mat_a), widened(mat_b)
    if kinds == (3, 3):
        out = wide_a @ wide_b
        return (out if bias is None else out + widened(bias).unsqueeze(1)).cast(to)
    parts = []
    for i, at in enumerate(slice(start, end) for start, end in zip([0, *ends], ends)):
        left = wide_a[i] if mat_a.ndim == 3 else wide_a[at] if mat_b.ndim == 3 else wide_a[:, at]
        part = left @ (wide_b[i] if mat_b.ndim == 3 else wide_b[:, at] if mat_a.ndim == 3 else wide_b[at])
        parts.append((part if bias is None else part + widened(bias)[i]).cast(to))
    if kinds == (2, 2):
        return stack(parts)
    return _joined(parts, 0 if kinds == (2, 3) else 1, _split(kinds, mat_a, mat_b))


def _split(kinds: tuple[int, int], a: Tensor, b: Tensor) -> int:
    """The size of the axis that offs makes groups of."""
    return a.shape[0] if kinds == (2, 3) else b.shape[1] if kinds == (3, 2) else a.shape[1]


def _recipe(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> str:
    """How scales go with elements, by their shapes."""
    (m, k), n = a.shape, b.shape[1]
    blocks, fine = -(-k // _BLOCK), -(-k // 32)
    if scale_a.dtype == scale_b.dtype == dtypes.uint8 and (scale_a.shape, scale_b.shape) == ((m, fine), (fine, n)):
        return "e8m0"
    if scale_a.dtype.is_float and scale_b.dtype.is_float:
        if scale_a.shape in ((), (1,), (m, 1)) and scale_b.shape in ((), (1,), (1, n)):
            return "rows"
        if (scale_a.shape, scale_b.shape) == ((m, blocks), (blocks, -(-n // _BLOCK))):
            return "blocks"
    raise ShapeError(
        f"[scaled_mm] a {a.shape}, b {b.shape}, scale_a {scale_a.shape} of {scale_a.dtype.name}, scale_b "
        f"{scale_b.shape} of {scale_b.dtype.name}: scales are (1,), (m, 1) and (1, n), (m, k / 128) and (k / 128, "
        f"n / 128), or uint8 (m, k / 32) and (k / 32, n)"
    )


def scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    *,
    bias: Tensor | None = None,
    out_dtype: DTypeLike = "bfloat16",
) -> Tensor:
    """(a * scale_a) @ (b * scale_b) + bias of numbers of 8 bits: a (m, k), b (k, n) -> (m, n) of out_dtype.

    a and b are int8, or floats of 8 bits of any kind. The shapes of the scales say what they multiply. (1,): all. (m,
    1) and (1, n): rows and columns. (m, k / 128) and (k / 128, n / 128), rounded up: blocks. (m, k / 32) and (k / 32,
    n) of uint8: powers of two, 2^(s - 127), where 255 is NaN. bias (n,). Integers are multiplied exactly in int32,
    but in blocks as floats, in float32. The result is rounded once. DTypeError, ShapeError.
    """
    from ...kernels._shared import spread
    from ...kernels.packing import BLOCK, e8m0

    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ShapeError(f"[scaled_mm] a {a.shape}, b {b.shape}: (m, k) and (k, n)")
    is_whole = a.dtype == b.dtype == dtypes.int8
    if not is_whole and not all(x.dtype.is_float and x.dtype.itemsize == 1 for x in (a, b)):
        raise DTypeError(f"[scaled_mm] a is of {a.dtype.name}, b of {b.dtype.name}: both int8, or floats of 8 bits")
    (m, k), n = a.shape, b.shape[1]
    if bias is not None and bias.shape != (n,):
        raise ShapeError(f"[scaled_mm] bias {bias.shape}: it is ({n},)")
    recipe = _recipe(a, b, scale_a, scale_b)
    if recipe == "rows":
        whole = a.cast("int32") @ b.cast("int32") if is_whole else a.cast("float32") @ b.cast("float32")
        out = whole.cast("float32") * widened(scale_a) * widened(scale_b)
    elif recipe == "blocks":
        left = a.cast("float32") * spread(widened(scale_a), m, k, (1, _BLOCK))
        out = left @ (b.cast("float32") * spread(widened(scale_b), k, n, (_BLOCK, _BLOCK)))
    else:
        left = e8m0(a.cast("float32"), spread(scale_a, m, k, (1, BLOCK)))
        out = left @ e8m0(b.cast("float32"), spread(scale_b, k, n, (BLOCK, 1)))
    return (out if bias is None else out + widened(bias)).cast(out_dtype)
