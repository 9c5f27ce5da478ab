"""The folder of an artifact, which is written beside its place and takes it as a whole."""

import json
import os
import shutil
from pathlib import Path

from .._strata import UsageError
from .._written import written


def refused(path, what) -> UsageError:
    """The error of a place where no artifact can be saved."""
    return UsageError(f"[Artifact.save] {os.fspath(path) or repr('')}: {what}")


def _listed(folder, manifest, own):
    """Names of the files of the artifact in the folder; None: there is none."""
    try:
        value = json.loads((folder / manifest).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("format") != own or not isinstance(value.get("files"), dict):
        return None
    return {manifest, *value["files"]}


def check_place(path, manifest, own) -> None:
    """UsageError for a name that is no place for an artifact. own: the format that manifests of artifacts name."""
    if not os.fspath(path):
        raise refused(path, "the name is empty: give the name of a folder, or of a file that ends in .strata")
    place = Path(os.path.realpath(path))
    if os.fspath(path).endswith(".strata"):
        if place.is_dir():
            raise refused(path, "there is a folder of this name: remove it, or give another name")
        if not place.parent.is_dir():
            raise refused(path, f"there is no folder {place.parent}: make it first")
        return
    if place.exists() and not place.is_dir():
        raise refused(path, "there is a file of this name: give the name of a folder, or one that ends in .strata")
    if not place.is_dir() or not any(place.iterdir()):
        return
    listed = _listed(place, manifest, own)
    if listed is None:
        raise refused(path, "there is a folder of this name that is no artifact: give another name")
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if name not in listed and "__pycache__" not in name and (file.is_symlink() or not file.is_dir()):
            raise refused(path, f"the artifact's folder holds {name}, which is no part of it: move that elsewhere")


def write_folder(path, files, last) -> None:
    """Writes the files, by name, beside the folder, which they replace. `last` is written after all others."""
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished, replaced = (place.with_name(f".{os.urandom(8).hex()}.part") for _ in range(2))
    unfinished.mkdir()
    try:
        for name in sorted(files, key=lambda name: (name == last, name)):
            (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
            with written(unfinished / name) as file:
                file.write(files[name])
        if place.exists():
            os.rename(place, replaced)
        try:
            os.rename(unfinished, place)
        except OSError:
            if replaced.exists():
                os.rename(replaced, place)
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
