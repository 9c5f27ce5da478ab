"""Operators that the host computes, of arrays that it knows: of shapes above all. Operators in BOUNDED alone, whose
results are no larger than the product of their inputs' sizes, whatever their attributes say."""

import functools
import math

import numpy

from .._strata import UsageError

LARGEST_ON_HOST = 1 << 22  # elements
LARGEST_KNOWN = 64  # elements of weights that are floats

BOUNDED = frozenset(
    "Abs Add And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Compress "
    "Concat Constant CumSum Div Equal Exp Expand Flatten Floor Gather GatherND Greater GreaterOrEqual "
    "Identity IsInf IsNaN Less LessOrEqual Log Max Mean Min Mod Mul Neg NonZero Not Or Pow Reciprocal ReduceMax "
    "ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Round ScatterND Sign Slice Split Sqrt Squeeze "
    "Sub Sum Tile Transpose Trilu Unsqueeze Where Xor".split()
)  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _evaluator(proto, version):
    """The package's own, of one node."""
    from onnx import NodeProto, TypeProto, helper, reference

    node = NodeProto.FromString(proto)
    inputs, outputs = (
        [helper.make_value_info(name, TypeProto()) for name in dict.fromkeys(names) if name]
        for names in (node.input, node.output)
    )
    graph = helper.make_graph([node], "host", inputs, outputs)
    return reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]))


def evaluated(step, inputs, version):
    given = {name: x for name, x in zip(step.inputs, inputs) if name}
    try:
        found = iter(_evaluator(step.proto, version).run(None, given))
        return [numpy.asarray(next(found)) if name else None for name in step.outputs]
    except Exception as e:  # the evaluator checks little
        shapes = ", ".join(str(x.shape) for x in inputs if x is not None)
        raise UsageError(
            f"[onnx] {step.kind} '{step.name}' cannot be computed of {shapes or 'nothing'}: {type(e).__name__}: "
            f"{str(e)[:300]}"
        ) from None


def can_evaluate(step, inputs):
    """Whether the host makes the result of these arrays; otherwise they become tensors."""
    if (
        step.kind not in BOUNDED
        or "broadcast" in step.attributes
        or any(x is not None and x.dtype.kind not in "iubf" for x in inputs)
    ):
        return False
    sizes = [max(x.size, 1) for x in inputs if x is not None]
    if step.kind in ("Expand", "Tile"):
        sizes.extend(max(abs(int(n)), 1) for n in inputs[1].reshape(-1)) if len(inputs) == 2 and inputs[
            1
        ] is not None else None
    return math.prod(sizes) <= LARGEST_ON_HOST
