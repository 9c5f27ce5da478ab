"""Quantised operators: integers with a scale and a zero point. Sums are int32, and scaled in float32."""

from ... import _strata
from ..._strata import Unsupported
from ..values import NARROW_RANGE, Narrow, type_name
from . import windows
from .common import axis_of, wide
from .elementwise import held, to_type

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535), **NARROW_RANGE}


def _kind(x):
    return x.kind if isinstance(x, Narrow) else x.dtype.name


def spread(v, x, axis, block_size):
    """A scale or zero point in a shape that broadcasts with x. It is one number, one an index of the axis, or one a
    block of it.
    """
    if v is None or v.ndim == 0 or v.shape == (1,):
        return None if v is None else v.reshape(())
    axis = axis_of(axis, x.ndim)
    if not block_size:
        if v.ndim != 1 or v.shape[0] != x.shape[axis]:
            raise ValueError(f"a scale of shape {v.shape} for axis {axis} of {x.shape}")
        return v.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    if (
        v.ndim != x.ndim
        or v.shape[axis] != -(-x.shape[axis] // block_size)
        or any(m != n for i, (m, n) in enumerate(zip(v.shape, x.shape)) if i != axis)
    ):
        raise ValueError(f"a scale of shape {v.shape} for blocks of {block_size} along axis {axis} of {x.shape}")
    return v.repeat(block_size, axis)[(slice(None),) * axis + (slice(x.shape[axis]),)]


def quantised(x, zero_point, kind, saturate=1):
    """x, in units of its scale already, rounded to the nearest (even) integer, plus the zero point, as a type."""
    if kind not in RANGES:
        return to_type(x, kind, saturate)
    low, high = RANGES[kind]
    limit = 1 << 24
    whole = x.round().clip(-limit, limit).cast("int32")
    whole = whole if zero_point is None else whole + zero_point.cast("int32")
    return to_type(whole.clip(low, high), kind)


def quantize_linear(x, scale, zero_point=None, *, axis=1, saturate=1, block_size=0, output_dtype=0, precision=0):
    kind = _kind(zero_point) if zero_point is not None else type_name(output_dtype) if output_dtype else "uint8"
    if kind not in RANGES and not kind.startswith("fp8") and kind != "float4_e2m1fn":
        raise Unsupported(f"[onnx] QuantizeLinear to {kind}")
    scale = held(scale)
    by, zero = (
        spread(scale, x, axis, block_size),
        spread(None if zero_point is None else held(zero_point), x, axis, block_size),
    )
    x = x.cast("float32") if x.dtype.is_integer else x
    if precision:
        x, by = x.cast(type_name(precision)), by.cast(type_name(precision))
    return quantised((wide(x) / wide(by)).cast("float32"), zero, kind, saturate)


def dequantize_linear(x, scale, zero_point=None, *, axis=1, block_size=0, output_dtype=0):
    values, scale = held(x), held(scale)
    by, zero = (
        spread(scale, values, axis, block_size),
        spread(None if zero_point is None else held(zero_point), values, axis, block_size),
    )
    if zero is not None and not values.dtype.is_float:
        values = values.cast("int32") - zero.cast("int32")
    out = values.cast("float32") * wide(by).cast("float32")
    return out.cast(type_name(output_dtype) if output_dtype else scale.dtype)


def dynamic_quantize_linear(x):
    """(y, scale, zero point) of uint8: the range of x, with 0 in it."""
    low, high = x.min().minimum(0), x.max().maximum(0)
    scale = (high - low) / 255
    unit = _strata.where(scale == 0, 1, scale)
    zero = (0 - low / unit).round().clip(0, 255).cast("uint8")
    return quantised(x / unit, zero, "uint8"), scale, zero


def _centred(x, zero_point, row=False):
    """int32 x less its zero point: one number, one a row of a matrix, or as many as broadcast."""
    x = x.cast("int32")
    if zero_point is None:
        return x
    zero = zero_point.cast("int32")
    return x - (zero.unsqueeze(-1) if row and zero.ndim == 1 and zero.shape[0] != 1 else zero)


def matmul_integer(a, b, a_zero_point=None, b_zero_point=None):
    return (_centred(a, a_zero_point, row=True) @ _centred(b, b_zero_point)).cast("int32")


def _channels(v, n):
    """One number an output channel, in a shape that broadcasts with weights or results of n more axes."""
    return v if v is None or v.ndim == 0 or v.shape == (1,) else v.reshape([-1, *[1] * n])


def conv_integer(x, w, x_zero_point=None, w_zero_point=None, **how):
    centred = _centred(w, _channels(w_zero_point, w.ndim - 1))
    return windows.conv(_centred(x, x_zero_point), centred, **how).cast("int32")


def _requantised(whole, scale, zero_point, kind):
    return quantised(whole.cast("float32") * scale, zero_point, kind)


def qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
    whole = matmul_integer(a, b, a_zero_point, b_zero_point)
    rows = a_scale.unsqueeze(-1) if a_scale.ndim == 1 and a_scale.shape[0] != 1 else a_scale
    return _requantised(whole, wide(rows) * wide(b_scale) / wide(y_scale), y_zero_point, y_zero_point.dtype.name)


def qlinear_conv(
    x,
    x_scale,
    x_zero_point,
    w,
    w_scale,
    w_zero_point,
    y_scale,
    y_zero_point,
    bias=None,
    *,
    kernel_shape=None,
    strides=None,
    pads=None,
    dilations=None,
    group=1,
    auto_pad="NOTSET",
):
    n = w.ndim - 2
    whole = conv_integer(
        x,
        w,
        x_zero_point,
        w_zero_point,
        strides=strides,
        pads=pads,
        dilations=dilations,
        group=group,
        auto_pad=auto_pad,
    )
    whole = whole if bias is None else whole + bias.reshape([-1, *[1] * n])
    return _requantised(whole, x_scale * _channels(w_scale, n) / y_scale, y_zero_point, y_zero_point.dtype.name)


def conv_integer_row(
    x,
    w,
    x_zero_point=None,
    w_zero_point=None,
    *,
    kernel_shape=None,
    strides=None,
    pads=None,
    dilations=None,
    group=1,
    auto_pad="NOTSET",
):
    return conv_integer(
        x,
        w,
        x_zero_point,
        w_zero_point,
        strides=strides,
        pads=pads,
        dilations=dilations,
        group=group,
        auto_pad=auto_pad,
    )


ROWS = {
    "ConvInteger": conv_integer_row, "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear, "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv, "QLinearMatMul": qlinear_matmul, "QuantizeLinear": quantize_linear,
}  # fmt: skip
