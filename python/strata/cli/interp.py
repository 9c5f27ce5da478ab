"""strata interp: what a graph means, without a compiler."""

import json
import zipfile
from pathlib import Path

import numpy as np

import strata
from strata import uop

from .._files import read_regular
from .._written import written
from .run import argument, as_numpy, saves, sizes


def graph_text(file):
    """The graph of a file: itself, or that of an artifact."""
    path = Path(file)
    if path.is_dir():
        return read_regular(path / "graph.json").decode()
    if path.suffix != ".strata":
        return read_regular(path).decode()
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read("graph.json").decode()
    except (zipfile.BadZipFile, KeyError) as e:
        raise strata.UsageError(f"{file} has no graph.json: {e}") from None


def read(file):
    try:
        text = graph_text(file)
    except UnicodeDecodeError:
        raise strata.UsageError(f"{file} is no text: a graph is JSON as UOp.to_json() writes it") from None
    return uop.from_json(text)


def is_kernel(graph):
    return json.loads(graph.to_json())["nodes"][-1]["op"] == "sink"


def interp(args):
    with strata.config(device="interp"):
        graph = read(args.file)
        values = [argument(spec) for spec in args.arg]
        if (args.level or ("kernel" if is_kernel(graph) else "tensor")) == "tensor":
            left = [uop._interpret_tensors(graph, values)]
            wanted, named = saves(args, left), [("result", left[0])]
        else:
            wanted = saves(args, values)
            grid = sizes(args.grid) if args.grid else None
            left = uop._interpret_kernel(graph, values, grid, args.arch, args.level == "linear")
            named = [(f"{n}: {spec}", value) for n, (spec, value) in enumerate(zip(args.arg, left))]
        for name, value in named:
            if isinstance(value, strata.Tensor):
                array = as_numpy(value)
                more = " ..." if array.size > 8 else ""
                print(f"{name}: {np.array2string(array.ravel()[:8], precision=6, separator=', ')}{more}")
        for n, file in wanted:
            with written(file if file.endswith(".npy") else f"{file}.npy") as out:
                np.save(out, as_numpy(left[n]))
