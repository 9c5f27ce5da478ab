"""The files of an artifact: the manifest and those that it lists. Equal artifacts are equal bytes everywhere."""

import hashlib
import io
import json

from .. import __version__
from .._strata import Unsupported
from ..files import safetensors
from .container import FORMAT, MANIFEST

VERSION, MIN_READER = 1, 1
REPRO = '''"""Runs the code of this artifact on its samples on each architecture's emulator, and compares the results.

Exit status: 0 same, 1 different, 2 the artifact cannot be read, 3 it cannot run here.
"""

import sys
from pathlib import Path

try:
    from strata.artifacts.repro import main
except ImportError as error:
    print(f"this needs the Python package strata: {error}", file=sys.stderr)
    sys.exit(3)
sys.exit(main(Path(__file__).resolve().parent))
'''


def text_of(value) -> bytes:
    """JSON with sorted keys, in ASCII: the same bytes in every locale."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def sha256(content) -> str:
    return hashlib.sha256(content).hexdigest()


def tensors_file(tensors) -> bytes:
    """A safetensors file."""
    file = io.BytesIO()
    safetensors.save(file, tensors, {})
    return file.getvalue()


def compiler_of(route) -> str:
    """The compiler of a route."""
    return "clang 19" if route == "hip" else f"strata {__version__}"


def _objects(arch, artifact, files):
    """Adds the code of an architecture; gives the file of each kernel."""
    compiled, kernels = artifact._compiled[arch], artifact._executable(arch).kernels
    try:
        image = compiled.code_object if kernels else b""
    except Unsupported:  # a kernel that Strata did not write has an object of its own
        names = [f"code/{arch}.{i}.co" for i in range(len(kernels))]
        files.update({name: kernel.code_object for name, kernel in zip(names, kernels)})
        return names
    if kernels:
        files[f"code/{arch}.co"] = image
    return [f"code/{arch}.co"] * len(kernels)


def _sources(arch, kernels, rows, files):
    """Adds the text of kernels, each with a name of its own, and says in their rows where it is."""
    for kernel, row in zip(kernels, rows):
        if not kernel.source:
            continue
        word = "".join(c if c.isalnum() or c == "_" else "_" for c in kernel.name)[:100]
        name, content = f"source/{word}.hip", kernel.source.encode()
        if files.get(name, content) != content:
            name = f"source/{word}.{arch}.hip"
        files[name] = content
        row["source"] = name


def _target(arch, artifact, files):
    """The members of an architecture."""
    compiled, executable = artifact._compiled[arch], artifact._executable(arch)
    target = json.loads(executable.target(_objects(arch, artifact, files)))
    _sources(arch, executable.kernels, target["kernels"], files)
    files[f"code/{arch}.s"] = compiled.assembly.encode()
    target["operands"] = [[name, dtype.name, elements] for name, dtype, elements in compiled.operands]
    target["arguments"] = compiled.arguments
    target["route"], target["compiler"] = artifact._target, compiler_of(artifact._target)
    return target


def _numbers(rows, values):
    """With the values by which the code was chosen: floats as texts, which are exact."""
    return [{**row, "compiled_with": float(value).hex() if isinstance(value, float) else int(value)}
            for row, value in zip(rows, values)]  # fmt: skip


def precision():
    """Types in which matrix products of narrow types add up."""
    narrow = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32", "int16": "int32"}
    return {"products": narrow}


def _rows(files):
    return {name: {"bytes": len(content), "sha256": sha256(content)} for name, content in sorted(files.items())}


def key_of(artifact) -> str:
    return json.loads(files_of(artifact)[MANIFEST])["key"]


def files_of(artifact):
    """All files by name."""
    if artifact._files:
        return artifact._files
    files = {}
    manifest = json.loads(artifact._executable(artifact._archs[0]).interface)
    manifest["targets"] = {arch: _target(arch, artifact, files) for arch in artifact._archs}
    for member in ("steps", "workspace"):
        manifest[member] = {arch: target.pop(member) for arch, target in manifest["targets"].items()}
    if artifact._constants:
        names = [row["name"] for row in manifest["constants"]]
        files["constants.safetensors"] = tensors_file(dict(zip(names, artifact._constants)))
    if artifact._graph is not None:
        files["graph.json"] = text_of(artifact._graph)
    rows = _rows(files)
    manifest["arguments"] = [operand.name for operand in artifact.inputs]
    manifest["returns"], manifest["numbers"] = artifact._returns, _numbers(manifest["numbers"], artifact._values)
    manifest["archs"], manifest["precision"] = list(artifact.archs), precision()
    artifact._key = manifest["key"] = sha256(text_of([manifest, rows]))
    if artifact._samples:
        files["samples.safetensors"] = tensors_file(artifact._samples)
    manifest["expected"] = artifact._expected
    files["repro.py"] = REPRO.encode()
    manifest["files"] = _rows(files)
    manifest |= {"format": FORMAT, "version": VERSION, "min_reader": MIN_READER}
    manifest |= {"strata": __version__, "name": artifact._name}
    return {MANIFEST: text_of(manifest), **files}
