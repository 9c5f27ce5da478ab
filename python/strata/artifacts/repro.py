"""`strata repro`: runs the code of an artifact on its samples, and compares the bytes of the results."""

import sys

from .. import _strata
from .._strata import Error
from ..files import safetensors
from .artifact import Artifact
from .samples import hashes, on_emulator

SAME, DIFFERS, UNREADABLE, CANNOT_RUN = 0, 1, 2, 3


def _arguments(path, artifact):
    """Values of the samples, in the order of a call; None: the artifact holds none."""
    content = artifact._files.get("samples.safetensors")
    if content is None:
        return None
    tensors = safetensors.of_bytes(path, content, "")
    return [
        tensors[operand.name] if operand.shape is not None else tensors[operand.name].item()
        for operand in artifact.inputs
    ]


def _run(artifact, arguments):
    """The exit status, of all emulators; prints a line for each."""
    found = set()
    for device, expected in sorted(artifact._expected.items()):
        arch = device.removeprefix("emu:")
        if arch not in artifact.archs or device not in _strata.devices():
            print(f"{device}: cannot run here")
            found.add(CANNOT_RUN)
            continue
        now = hashes(on_emulator(artifact, arch, arguments))
        wrong = sorted(name for name in expected if now.get(name) != expected[name])
        print(f"{device}: " + (f"differs in {', '.join(wrong)}" if wrong else "same"))
        found.add(DIFFERS if wrong else SAME)
    return next(status for status in (DIFFERS, CANNOT_RUN, SAME) if status in found or status == SAME)


def main(path, rebuild=False) -> int:
    """Prints what it finds; gives the exit status: 0 same, 1 different, 2 unreadable, 3 cannot run here."""
    try:
        artifact = Artifact.load(path)
        arguments = _arguments(path, artifact)
    except (Error, OSError, KeyError) as e:
        print(f"{path} cannot be read: {e}", file=sys.stderr)
        return UNREADABLE
    if rebuild:
        from .rebuild import rebuilt

        return rebuilt(artifact)
    if arguments is None:
        print(f"{path} holds no samples: save what strata.compile(..., samples=True) gives", file=sys.stderr)
        return CANNOT_RUN
    try:
        return _run(artifact, arguments)
    except Error as e:
        print(f"{path} cannot run here: {e}", file=sys.stderr)
        return CANNOT_RUN
