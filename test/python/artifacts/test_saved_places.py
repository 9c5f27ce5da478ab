"""Where artifacts are saved: names that are refused, and what is there already."""

import os

import pytest
import strata
from strata import Artifact, Spec, Tensor


def made(add=1, **how):
    return strata.compile(lambda x: x + add, Spec((4,)), **{"arch": "gfx1100", "target": "asm", **how})


def files_in(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_names_and_folders_that_are_no_place_are_refused_and_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/text").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/manifest.json").write_text('{"format": "another", "files": {}}')
    (tmp_path / "file").write_text("mine")
    (tmp_path / "x.strata").mkdir()
    before = files_in(tmp_path)
    for name, words in (
        ("", "the name is empty"),
        ("notes", "no artifact"),
        ("other", "no artifact"),
        ("file", "a file of this name"),
        ("x.strata", "a folder of this name"),
        ("no/such/x.strata", f"there is no folder {tmp_path}/no/such: make it first"),
    ):
        with pytest.raises(strata.UsageError) as error:
            made().save(name)
        assert words in str(error.value) and ".part" not in str(error.value)
    assert files_in(tmp_path) == before and sorted(os.listdir()) == ["file", "notes", "other", "x.strata"]


def test_an_artifact_replaces_another_as_a_whole(tmp_path):
    place, fresh = tmp_path / "a", tmp_path / "fresh"
    place.mkdir()  # an empty folder is a place
    strata.compile(lambda x: x + 1, Tensor([1.0, 2.0, 3.0, 4.0]), arch=["gfx1100"], target="asm", samples=True).save(
        place
    )
    second = made(2, arch="gfx942")
    second.save(place)
    second.save(fresh)
    assert files_in(place) == files_in(fresh) and Artifact.load(place).key == second.key
    assert sorted(os.listdir(tmp_path)) == ["a", "fresh"]
    os.symlink(place, tmp_path / "link")
    made(3).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and Artifact.load(place).key == made(3).key


def test_a_file_of_the_users_in_an_artifact_is_never_removed(tmp_path):
    made().save(tmp_path / "a")
    (tmp_path / "a/notes.txt").write_text("mine")
    before = files_in(tmp_path)
    with pytest.raises(strata.UsageError, match=r"holds notes\.txt, which is no part of it"):
        made(2).save(tmp_path / "a")
    assert files_in(tmp_path) == before


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    made().save(tmp_path / "a")
    key = made().key
    rename = os.rename

    def fails(source, target):
        if str(target).endswith("/a") and not str(source).endswith("/a") and not fails.done:
            fails.done = True
            raise OSError("no room")
        rename(source, target)

    fails.done = False
    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(OSError, match="no room"):
        made(2).save(tmp_path / "a")
    assert Artifact.load(tmp_path / "a").key == key and os.listdir(tmp_path) == ["a"]


def test_a_folder_that_is_missing_is_named_as_it_was_given(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        strata.save(tmp_path / "no/such/x.safetensors", {"a": Tensor([1.0])})
    assert error.value.filename == str(tmp_path / "no/such/x.safetensors")
