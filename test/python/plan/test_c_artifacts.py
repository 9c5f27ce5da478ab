"""Artifacts through the interface for C: opened from files and memory, loaded as plans, refused where wrong."""

import ctypes as c
import threading

import numpy as np
import pytest
import strata
from strata import Spec, Tensor
from test_c_calls import LIBRARY, Library, context, lib  # noqa: F401

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(not LIBRARY.exists(), reason="the library for C is not built"),
]
WEIGHT = np.arange(8, dtype=np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    weight = Tensor(WEIGHT).realize()
    a = strata.compile(lambda x: (x * weight).sum(1) + 1, Spec((4, 8)), arch=["gfx1100", "gfx942"], target="asm")
    folder = tmp_path_factory.mktemp("saved")
    a.save(folder / "a.strata")
    a.save(folder / "a")
    return folder


def result(lib, context, plan):  # noqa: F811
    operands = lib.operands(context, plan)
    x, y = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros(4, np.float32)
    assert lib.status("upload", context, None, operands[0].data, x.ctypes.data, x.nbytes) == "OK"
    workspace = lib.lib.strata_plan_workspace(plan)
    space = lib.made("alloc", context, workspace, kind=c.c_uint64).value if workspace else 0
    assert lib.status("run", plan, None, space, workspace, operands, 2) == "OK", lib.error()
    assert lib.status("download", context, None, y.ctypes.data, operands[1].data, y.nbytes) == "OK"
    return y, x @ WEIGHT + 1


@pytest.mark.parametrize("name", ["a.strata", "a"])
def test_an_artifact_is_a_plan(lib, context, saved, name):  # noqa: F811
    artifact = lib.made("artifact_open", context, str(saved / name).encode())
    plan = lib.made("artifact_load", artifact)
    lib.lib.strata_artifact_close(artifact)
    got, wanted = result(lib, context, plan)
    assert (got == wanted).all()


def test_an_artifact_in_memory_may_go_once_it_is_opened(lib, context, saved):  # noqa: F811
    content = bytearray((saved / "a.strata").read_bytes())
    memory = (c.c_char * len(content)).from_buffer(content)
    artifact = lib.made("artifact_memory", context, c.byref(memory), c.c_uint64(len(content)))
    c.memset(c.byref(memory), 0, len(content))
    got, wanted = result(lib, context, lib.made("artifact_load", artifact))
    assert (got == wanted).all()
    lib.lib.strata_artifact_close(artifact)


def refused(lib, context, path, text):  # noqa: F811
    out = c.c_void_p()
    assert lib.status("artifact_open", context, str(path).encode(), c.byref(out)) == "ARTIFACT" and not out
    assert text in lib.lib.strata_last_error().contents.message.decode()


def test_damaged_artifacts_are_refused(lib, context, saved, tmp_path):  # noqa: F811
    refused(lib, context, tmp_path / "none.strata", "there is no such file")
    whole = (saved / "a.strata").read_bytes()
    (tmp_path / "b.strata").write_bytes(b"no zip")
    refused(lib, context, tmp_path / "b.strata", "it is no artifact")
    place = whole.index(b"\x7fELF") + 100
    (tmp_path / "b.strata").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    refused(lib, context, tmp_path / "b.strata", "code/gfx1100.co")
    wrong = 0
    for at in range(0, len(whole), max(1, len(whole) // 200)):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]):
            out = c.c_void_p()
            status = lib.status("artifact_memory", context, content, c.c_uint64(len(content)), c.byref(out))
            wrong += status not in ("OK", "ARTIFACT")
            lib.lib.strata_artifact_close(out)
    assert wrong == 0


def test_code_for_another_device_and_numbers_are_refused(lib, saved, tmp_path):  # noqa: F811
    other = lib.made("open", 1, None, b"emu:gfx1201")
    artifact, plan = lib.made("artifact_open", other, str(saved / "a.strata").encode()), c.c_void_p()
    assert lib.status("artifact_load", artifact, c.byref(plan)) == "DEVICE"
    said = lib.lib.strata_last_error().contents.message.decode()
    assert "it has code for gfx1100, gfx942, and the device is gfx1201" in said
    a = strata.compile(lambda x, s: x * s, Spec((4,)), np.float32(1), arch="gfx1201", target="asm")
    a.save(tmp_path / "n.strata")
    artifact = lib.made("artifact_open", other, str(tmp_path / "n.strata").encode())
    assert lib.status("artifact_load", artifact, c.byref(plan)) == "UNSUPPORTED" and lib.error()[1] == "s"
    lib.lib.strata_close(other)


def test_threads_select_load_and_close_at_once(lib, context, saved):  # noqa: F811
    wrong = []

    def work():
        artifact = lib.made("artifact_open", context, str(saved / "a.strata").encode())
        plan = lib.made("artifact_load", artifact)
        lib.lib.strata_artifact_close(artifact)
        got, wanted = result(lib, context, plan)
        lib.lib.strata_plan_destroy(plan)
        selected = lib.select(context, lib.desc(context, "neg", [("x", 12, (3, 5))]))
        lib.lib.strata_plan_destroy(selected)
        if not (got == wanted).all():
            wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_plan_is_saved_as_python_saves_it(lib, context, tmp_path):  # noqa: F811
    plan = lib.select(context, lib.desc(context, "swiglu", [("x", 12, (2, 4, 8))], axis=1))
    for name in ("p.strata", "p"):
        assert lib.status("plan_save", plan, str(tmp_path / name).encode()) == "OK", lib.error()
    p = strata.plan.select("swiglu", x=Spec((2, 4, 8)), axis=1, prefer={"target": "asm"})
    p.save(tmp_path / "q.strata")
    assert (tmp_path / "p.strata").read_bytes() == (tmp_path / "q.strata").read_bytes()
    x = Tensor(np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32))
    for name in ("p.strata", "p"):
        a = strata.Artifact.load(tmp_path / name)
        assert (a(x).numpy() == p.run(x=x).numpy()).all() and a.name == "swiglu" and a.assembly
    assert lib.status("plan_save", plan, str(tmp_path / "p").encode()) == "OK"  # another takes its place
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p", "p.strata", "q.strata"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/text").write_text("mine")
    for path in (tmp_path / "other", tmp_path / "other/text", "/proc/none/p.strata"):
        assert lib.status("plan_save", plan, str(path).encode()) == "ARTIFACT"
    empty = lib.select(context, lib.desc(context, "neg", [("x", 12, (0, 3))]))
    assert lib.status("plan_save", empty, str(tmp_path / "e.strata").encode()) == "UNSUPPORTED"
