"""Compiles the graph of an artifact again, and compares its code with what the artifact holds."""

import math
import sys

from .. import _strata
from .._strata import Error
from .artifact import of_compiled
from .saving import files_of, sha256


def _value(row):
    """The number that it was compiled with."""
    value = row["compiled_with"]
    return float.fromhex(value) if isinstance(value, str) else value


def again(artifact):
    """The artifact that this strata makes of the graph."""
    described = artifact._described
    rows = [(row, math.prod(row["shape"])) for row in described["inputs"]]
    rows += [(row, row["elements"]) for row in described["constants"]]
    memory = [(row["name"], _strata.DType(row["dtype"]), elements) for row, elements in rows]
    shapes = [(row["shape"], row["strides"]) for row in described["inputs"]]
    outputs = [row["name"] for row in described["outputs"]]
    numbers = [(row["name"], _strata.DType(row["dtype"]), _value(row)) for row in described["numbers"]]
    compiled = {}
    for arch in artifact.archs:
        with _strata.config(target=described["targets"][arch]["route"]):
            compiled[arch] = _strata._compile_graph(artifact.graph, memory, shapes, outputs, numbers, arch)
    parts = {"graph": artifact.graph, "arguments": artifact._arguments, "returns": artifact._returns}
    return of_compiled(artifact.archs, compiled, target=artifact._target, **parts)


def rebuilt(artifact) -> int:
    """Prints a line for each file of code; gives the exit status of `strata repro --rebuild`."""
    if artifact.graph is None:
        print("the artifact holds no graph.json: a graph that runs a kernel of the user's has no text", file=sys.stderr)
        return 3
    try:
        files = files_of(again(artifact))
    except (Error, KeyError, TypeError, ValueError) as e:
        print(f"it cannot be compiled here: {e}", file=sys.stderr)
        return 3
    status = 0
    for name in sorted(name for name in {**files, **artifact._files} if name.startswith(("code/", "source/"))):
        old, new = artifact._files.get(name), files.get(name)
        same = old is not None and new is not None and sha256(old) == sha256(new)
        print(f"{name}: {'same' if same else 'differs'}")
        status = status if same else 1
    return status
