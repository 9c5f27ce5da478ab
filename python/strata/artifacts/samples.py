"""Values of samples, and what an artifact computes of them on emulators: what `strata repro` runs again."""

import hashlib

import numpy as np

from .. import _strata
from .._strata import Tensor


def bytes_of(tensor) -> bytes:
    """Elements row by row."""
    return tensor.__reduce__()[1][0]


def drawn(spec, seed) -> Tensor:
    """A tensor that is the same in all processes."""
    random = np.random.default_rng(seed)
    if spec.dtype.is_float:
        values = random.standard_normal(spec.shape).astype(np.float32)
    else:
        values = random.integers(0, 2 if spec.dtype.is_bool else 8, spec.shape)
    return Tensor(values).cast(spec.dtype)


def on_emulator(artifact, arch, arguments):
    """The outputs on the emulator of an architecture, by name."""
    with _strata.config(device=f"emu:{arch}", check="off"):
        moved = [x.to(f"emu:{arch}") if isinstance(x, Tensor) else x for x in arguments]
        results = artifact(*moved)
    found = [results] if isinstance(results, Tensor) else results.values() if isinstance(results, dict) else results
    return {operand.name: result for operand, result in zip(artifact.outputs, found)}


def hashes(outputs):
    return {name: hashlib.sha256(bytes_of(tensor)).hexdigest() for name, tensor in outputs.items()}


def keep(artifact, given) -> None:
    """Stores values of the arguments, and of the results on each architecture's emulator."""
    from .function import is_argument

    arguments = []
    for seed, (operand, sample) in enumerate(zip(artifact.inputs, filter(is_argument, given))):
        if operand.shape is None:
            arguments.append(sample)
        else:
            arguments.append(sample if isinstance(sample, Tensor) else drawn(sample, seed))
    artifact._samples = {
        operand.name: value if operand.shape is not None else Tensor(np.asarray(value)).cast(operand.dtype)
        for operand, value in zip(artifact.inputs, arguments)
    }
    for arch in artifact.archs:
        outputs = on_emulator(artifact, arch, arguments)
        artifact._expected[f"emu:{arch}"] = hashes(outputs)
        if arch == artifact.archs[0]:
            artifact._samples |= outputs
