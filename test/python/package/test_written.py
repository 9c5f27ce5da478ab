"""Files that the package writes: whole or not at all, under an unpredictable name, through no link."""

import os
import stat
import threading

import numpy as np
import pytest
import strata
from strata import Tensor
from strata._written import written


def test_a_link_at_any_name_beside_it_is_not_followed(tmp_path, monkeypatch):
    victim, names = tmp_path / "victim", iter([b"\x01" * 8, b"\x02" * 8, b"\x03" * 8])
    victim.write_bytes(b"precious")
    for name in (b"\x01" * 8, b"\x02" * 8):
        os.symlink(victim, tmp_path / f".{name.hex()}.part")
    for name in (f"a.npz.{os.getpid()}.part", "a.npz.part"):
        os.symlink(victim, tmp_path / name)
    monkeypatch.setattr(os, "urandom", lambda n: next(names))
    strata.save(tmp_path / "a.npz", {"a": Tensor([1.0])})
    assert victim.read_bytes() == b"precious" and strata.load(tmp_path / "a.npz")["a"].item() == 1


def test_a_link_that_has_the_name_itself_becomes_the_file(tmp_path):
    (tmp_path / "other").write_bytes(b"kept")
    os.symlink(tmp_path / "other", tmp_path / "a.safetensors")
    strata.save(tmp_path / "a.safetensors", {"a": Tensor([1.0])})
    assert (tmp_path / "other").read_bytes() == b"kept" and not (tmp_path / "a.safetensors").is_symlink()


def test_threads_that_write_one_name_each_write_it_whole(tmp_path):
    path, failed = tmp_path / "a.safetensors", []

    def write(k):
        try:
            for _ in range(10):
                strata.save(path, {"a": Tensor(np.full(1000, k, np.float32))})
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for _ in range(20):
        try:
            assert len(set(strata.load(path)["a"].tolist())) == 1
        except strata.UsageError as e:
            assert "another one than was opened" in str(e) or "no such file" in str(e)
    for t in threads:
        t.join()
    assert not failed and [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_what_fails_leaves_nothing_and_modes_stay(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), written(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["x"]
    with written(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError), written(tmp_path / "none" / "x"):
        pass
    with written("/dev/null", "w") as file:
        file.write("nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_every_writer_goes_through_it():
    """A call that opens a file by name to write to it stands in _written.py alone; benchmarks write to paths that they
    get.
    """
    import re
    from pathlib import Path

    package = Path(strata.__file__).parent
    opened = re.compile(
        r"""open\([^)]*["'](?:w|a|x|r\+|w\+)b?["']|write_text\(|write_bytes\(|np\.save\((?!out)|np\.savez|os\.O_CREAT|\.tofile\("""
    )
    found = {str(f.relative_to(package)) for f in package.rglob("*.py") if f.is_file() and opened.search(f.read_text())}
    assert {f for f in found if not f.startswith("bench")} == {"_written.py"} | {
        f for f in found if f.startswith("files/npz.py")
    }
