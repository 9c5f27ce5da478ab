"""Reads artifacts, whose files the extension checks. What is wrong is an error that names the file."""

import json
import os

from .. import _strata
from .artifact import Artifact
from .container import MANIFEST, wrong


def _graph(path, files):
    if "graph.json" not in files:
        return None
    try:
        graph = json.loads(files["graph.json"])
    except (ValueError, RecursionError) as e:
        raise wrong(path, "graph.json", f"it is no JSON: {e}") from None
    if not isinstance(graph, dict):
        raise wrong(path, "graph.json", "it is no JSON object")
    return graph


def load(path) -> Artifact:
    read = _strata._read_artifact(os.fsencode(path))
    manifest, files = json.loads(read.text), read.files
    archs = manifest["archs"]
    executables = {arch: read.executable(arch) for arch in archs}
    constants = [
        _strata._restored(content, (elements,), dtype, "", False)
        for dtype, elements, content in read.constants(executables[archs[0]])
    ]
    parts = {member: manifest[member] for member in ("arguments", "returns", "name", "key")}
    artifact = Artifact(
        {
            "archs": archs,
            "executables": executables,
            "described": manifest,
            "constants": constants,
            "graph": _graph(path, files),
            "values": [row.get("compiled_with") for row in manifest["numbers"]],
            "files": {MANIFEST: read.text.encode(), **files},
            "target": manifest["targets"][archs[0]].get("route", ""),
            **parts,
        }
    )
    artifact._expected = manifest.get("expected", {})
    return artifact
