"""Artifacts that somebody damaged or made up: each is refused with the file that is wrong, or computes what it did."""

import hashlib
import io
import json
import os
import random
import shutil
import stat
import zipfile

import numpy as np
import pytest
import strata
from strata import Artifact, Spec, Tensor


@pytest.fixture(scope="module")
def made():
    weight = Tensor(np.arange(64, dtype=np.float32)).realize()
    return strata.compile(lambda x: (x * weight).sum(1), Spec((8, 64)), arch=["gfx1100", "gfx942"], target="asm")


@pytest.fixture
def folder(made, tmp_path):
    made.save(tmp_path / "a")
    return tmp_path / "a"


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def rewrite(folder, change):
    value = manifest(folder)
    change(value)
    (folder / "manifest.json").write_text(json.dumps(value))


def renew(folder, name, content):
    """Another content of a file, with the size and hash that fit."""
    (folder / name).write_bytes(content)
    row = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    rewrite(folder, lambda value: value["files"].__setitem__(name, row))


def refused(path, match):
    with pytest.raises(strata.UsageError, match=match):
        Artifact.load(path)


def test_the_first_error_wins(folder):
    rewrite(folder, lambda value: value["targets"].clear())
    refused(folder, "its 'targets' have no architecture")
    content = bytearray((folder / "code/gfx1100.co").read_bytes())
    content[100] ^= 1
    (folder / "code/gfx1100.co").write_bytes(content)
    refused(folder, r"code/gfx1100.co: its bytes are not those that were saved \(sha256\)")
    (folder / "code/gfx942.s").write_bytes(b"short")
    refused(folder, "code/gfx942.s: 5 bytes where the manifest says")
    (folder / "constants.safetensors").unlink()
    refused(folder, "constants.safetensors: the file is missing")
    rewrite(folder, lambda value: value.update(version=7, min_reader=3))
    refused(folder, "manifest.json: version 7 needs a reader of version 3, and this one is of 1")
    rewrite(folder, lambda value: value.update(format="other"))
    refused(folder, "manifest.json: its format is no 'strata artifact'")
    (folder / "manifest.json").write_text("{")
    refused(folder, "manifest.json: it is no JSON")
    (folder / "manifest.json").unlink()
    refused(folder, "manifest.json: there is none")
    shutil.rmtree(folder)
    refused(folder, "there is no such file")


def test_a_newer_version_that_this_reader_may_read_is_read(folder):
    rewrite(folder, lambda value: value.update(version=7, more={"anything": [1.5]}))
    assert Artifact.load(folder).archs == ("gfx1100", "gfx942")


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "code/../../x", "code//x", "", ".", "a\\b", "c:x", "x\n", "./x"]
)
def test_names_that_leave_the_folder_are_refused(folder, name):
    rewrite(folder, lambda value: value["files"].update({name: {"bytes": 1, "sha256": ""}}))
    refused(folder, "the name leaves the artifact")


def test_links_are_refused(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    shutil.move(folder / "code/gfx1100.s", tmp_path / "elsewhere/gfx1100.s")
    os.symlink(tmp_path / "elsewhere/gfx1100.s", folder / "code/gfx1100.s")
    refused(folder, "code/gfx1100.s: it is a link")
    shutil.move(folder / "code", tmp_path / "code")
    os.symlink(tmp_path / "code", folder / "code")
    refused(folder, "it is a link")


def test_a_fifo_in_place_of_a_file_is_refused_at_once(folder):
    (folder / "graph.json").unlink()
    os.mkfifo(folder / "graph.json")
    refused(folder, "is a FIFO")


def test_a_size_beyond_the_file_takes_no_memory(folder):
    rewrite(folder, lambda value: value["files"]["graph.json"].update(bytes=1 << 60))
    refused(folder, "graph.json: .* bytes where the manifest says 1152921504606846976")


def zipped(made, tmp_path, change):
    """The file of an artifact whose members change() may replace: name -> (ZipInfo, content)."""
    made.save(tmp_path / "a.strata")
    with zipfile.ZipFile(tmp_path / "a.strata") as archive:
        members = {info.filename: (info, archive.read(info)) for info in archive.infolist()}
    change(members)
    with zipfile.ZipFile(tmp_path / "b.strata", "w") as archive:
        for info, content in members.values():
            archive.writestr(info, content)
    return tmp_path / "b.strata"


def test_members_of_a_zip_that_are_no_files_are_refused(made, tmp_path):
    def link(members):
        members["graph.json"][0].external_attr = (stat.S_IFLNK | 0o777) << 16

    def compressed(members):
        members["graph.json"][0].compress_type = zipfile.ZIP_DEFLATED

    def outside(members):
        members["x"] = (zipfile.ZipInfo("../x"), b"x")

    for change, match in [(link, "a link"), (compressed, "compressed"), (outside, "leaves the artifact")]:
        refused(zipped(made, tmp_path, change), match)
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped(made, tmp_path, lambda members: members.update(x=members["graph.json"]))
    refused(twice, "it is there twice")


def test_contents_that_cannot_be_run_are_refused(folder):
    renew(folder, "code/gfx1100.co", (folder / "code/gfx942.co").read_bytes())
    refused(folder, "code/gfx1100.co, which is of gfx942")
    renew(folder, "code/gfx1100.co", b"\x7fELF")
    refused(folder, "code/gfx1100.co, which is no code object")


def test_constants_that_are_others_are_refused(folder):
    renew(folder, "constants.safetensors", b"x" * 30)
    refused(folder, "constants.safetensors: .*no safetensors")


def test_a_damaged_file_is_refused(made, tmp_path):
    made.save(tmp_path / "a.strata")
    right = (tmp_path / "a.strata").read_bytes()
    draw = random.Random(11)
    refusals = 0
    for _ in range(150):
        damaged = bytearray(right)
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        if draw.random() < 0.3:
            del damaged[draw.randrange(len(damaged)) :]
        (tmp_path / "b.strata").write_bytes(damaged)
        try:
            loaded = Artifact.load(tmp_path / "b.strata")
        except strata.UsageError:
            refusals += 1
        else:  # padding, or what zip says twice
            assert loaded.key == made.key
    assert refusals > 75


def test_a_made_up_manifest_is_refused_or_runs_on_the_emulator(folder):
    """Numbers and texts of the manifest are others; its kernels touch nothing outside of the device."""
    right, draw = (folder / "manifest.json").read_bytes(), random.Random(12)
    places = [i for i, byte in enumerate(right) if chr(byte).isalnum()]
    ran = 0
    for _ in range(150):
        text = bytearray(right)
        for _ in range(draw.randrange(1, 3)):
            at = draw.choice(places)
            text[at] = draw.choice(b"0123456789" if chr(text[at]).isdigit() else b"abcxyz")
        (folder / "manifest.json").write_bytes(text)
        try:
            loaded = Artifact.load(folder)
            with strata.config(device="emu:gfx1100", emu_launch_budget=1 << 22):
                loaded(Tensor.ones(8, 64))
            ran += 1
        except strata.Error as e:
            assert not isinstance(e, strata.InternalError), text
    assert ran > 5


def test_only_regular_files_and_folders_are_loaded(tmp_path):
    os.mkfifo(tmp_path / "f.strata")
    refused(tmp_path / "f.strata", "FIFO")
    (tmp_path / "empty.strata").write_bytes(b"")
    refused(tmp_path / "empty.strata", "it is no artifact")
    with io.BytesIO() as file, zipfile.ZipFile(file, "w"):
        pass
    (tmp_path / "zip.strata").write_bytes(b"PK\x05\x06" + bytes(18))
    refused(tmp_path / "zip.strata", "manifest.json: there is none")
