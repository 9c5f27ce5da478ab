"""The operators of ONNX, a row each: its inputs in their order, then its attributes by name. What earlier versions have
as an attribute and later ones as an input has one name for both. https://onnx.ai/onnx/operators."""

from ..control import CONTROL, SEQUENCES
from . import (
    attention,
    detection,
    elementwise,
    norms,
    quantised,
    recurrent,
    reductions,
    resize,
    shapes,
    signal,
    training,
    windows,
)

# Inputs of which a graph is made: a row takes them as arrays of the host, and what a device holds is computed for it.
KNOWN = {
    "axes", "axis", "block_shape", "boxes", "condition", "constant_value", "delta", "depth", "dft_length", "ends",
    "frame_length", "frame_step", "image_shape", "iou_threshold", "k", "limit", "lower_edge_hertz",
    "max_output_boxes_per_class",
    "num_mel_bins", "output_shape", "pads", "position", "repeats", "roi", "sample_rate", "scales", "score_threshold",
    "scores", "shape", "size", "sizes", "split", "start", "starts", "steps", "training_mode", "upper_edge_hertz",
}  # fmt: skip

FAMILIES = (
    attention,
    detection,
    elementwise,
    norms,
    quantised,
    recurrent,
    reductions,
    resize,
    shapes,
    signal,
    training,
    windows,
)
OPERATORS = {"Constant": None, **dict.fromkeys(CONTROL), **SEQUENCES}
for _family in FAMILIES:
    OPERATORS |= _family.ROWS
CONTROL["ai.onnx.preview.FlexAttention"] = attention.flex_attention
OPERATORS["ai.onnx.preview.FlexAttention"] = None

# Those that take integers of 2 and 4 bits as values.Narrow; those that only move elements take them too.
NARROW_ROWS = {"Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Identity"}
MOVES = {"Expand", "Flatten", "Gather", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}
