"""The operators of ONNX, a row each: its inputs in their order, then its attributes by name. What earlier versions have as an attribute
and later ones as an input has one name for both. https://onnx.ai/onnx/operators."""

from ..control import CONTROL, SEQUENCES
from . import attention, elementwise, norms, quantised, recurrent, reductions, resize, shapes, windows

# Inputs of which a graph is made: a row takes them as arrays of the host, and what a device holds is computed for it.
KNOWN = {
    "axes", "axis", "block_shape", "condition", "constant_value", "delta", "depth", "ends", "image_shape", "k", "limit", "output_shape", "pads", "position", "repeats", "roi", "size", "scales", "shape", "sizes", "split", "start", "starts", "steps", "training_mode",
}  # fmt: skip

FAMILIES = (attention, elementwise, norms, quantised, recurrent, reductions, resize, shapes, windows)
OPERATORS = {"Constant": None, **dict.fromkeys(CONTROL), **SEQUENCES}
for _family in FAMILIES:
    OPERATORS |= _family.ROWS

# Those that take integers of 2 and 4 bits as values.Narrow; those that only move elements take them too.
NARROW_ROWS = {"Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Identity"}
MOVES = {"Expand", "Flatten", "Gather", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}
