"""The command line."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from strata import default_device, emulator
from test_custom_kernel import ADD_ONE


def strata(*arguments, cwd=None, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "strata", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        input=stdin,
        env=os.environ,
        timeout=120,
    )


def ok(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(done, *words):
    """Exits non-zero with one line on standard error."""
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_info_and_help():
    text = ok(strata("info"))
    assert f"default device: {default_device()}" in text and "waves of 32" in text
    assert f"device = '{os.environ['STRATA_DEVICE']}' (environment)" in text
    text = ok(strata("--help"))
    for command in ("info", "asm", "disasm", "run", "bench"):
        assert command in text and command in ok(strata(command, "--help"))


@pytest.mark.amd
def test_asm_and_disasm(tmp_path):
    (tmp_path / "add.s").write_text(ADD_ONE)
    assert "add.co" in ok(strata("asm", "add.s", cwd=tmp_path))
    assert (tmp_path / "add.co").read_bytes()[:4] == b"\x7fELF"
    listing = ok(strata("disasm", "add.co", cwd=tmp_path))
    assert "add_one" in listing and "v_add_f32" in listing
    ok(strata("asm", "-", "-o", tmp_path / "b.co", stdin=ADD_ONE))
    assert (
        ok(strata("disasm", tmp_path / "b.co")) == listing
    )  # the files differ in the name that faults give the source
    (tmp_path / "raw").write_bytes(bytes.fromhex("0000b0bf"))
    assert ok(strata("disasm", "--arch", "gfx1100", tmp_path / "raw")).strip() == "s_endpgm"


@pytest.mark.amd
def test_run_of_each_kind_of_file(tmp_path):
    (tmp_path / "twice.hip").write_text(
        'extern "C" __global__ void twice(float* o, const float* x) { int i = blockIdx.x * blockDim.x + '
        "threadIdx.x; o[i] = 2 * x[i]; }"
    )
    (tmp_path / "add.s").write_text(ADD_ONE)
    out = ok(
        strata(
            "run",
            "twice.hip",
            "--grid",
            4,
            "--block",
            64,
            "--arg",
            "f32[256]",
            "--arg",
            "f32[256]=arange",
            "--save",
            "0=out.npy",
            cwd=tmp_path,
        )
    )
    assert "twice: grid (4, 1, 1) block (64, 1, 1)" in out and "modelled" in out
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), 2 * np.arange(256))
    np.save(tmp_path / "x.npy", np.full(256, 5, np.float32))
    assert "6., 6." in ok(
        strata("run", "add.s", "--grid", 4, "--block", 64, "--arg", "f32[256]", "--arg", "x.npy", cwd=tmp_path)
    )
    ok(strata("asm", "add.s", cwd=tmp_path))
    assert "8., 8." in ok(
        strata("run", "add.co", "--grid", 4, "--block", 64, "--arg", "f32[256]", "--arg", "f32[256]=7", cwd=tmp_path)
    )


@pytest.mark.amd
def test_bad_input_is_one_line(tmp_path):
    (tmp_path / "bad.s").write_text("v_nonsense v0\n")
    (tmp_path / "bad.co").write_text("nothing")
    (tmp_path / "ok.hip").write_text('extern "C" __global__ void k(float* o) { o[0] = 1; }')
    fails(strata("asm", "missing.s", cwd=tmp_path), "missing.s")
    fails(strata("asm", "bad.s", "--arch", "gfx9999", cwd=tmp_path), "gfx9999", "gfx1100")
    fails(strata("disasm", "bad.co", cwd=tmp_path), "strata:")
    fails(strata("run", "ok.hip", cwd=tmp_path), "kernel 'k' takes 1 parameters (float* o), 0 arguments were given")
    fails(strata("run", "ok.hip", "--arg", "f33[4]", cwd=tmp_path), "f33[4]")
    fails(strata("run", "ok.hip", "--arg", "f32[4]", "--grid", "x", cwd=tmp_path), "'x'")
    fails(strata("run", "ok.hip", "--arg", "f32[4]", "--device", "emu:gfx0", cwd=tmp_path), "emu:gfx1100")
    fails(strata("bench", "nothing"), "nothing", "known")
    done = strata("asm", "bad.s", cwd=tmp_path)
    assert done.returncode != 0 and "bad.s:1:" in done.stderr and "Traceback" not in done.stderr
    assert strata("frobnicate").returncode == 2 and strata().returncode == 2


def test_bench_prints_json():
    done = json.loads(ok(strata("bench", "import", "--quick")))
    assert done["machine"]["cores"] >= 1 and done["import"]["import_ms"] > 0


def test_the_installed_script():
    script = os.path.join(os.path.dirname(sys.executable), "strata")
    if not os.path.exists(script):
        pytest.skip("the package is not installed here, only built")
    assert "default device" in subprocess.run([script, "info"], capture_output=True, text=True, check=True).stdout


def test_coverage_of_the_emulator():
    text = ok(strata("emu", "coverage", "--arch", "gfx1100"))
    assert "VOP3" in text and "% of the compute forms" in text
    counts = {f.format: f for f in emulator.coverage("gfx1100")}
    assert counts["VOP2"].executed == counts["VOP2"].rows and counts["MIMG"].executed == 0
    assert all(f.rows == f.executed + f.graphics + len(f.missing) for f in counts.values())
    fails(strata("emu", "coverage", "--arch", "gfx1"), "gfx1")


@pytest.mark.amd
def test_fidelity_of_a_kernel(tmp_path):
    (tmp_path / "e.hip").write_text(
        'extern "C" __global__ void e(float* o, const float* x) { int i = threadIdx.x; o[i] = '
        "__builtin_amdgcn_rsq((double)x[i]) + 1; }"
    )
    out = ok(
        strata("run", "e.hip", "--block", 32, "--arg", "f32[32]", "--arg", "f32[32]=arange", "--fidelity", cwd=tmp_path)
    )
    assert (
        "silicon's exact bits:" in out and "  1 x v_rsq_f64: within the documented 5" in out and "v_add_f64" not in out
    )
    (tmp_path / "add.s").write_text(ADD_ONE)
    out = ok(
        strata(
            "run",
            "add.s",
            "--grid",
            4,
            "--block",
            64,
            "--arg",
            "f32[256]",
            "--arg",
            "f32[256]=1",
            "--fidelity",
            cwd=tmp_path,
        )
    )
    counts = [int(n) for n in out.partition("fidelity: ")[2].replace("of the", "").split()[:2]]
    ran = int(re.search(r"(\d+) wave instructions", out)[1])
    assert counts[0] == counts[1] == ran > 3 * 4 * 2


AXPY = """
struct Pair { float a, b; };
template <class T> __global__ void scaled(T* x, T by) { x[threadIdx.x] *= by; }
extern "C" __global__ void axpy(int n, float a, const float* x, float* y, Pair p, const float* none) {
    if (threadIdx.x < n) y[threadIdx.x] += a * x[threadIdx.x] + p.a + p.b + (none ? 100 : 0);
}
"""


def test_run_takes_numbers_structs_and_no_memory(tmp_path):
    (tmp_path / "axpy.cc").write_bytes("// Gr\xf6\xdfe\n".encode("latin-1") + AXPY.encode())
    pair = "bytes:" + np.array([0.5, 2], np.float32).tobytes().hex()
    arguments = [x for a in ("i64:6", "3", "f32[8]=arange", "f32[8]=1", pair, "none") for x in ("--arg", a)]
    out = ok(strata("run", "axpy.cc", "--kernel", "axpy", "--block", 8, *arguments, "--save", "3=y.npy", cwd=tmp_path))
    assert "axpy: grid (1, 1, 1) block (8, 1, 1)" in out and "3: f32[8]=1: [ 3.5,  6.5" in out
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.where(np.arange(8) < 6, 3 * np.arange(8) + 3.5, 1))
    assert "[2, 2, 2, 2]" in ok(
        strata(
            "run", "axpy.cc", "--kernel", "scaled<int>", "--block", 4, "--arg", "i32[4]=1", "--arg", "0x2", cwd=tmp_path
        )
    )


@pytest.mark.amd
def test_what_run_is_given_is_checked_before_the_launch(tmp_path):
    (tmp_path / "axpy.hip").write_text(AXPY)
    (tmp_path / "broken.hip").write_text("\n__global__ void k(float* x) { nonsense; }")
    (tmp_path / "latin.s").write_bytes(b"v_nonsense \xe9\n")
    (tmp_path / "bare.s").write_text("s_endpgm\n")
    np.savez(tmp_path / "many.npy", a=np.zeros(3))
    (tmp_path / "text.npy").write_text("no array")
    run = lambda *a: strata(
        "run", "axpy.hip", "--kernel", "axpy", *[x for spec in a for x in ("--arg", spec)], cwd=tmp_path
    )  # noqa: E731
    fails(
        run("1.5", "1", "f32[8]", "f32[8]", "bytes:0011223344556677", "none"),
        "parameter 0 (int n, 4 bytes): the number 1.5 is no integer",
    )
    fails(
        run("1", "1", "7", "f32[8]", "bytes:0011223344556677", "none"),
        "parameter 2 (float* x, 8 bytes): a pointer takes a tensor",
    )
    fails(run("1", "1", "f32[8]", "f32[8]", "bytes:0011", "none"), "parameter 4 (Pair p, 8 bytes): 2 bytes were given")
    fails(run("i8:300"), "--arg i8:300: 300 is no int8")
    fails(run("bytes:0"), "--arg bytes:0: expected hexadecimal digits")
    fails(run("seven"), "--arg seven: expected TYPE[SHAPE]=FILL")
    fails(run("f32[9999999999999]"), "--arg f32[9999999999999]: 9999999999999 elements")
    fails(run("f32[0]"), "--arg f32[0]: 0 elements")
    fails(run("many.npy"), "many.npy")
    fails(run("text.npy"), "--arg text.npy: no array of numbers")
    fails(strata("run", "axpy.hip", "--arg", "f32[8]", cwd=tmp_path), "axpy")
    fails(
        strata("run", "axpy.hip", "--kernel", "axpy", "--arg", "1", "--save", "0=x.npy", cwd=tmp_path),
        "--save 0=x.npy: expected N=FILE.npy, where --arg number N",
    )
    fails(
        strata("run", "axpy.hip", "--kernel", "axpy", "--arg", "f32[8]", "--save", "0=no/x.npy", cwd=tmp_path),
        "there is no folder",
    )
    fails(strata("run", "bare.s", cwd=tmp_path), "has no kernel: a whole file has .amdhsa_kernel directives")
    for name, text in (
        ("broken.hip", "broken.hip:2:31: error: use of undeclared identifier 'nonsense'"),
        ("latin.s", "latin.s:1:"),
    ):
        done = strata("run", name, "--arg", "f32[8]", cwd=tmp_path)
        assert done.returncode == 1 and text in done.stderr and "Traceback" not in done.stderr, done.stderr
    done = strata("run", "axpy.hip", "--lds", "-1", cwd=tmp_path)
    assert done.returncode == 2 and "--lds" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.amd
def test_names_need_not_be_text(tmp_path):
    odd = lambda ending: os.fsdecode(b"k\xff" + ending)  # noqa: E731
    (tmp_path / odd(b".hip")).write_text('extern "C" __global__ void f(float* x) { x[threadIdx.x] += VALUE; }')
    (tmp_path / odd(b".s")).write_text(ADD_ONE)
    assert "bytes" in ok(strata("asm", odd(b".s"), "-o", odd(b".co"), cwd=tmp_path))
    out = ok(
        strata(
            "run",
            odd(b".hip"),
            "--block",
            4,
            "--option=-DVALUE=2",
            "--arg",
            "f32[4]=1",
            "--save",
            odd(b".npy").join(["0=", ""]),
            cwd=tmp_path,
        )
    )
    assert "[3., 3., 3., 3.]" in out
    assert "[4., 4., 4., 4.]" in ok(
        strata("run", odd(b".hip"), "--block", 4, "--option=-DVALUE=1", "--arg", odd(b".npy"), cwd=tmp_path)
    )
    for ending in (b".s", b".co"):
        assert "[2., 2." in ok(
            strata("run", odd(ending), "--block", 64, "--arg", "f32[64]", "--arg", "f32[64]=1", cwd=tmp_path)
        )
        fails(
            strata("run", odd(ending), "--kernel", odd(b""), "--arg", "f32[64]", "--arg", "f32[64]=1", cwd=tmp_path),
            "has no kernel 'k\\xff'",
        )
    fails(
        strata("run", odd(b".hip"), "--kernel", odd(b""), "--option=-DVALUE=1", "--arg", "f32[4]", cwd=tmp_path),
        "k\\xff",
    )
    done = strata("run", odd(b".hip"), f"--option=-DVALUE={odd(b'')}", "--arg", "f32[4]", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("strata: CompileError: k\\xff.hip:1:"), done.stderr
    image = (tmp_path / odd(b".co")).read_bytes()
    (tmp_path / "odd.co").write_bytes(image.replace(b"add_one", b"add\xffone"))
    fails(strata("run", "odd.co", "--arg", "f32[256]=1", cwd=tmp_path), "code object", "not UTF-8")


def test_the_version_and_terminals_that_know_ascii_alone(tmp_path):
    import strata as package

    assert ok(strata("--version")).strip() == f"strata {package.__version__}"
    (tmp_path / "größe.hip").write_text('extern "C" __global__ void k(float* ö) { ö[0] = nonsense; }')
    done = subprocess.run(
        [sys.executable, "-m", "strata", "run", "größe.hip", "--arg", "f32[1]"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        timeout=120,
    )
    assert done.returncode == 1 and b"nonsense" in done.stderr and b"Traceback" not in done.stderr, done.stderr
