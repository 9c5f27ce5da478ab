"""Quantisation to int8 and floats of 8 bits, with scales in float32 for each row, tensor, group or block."""

from __future__ import annotations

from .._checks import check_all, integer, real
from .._strata import DType, DTypeError, Tensor, UsageError, dtypes
from ._shared import NARROWEST_NORMAL, floats, shaped, widened, without_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DTypeLike

# The largest finite number of each type, which the scale brings the largest element to.
LARGEST = {"int8": 127.0, "fp8e4m3": 448.0, "fp8e5m2": 57344.0, "fp8e4m3fnuz": 240.0, "fp8e5m2fnuz": 57344.0}


def _largest(name: str, dtype: DTypeLike) -> float:
    if (of := DType(dtype).name) not in LARGEST:
        raise DTypeError(f"[{name}] dtype {of}: it is one of {', '.join(LARGEST)}")
    return LARGEST[of]


def rounded(x: Tensor, dtype: DTypeLike) -> Tensor:
    """x in an 8-bit type: to nearest, ties to even; numbers beyond the largest become it."""
    largest = LARGEST[DType(dtype).name]
    if DType(dtype).is_float:
        return x.clamp(-largest, largest).cast(dtype)
    return x.round().clamp(-largest - 1, largest).cast(dtype)


def _scales(x: Tensor, largest: float, axes: tuple[int, ...]) -> Tensor:
    """max |x| / largest over axes that are kept. Zeros have a scale above 0 too, by which they stay 0."""
    return (widened(x).abs().max(axes, keepdims=True).cast("float32") / largest).maximum(NARROWEST_NORMAL)


def _checked(name, x):
    floats(name, x=x)
    shaped(name, "it takes (..., k)", x.ndim > 0, x=x)


def quantize_per_token(x: Tensor, dtype: DTypeLike = "int8") -> tuple[Tensor, Tensor]:
    """q, scale: scale = max|x| / largest of each row, q = x / scale rounded to nearest, ties to even.

    x (..., k), q (..., k) of dtype, scale (..., 1) float32. dtype: int8 (127), fp8e4m3 (448), fp8e5m2 and fp8e5m2fnuz
    (57344), fp8e4m3fnuz (240). A row of zeros has q 0 and a scale above 0. NaN stays in its row. No gradient:
    Unsupported when one arrives. DTypeError, ShapeError.
    """
    _checked("quantize_per_token", x)
    largest = _largest("quantize_per_token", dtype)
    if not x.size:
        return x.zeros_like(dtype), Tensor.full((*x.shape[:-1], 1), NARROWEST_NORMAL, device=x.device)
    scale = _scales(x, largest, (-1,))
    return without_gradient("quantize_per_token", [x], rounded(widened(x) / scale, dtype), scale)  # type: ignore


def quantize_per_tensor(x: Tensor, dtype: DTypeLike, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
    """q, scale: q = x / scale rounded to nearest, ties to even; scale = max|x| / largest where it is not given.

    x of any shape, q of that shape and dtype, scale (1,) float32, given as a number too. Numbers beyond the largest of
    dtype become it. dtype as quantize_per_token. No gradient: Unsupported when one arrives. DTypeError, ShapeError.
    """
    if scale is not None and not isinstance(scale, Tensor):
        scale = Tensor.full((1,), real("quantize_per_tensor", "scale", scale, 0, closed=False), device=x.device)
    floats("quantize_per_tensor", x=x, scale=scale)
    largest = _largest("quantize_per_tensor", dtype)
    if scale is not None:
        shaped("quantize_per_tensor", "scale is (1,)", scale.size == 1, x=x, scale=scale)
        scale = scale.reshape(1).cast("float32")
    elif x.size:
        scale = _scales(x.reshape(-1), largest, (-1,))
    else:
        scale = Tensor.full((1,), NARROWEST_NORMAL, device=x.device)
    return without_gradient("quantize_per_tensor", [x], rounded(widened(x) / scale, dtype), scale)  # type: ignore


def _blocks(x: Tensor, rows: int, columns: int) -> Tensor:
    """(..., n, k) -> (..., n / rows, rows, k / columns, columns), with zeros beyond the last elements."""
    n, k = x.shape[-2:]
    padded = x.pad([*[(0, 0)] * (x.ndim - 2), (0, -n % rows), (0, -k % columns)])
    n, k = padded.shape[-2:]
    return padded.reshape(*x.shape[:-2], n // rows, rows, k // columns, columns)


def _by_block(name: str, x: Tensor, dtype: DTypeLike, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    largest = _largest(name, dtype)
    n, k = x.shape[-2:]
    counts = (*x.shape[:-2], -(-n // rows), -(-k // columns))
    if not x.size:
        return x.zeros_like(dtype), Tensor.full(counts, NARROWEST_NORMAL, device=x.device)
    parts = _blocks(x, rows, columns)
    scale = _scales(parts, largest, (-3, -1))
    q = rounded(widened(parts) / scale, dtype).reshape(*x.shape[:-2], counts[-2] * rows, counts[-1] * columns)
    q = q.shrink([*[(0, m) for m in x.shape]])
    return without_gradient(name, [x], q, scale.reshape(*counts))  # type: ignore[return-value]


def quantize_per_group(x: Tensor, dtype: DTypeLike, group: int = 128) -> tuple[Tensor, Tensor]:
    """q, scale: as quantize_per_token for each group of neighbouring elements of a row.

    x (..., k), q (..., k) of dtype, scale (..., k / group) float32, rounded up: the last group may be shorter. No
    gradient: Unsupported when one arrives. DTypeError, ShapeError, UsageError.
    """
    group = integer("quantize_per_group", "group", group, 1)
    _checked("quantize_per_group", x)
    q, scale = _by_block("quantize_per_group", x.unsqueeze(-2), dtype, 1, group)
    return q.squeeze(-2), scale.squeeze(-2)


def quantize_per_block(x: Tensor, dtype: DTypeLike, block: tuple[int, int] = (128, 128)) -> tuple[Tensor, Tensor]:
    """q, scale: as quantize_per_token for each block of rows and columns.

    x (..., n, k), q of that shape and dtype, scale (..., n / block[0], k / block[1]) float32, rounded up: the last
    blocks may be smaller. No gradient: Unsupported when one arrives. DTypeError, ShapeError, UsageError.
    """
    if not isinstance(block, (tuple, list)) or len(block) != 2:
        raise UsageError(f"[quantize_per_block] block is {block!r}: the rows and columns of one, such as (128, 128)")
    rows, columns = (integer("quantize_per_block", "block", n, 1) for n in block)
    floats("quantize_per_block", x=x)
    shaped("quantize_per_block", "it takes (..., n, k)", x.ndim > 1, x=x)
    return _by_block("quantize_per_block", x, dtype, rows, columns)


def normalize_e4m3fn_to_e4m3fnuz(w: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """w, scale: the same values w * scale, with w as fp8e4m3fnuz, whose bytes stand for half of fp8e4m3's.

    w of fp8e4m3 and any shape, scale of floats, which is doubled. -0 becomes 0, NaN stays. No gradient: Unsupported
    when one arrives. DTypeError.
    """
    if w.dtype != dtypes.fp8e4m3:
        raise DTypeError(f"[normalize_e4m3fn_to_e4m3fnuz] w is of {w.dtype.name}: it takes fp8e4m3")
    floats("normalize_e4m3fn_to_e4m3fnuz", scale=scale)
    byte = w.bitcast("uint8")
    byte = (byte == 0x80).where(0, ((byte & 0x7F) == 0x7F).where(0x80, byte)).cast("uint8")
    made, doubled = byte.bitcast("fp8e4m3fnuz"), scale * 2
    return without_gradient("normalize_e4m3fn_to_e4m3fnuz", [w, scale], made, doubled)  # type: ignore[return-value]


check_all(globals(), __name__, is_total=True)
