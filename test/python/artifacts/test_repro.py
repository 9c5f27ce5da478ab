"""strata repro and repro.py: stored code on stored samples, the graph compiled again; equal bytes everywhere."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Artifact, Spec, Tensor
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def f(x, y, scale):
    return ((x @ y) * scale).softmax(-1), x.sum()


def made(**named):
    return strata.compile(f, Spec((24, 40)), Spec((40, 8)), np.float32(0.5), arch=ARCHS, target="asm", **named)


def repro(path, *options):
    return subprocess.run(
        [sys.executable, "-m", "strata", "repro", str(path), *options], capture_output=True, text=True, env=os.environ
    )


def test_the_same_code_gives_the_same_bytes(tmp_path):
    made(samples=True).save(tmp_path / "f.strata")
    got = repro(tmp_path / "f.strata")
    assert (got.returncode, got.stdout) == (0, "".join(f"emu:{arch}: same\n" for arch in sorted(ARCHS))), got.stderr
    with zipfile.ZipFile(tmp_path / "f.strata") as archive:
        archive.extractall(tmp_path / "folder")
    by_file = subprocess.run([sys.executable, tmp_path / "folder/repro.py"], capture_output=True, text=True)
    assert (by_file.returncode, by_file.stdout) == (0, got.stdout), by_file.stderr


def test_another_result_is_told_by_device_and_output(tmp_path):
    made(samples=True).save(tmp_path / "f")
    text = (tmp_path / "f/manifest.json").read_text()
    value = json.loads(text)
    value["expected"]["emu:gfx942"]["out1"] = "0" * 64
    (tmp_path / "f/manifest.json").write_text(json.dumps(value))
    got = repro(tmp_path / "f")
    assert got.returncode == 1 and "emu:gfx942: differs in out1" in got.stdout and got.stdout.count("same") == 3


def test_what_cannot_be_read_or_run_has_statuses_of_its_own(tmp_path):
    made().save(tmp_path / "f")
    assert repro(tmp_path / "f").returncode == 3
    assert "holds no samples" in repro(tmp_path / "f").stderr
    (tmp_path / "f/code/gfx1100.co").unlink()
    got = repro(tmp_path / "f")
    assert got.returncode == 2 and "code/gfx1100.co: the file is missing" in got.stderr
    assert repro(tmp_path / "nothing").returncode == 2


@pytest.mark.parametrize("target", TARGETS)
def test_the_graph_is_compiled_again_to_the_same_code(target, tmp_path):
    weight = Tensor(np.arange(40, dtype=np.float32)).realize()
    programs = {
        "a": (lambda x: x * 2 + 1, [Spec((5, 7))]),
        "b": (lambda x: (x * weight.exp()).sum(-1), [Spec((64, 40))]),
        "c": (lambda x, y: (x @ y.T).relu() @ y, [Spec((48, 32)), Spec((40, 32))]),
        "d": (lambda x: x.softmax(-1).cast("float16"), [Spec((16, 1000))]),
        "e": (lambda x, n: (x * n).cumsum(0), [Spec(300), np.float32(3)]),
        "f": (lambda x: (x.abs(), x.argmax(-1)), [Spec((4, 33))]),
        "g": (lambda x: x.pad([(1, 2)]).flip(0)[1:-1], [Spec(64, "int8")]),
        "h": (lambda x: x.mean((0, 2), True) - x, [Spec((8, 6, 20))]),
        "i": (lambda x: x.T, [Spec((3, 5))]),
        "j": (lambda x: (x > 0).where(x, float("inf")), [Spec((0, 5))]),
    }
    for name, (function, samples) in programs.items():
        if target == "hip" and name not in "abc":
            continue
        artifact = strata.compile(function, *samples, arch=["gfx1100", "gfx942"], target=target)
        artifact.save(tmp_path / f"{name}.strata")
    # In one process, as a start of Python takes longer than all else.
    script = "import sys; from strata.artifacts.repro import main; print([main(p, True) for p in sys.argv[1:]])"
    paths = sorted(map(str, tmp_path.glob("*.strata")))
    got = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, env=os.environ)
    assert got.stdout.splitlines()[-1:] == [str([0] * len(paths))], got.stdout + got.stderr


def test_a_graph_with_a_kernel_of_the_users_has_no_text(tmp_path):
    strata.compile(lambda x: x.sort(-1), Spec((4, 33)), arch="gfx1100", target="asm").save(tmp_path / "a")
    got = repro(tmp_path / "a", "--rebuild")
    assert got.returncode == 3 and "holds no graph.json" in got.stderr


def test_a_graph_of_other_code_differs(tmp_path):
    strata.compile(lambda x: x * 2, Spec(8), arch="gfx1100", target="asm").save(tmp_path / "a")
    strata.compile(lambda x: x * 3, Spec(8), arch="gfx1100", target="asm").save(tmp_path / "b")
    from strata.artifacts import rebuild

    a, b = Artifact.load(tmp_path / "a"), Artifact.load(tmp_path / "b")
    a._graph = b.graph
    assert rebuild.rebuilt(a) == 1


def test_bytes_are_the_same_in_other_processes_folders_and_locales(tmp_path):
    script = """if True:
        import sys
        import numpy as np
        import strata
        from strata import Spec, Tensor
        [Tensor.ones(3).realize() for _ in range(int(sys.argv[2]))]
        w = Tensor(np.arange(8, dtype=np.float32)).realize()
        f = lambda x, n: ((x @ x.T) * n).softmax(-1) @ (w * 2)
        a = strata.compile(f, Spec((8, 40)), np.float32(3), arch=["gfx1100", "gfx942"], target="asm", samples=True)
        a.save(sys.argv[1])
        """
    found = []
    for i, locale in enumerate(("C", "de_DE.UTF-8", "C.UTF-8")):
        folder = tmp_path / f"some {i}"
        folder.mkdir()
        env = {**os.environ, "LC_ALL": locale, "PYTHONHASHSEED": str(i), "STRATA_CACHE_DIR": str(tmp_path / f"c{i}")}
        subprocess.run([sys.executable, "-c", script, folder / "a.strata", str(i)], cwd=folder, env=env, check=True)
        found.append((folder / "a.strata").read_bytes())
    assert found[0] == found[1] == found[2]
    assert str(tmp_path).encode() not in found[0]


def test_a_file_is_a_zip_of_aligned_stored_members_without_times(tmp_path):
    made(samples=True).save(tmp_path / "f.strata")
    with zipfile.ZipFile(tmp_path / "f.strata") as archive, open(tmp_path / "f.strata", "rb") as file:
        names = set(archive.namelist())
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED and info.date_time == (1980, 1, 1, 0, 0, 0)
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            assert (info.header_offset + 30 + name + extra) % 64 == 0
        manifest = archive.read("manifest.json")
    assert names == {
        "manifest.json", "graph.json", "samples.safetensors", "repro.py",
        *(f"code/{arch}.{end}" for arch in ARCHS for end in ("co", "s")),
    }  # fmt: skip
    value = json.loads(manifest)
    assert manifest.isascii() and list(value) == sorted(value)
    assert {"format", "version", "min_reader", "strata", "name", "key", "inputs", "outputs", "workspace", "steps",
            "targets", "precision", "expected", "files"} <= set(value)  # fmt: skip
    assert (value["format"], value["version"], value["name"]) == ("strata artifact", 1, "f")
    assert set(value["expected"]) == {f"emu:{arch}" for arch in ARCHS}


def test_a_checked_in_artifact_of_version_1_computes_what_it_did():
    path = Path(__file__).with_name("version_1.strata")
    assert repro(path).returncode == 0
    artifact = Artifact.load(path)
    with strata.config(device="emu:gfx942"):
        x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)
        got = artifact(Tensor(x), 2.0)
        np.testing.assert_allclose(got.numpy(), np.maximum(x @ np.full((64, 8), 0.5) * 2, 0), rtol=1e-5, atol=1e-5)


def test_what_was_saved_is_saved_again_as_it_is(tmp_path):
    made(samples=True).save(tmp_path / "a.strata")
    loaded = Artifact.load(tmp_path / "a.strata")
    loaded.save(tmp_path / "b.strata")
    loaded.save(tmp_path / "folder")
    Artifact.load(tmp_path / "folder").save(tmp_path / "c.strata")
    right = (tmp_path / "a.strata").read_bytes()
    assert (tmp_path / "b.strata").read_bytes() == right == (tmp_path / "c.strata").read_bytes()


def test_a_loaded_artifact_says_what_was_compiled(tmp_path):
    a = made()
    a.save(tmp_path / "a")
    b = Artifact.load(tmp_path / "a")
    for member in ("archs", "name", "key", "inputs", "outputs", "workspace_size", "operands", "arguments", "assembly",
                   "source", "code_object", "graph"):  # fmt: skip
        assert getattr(a, member) == getattr(b, member), member
    assert b.from_cache and b.archs == tuple(ARCHS)
    assert [(k.name, k.grid, k.vgprs) for k in b.kernels] == [(k.name, k.grid, k.vgprs) for k in a.kernels]
