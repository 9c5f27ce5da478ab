"""Reads artifacts: what is wrong is an error that names the file and says what to do. Nothing is compiled."""

import json

from .. import _strata
from .._strata import Error
from ..files import safetensors
from .artifact import Artifact
from .container import FORMAT, MANIFEST, files_of, manifest_of, opened, wrong
from .saving import VERSION

MOST_ARCHS = 1 << 10


def _check_version(path, manifest):
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise wrong(path, MANIFEST, f"its format is no '{FORMAT}': this is another file")
    version, least = manifest.get("version"), manifest.get("min_reader")
    if type(version) is not int or type(least) is not int or version < 1:
        raise wrong(path, MANIFEST, "its version and min_reader are no numbers")
    if least > VERSION:
        raise wrong(
            path,
            MANIFEST,
            f"version {version} needs a reader of version {least}, and this one is of {VERSION}: install a newer "
            f"strata, or save it with this one",
        )


def _check_members(path, manifest):
    """Members that no executable reads."""

    def texts(value):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)

    targets, arguments = manifest.get("targets"), manifest.get("arguments")
    if not isinstance(targets, dict) or not 0 < len(targets) <= MOST_ARCHS:
        raise wrong(path, MANIFEST, "its 'targets' have no architecture")
    if not texts(manifest.get("archs")) or sorted(manifest["archs"]) != sorted(targets):
        raise wrong(path, MANIFEST, "its 'archs' are not those of its 'targets'")
    if not texts(arguments) or manifest.get("returns") not in ("tensor", "tuple", "list", "dict"):
        raise wrong(path, MANIFEST, "it does not say 'arguments' and 'returns'")
    if not all(isinstance(manifest.get(member), str) for member in ("name", "key", "strata")):
        raise wrong(path, MANIFEST, "it does not say 'name', 'key' and 'strata'")
    for arch, target in targets.items():
        rows = target.get("operands") if isinstance(target, dict) else None
        lists = target.get("arguments") if isinstance(target, dict) else None
        known = {dtype.name for dtype in _strata.dtypes.all}
        good = isinstance(rows, list) and all(
            isinstance(row, list) and len(row) == 3 and isinstance(row[0], str) and row[1] in known for row in rows
        )
        if not good or not isinstance(lists, list) or not all(map(texts, lists)):
            raise wrong(path, MANIFEST, f"it does not say 'operands' and 'arguments' of {arch}")


def _constants(path, manifest, files):
    rows = manifest["constants"]
    if not rows:
        return []
    name = "constants.safetensors"
    if name not in files:
        raise wrong(path, name, "the file is missing: copy the whole artifact, or save it again")
    try:
        tensors = safetensors.of_bytes(f"{path}: {name}", files[name], "")
    except Error as e:
        raise wrong(path, name, str(e)) from None
    for row in rows:
        found = tensors.get(row["name"])
        if found is None or found.dtype.name != row["dtype"] or found.numel() != row["elements"]:
            raise wrong(path, name, f"it has no '{row['name']}' of {row['elements']} {row['dtype']}")
    return [tensors[row["name"]] for row in rows]


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
    with opened(path) as reader:
        text, manifest = manifest_of(path, reader)
        _check_version(path, manifest)
        files = files_of(path, reader, manifest.get("files"))
    _check_members(path, manifest)
    archs, executables = manifest["archs"], {}
    for arch in archs:
        try:
            executables[arch] = _strata.Executable.read(text, arch, files)
        except Error as e:
            raise wrong(path, MANIFEST, f"{e}") from None
    operands = [row["name"] for member in ("inputs", "numbers") for row in manifest[member]]
    if sorted(operands) != sorted(manifest["arguments"]):
        raise wrong(path, MANIFEST, "its 'arguments' are not its inputs and numbers")
    graph = _graph(path, files)
    parts = {member: manifest[member] for member in ("arguments", "returns", "name", "key")}
    artifact = Artifact(
        {
            "archs": archs,
            "executables": executables,
            "described": manifest,
            "constants": _constants(path, manifest, files),
            "graph": graph,
            "values": [row.get("compiled_with") for row in manifest["numbers"]],
            "files": {MANIFEST: text.encode(), **files},
            "target": manifest["targets"][archs[0]].get("route", ""),
            **parts,
        }
    )
    artifact._expected = manifest.get("expected", {})
    return artifact
