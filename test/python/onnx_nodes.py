"""The node tests of the package onnx, computed by Strata: right, wrong, or refused in words. Run as a script it prints
them.

.venv/bin/python test/python/onnx_nodes.py                  counts by operator, and whatever is not right
.venv/bin/python test/python/onnx_nodes.py resize           of tests whose names have it, with refusals
"""

import collections
import functools
import re
import sys
import warnings
from typing import NamedTuple

import numpy as np
import strata
from onnx import TensorProto, numpy_helper

STORED = {
    "int4": "int8",
    "uint4": "uint8",
    "int2": "int8",
    "uint2": "uint8",
    "float4_e2m1fn": "float16",
    "float8_e8m0fnu": "uint8",
}  # types that tensors have no own form of, and what holds their values

DRAWN = {"Bernoulli"}  # random numbers: shapes and types are compared


class Verdict(NamedTuple):
    name: str
    operator: str
    of: str  #: right, wrong, refused
    words: str


def _snake(kind):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower().replace("_", "")


@functools.cache
def cases():
    """(operator, test, base) of each. A test of a function's body is one of the node that it is the body of, whose test
    is the base.
    """
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    by_name = {test.name: test for test in tests}
    out = []
    for test in tests:
        base = by_name.get(re.sub(r"_expanded.*", "", test.name), test)
        nodes = [f"{n.domain}.{n.op_type}".removeprefix("ai.onnx.").lstrip(".") for n in base.model.graph.node]
        plain = base.name.replace("_", "")
        out.append((next((kind for kind in nodes if _snake(kind.rpartition(".")[2]) in plain), nodes[-1]), test, base))
    return out


def _given(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _array(tensor):
    """A tensor as NumPy's array, of types of the package ml_dtypes where NumPy has none."""
    if isinstance(tensor, list):
        return [_array(t) for t in tensor]
    import ml_dtypes

    others = {"bfloat16": "bfloat16"} | {mine: theirs for theirs, mine in strata.onnx.values.OTHER_NAMES.items()}
    if tensor is None or tensor.dtype.name not in others:
        return None if tensor is None else tensor.numpy()
    bits = "uint16" if tensor.dtype.name == "bfloat16" else "uint8"
    return tensor.bitcast(bits).numpy().view(getattr(ml_dtypes, others[tensor.dtype.name]))


def compared(got, wanted, rtol, atol):
    """As onnx.backend.test compares: shapes and types too."""
    if wanted is None or got is None:
        assert got is None and wanted is None, f"{got} is not {wanted}"
    elif isinstance(wanted, list):
        assert isinstance(got, list) and len(got) == len(wanted), f"{len(wanted)} tensors in order are wanted"
        for mine, theirs in zip(got, wanted):
            compared(mine, theirs, rtol, atol)
    else:
        wanted = np.asarray(wanted)
        assert got.shape == wanted.shape, f"shape {got.shape}, wanted is {wanted.shape}"
        name = wanted.dtype.name
        assert got.dtype.name == STORED.get(name, name), f"type {got.dtype}, wanted is {wanted.dtype}"
        wanted = wanted.view(np.uint8) if name == "float8_e8m0fnu" else wanted
        if (
            wanted.dtype.kind not in "iubf"
            or got.dtype.kind not in "iubf"
            or name in STORED
            or name in strata.onnx.values.OTHER_NAMES
        ):
            rtol = max(rtol, 2**-6) if name == "bfloat16" else rtol
            got, wanted = got.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def nearer(test, inputs, got, wanted):
    """Whether the results are nearer to those of float64 than what is wanted, which has roundings of its own."""
    if not all(getattr(x, "dtype", None) in (np.float16, np.float32) for x in (*got, *wanted)):
        return False
    from onnx.reference import ReferenceEvaluator

    doubled = {
        i.name: x.astype(np.float64) if x.dtype.kind == "f" else x for i, x in zip(test.model.graph.input, inputs)
    }
    exact = ReferenceEvaluator(test.model).run(None, doubled)
    off = lambda results: [np.abs(np.asarray(x, np.float64) - e).max() for x, e in zip(results, exact)]  # noqa: E731
    return all(mine <= theirs for mine, theirs in zip(off(got), off(wanted)))


def verdict(operator, test, base):
    try:
        model = strata.onnx.load(test.model)
        for inputs, wanted in test.data_sets:
            inputs, wanted = [*map(_given, inputs)], [*map(_given, wanted)]
            got = model(*inputs)
            got = [*map(_array, got if isinstance(got, tuple) else (got,))]
            assert len(got) == len(wanted), f"{len(got)} outputs, wanted are {len(wanted)}"
            if operator in DRAWN:
                assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in wanted]
                continue
            try:
                for mine, theirs in zip(got, wanted):
                    compared(mine, theirs, test.rtol, test.atol)
            except AssertionError:
                if not nearer(base, inputs, got, wanted):
                    raise
    except strata.Unsupported as e:
        return Verdict(test.name, operator, "refused", str(e))
    except Exception as e:
        return Verdict(test.name, operator, "wrong", f"{type(e).__name__}: {e}")
    return Verdict(test.name, operator, "right", "")


def verdicts(chosen=lambda operator, name: True):
    return [verdict(operator, test, base) for operator, test, base in cases() if chosen(operator, test.name)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    found = verdicts(lambda operator, name: part in name)
    for row in found:
        if row.of == "wrong" or row.of == "refused":
            print(row.of, row.operator, row.name, " ".join(row.words.split())[: 300 if row.of == "refused" else 500])
    print(collections.Counter(row.of for row in found))
