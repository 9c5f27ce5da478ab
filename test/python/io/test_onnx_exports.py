"""Models as PyTorch's exporters write them (test/data/onnx/make.py) against what PyTorch computes, at sizes of other
calls too.
"""

from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor

pytest.importorskip("onnx")

FILES = sorted((Path(__file__).parents[2] / "data" / "onnx").glob("*.onnx"))


def numbered(arrays, name):
    return [arrays[f"{name}{i}"] for i in range(sum(key.startswith(name) for key in arrays))]


def compared(got, wanted):
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(wanted)
    for mine, theirs in zip(got, wanted):
        assert mine.shape == theirs.shape and mine.dtype.numpy_name == theirs.dtype.name
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-5)


def test_all_networks_are_there():
    assert {path.name.split("_")[0] for path in FILES} == {"resnet", "bert", "gpt2", "whisper", "vit", "mixed"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exports_of_pytorch_compute_what_it_does(path):
    arrays, net = dict(np.load(path.with_suffix(".npz"))), strata.onnx.load(path)
    compared(net(*numbered(arrays, "in")), numbered(arrays, "out"))
    if other := numbered(arrays, "other_in"):
        compared(net(*other), numbered(arrays, "other_out"))


@pytest.mark.parametrize("stem", ["bert_script_17", "gpt2_dynamo_23"])
def test_captured_exports_are_the_calls(stem):
    path = next(p for p in FILES if p.stem == stem)
    arrays, net = dict(np.load(path.with_suffix(".npz"))), strata.onnx.load(path)
    run = strata.jit(lambda *given: net(*given), symbolic=True)
    for _ in range(3):
        for start in ("", "other_"):
            compared(run(*map(Tensor, numbered(arrays, f"{start}in"))), numbered(arrays, f"{start}out"))
