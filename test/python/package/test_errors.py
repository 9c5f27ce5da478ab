"""Errors say what is wrong, where, and what to do; the process lives on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, uop
from strata.asm import Assembler, rdna3 as r
from test_custom_kernel import ADD_ONE, SCALE


def launch(kernel, *inputs, out=None):
    return (Tensor.empty(64) if out is None else out).custom_kernel(*inputs, kernel=kernel)[0].realize()


def hip(body, arguments="float* out, const float* x", **kwargs):
    source = f'extern "C" __global__ void k({arguments}) {{\n{body}\n}}\n'
    return strata.hip_kernel(source, name="k", **{"grid": 1, "block": 32, **kwargs})


def test_the_classes():
    for name in (
        "UsageError",
        "ShapeError",
        "DTypeError",
        "CompileError",
        "AssemblyError",
        "LaunchError",
        "MemoryFault",
        "DeviceError",
        "Unsupported",
        "InternalError",
    ):
        assert issubclass(getattr(strata, name), strata.Error)
    assert (
        issubclass(strata.ShapeError, ValueError)
        and issubclass(strata.DTypeError, TypeError)
        and issubclass(strata.MemoryFault, RuntimeError)
    )


@pytest.mark.parametrize(
    "call", [lambda a, b: a + b, lambda a, b: a < b, lambda a, b: strata.where(a > 0, a, b), lambda a, b: a.maximum(b)]
)
def test_shapes_that_do_not_broadcast_are_both_named(call):
    with pytest.raises(strata.ShapeError) as e:
        call(Tensor.zeros(3, 4), Tensor.zeros(5, 4))
    assert "(3, 4)" in str(e.value) and "(5, 4)" in str(e.value)


@pytest.mark.parametrize("name", ["emu:gfx9999", "gpu", "emu:", "hip:99", "amd:99", "cuda:99"])
def test_an_unknown_device_lists_the_known_ones(name):
    for call in (
        lambda: Tensor([1.0]).to(name),
        lambda: Tensor.zeros(3, device=name),
        lambda: strata.config(device=name),
    ):
        with pytest.raises(strata.Error) as e:
            call()
        assert "emu:gfx1100" in str(e.value) and name in str(e.value)


def test_an_unknown_arch_lists_the_known_ones():
    for call in (
        lambda: strata.compile(Tensor([1]) + 1, arch="gfx9999"),
        lambda: strata.asm.assemble("s_endpgm", "gfx9999"),
        lambda: Assembler("gfx9999"),
        lambda: strata.emulator.run_wave("gfx9999", b""),
    ):
        with pytest.raises(strata.Error) as e:
            call()
        assert "gfx1100" in str(e.value) and "gfx9999" in str(e.value)


@pytest.mark.amd
def test_a_hip_error_shows_the_users_own_line_and_column():
    source = 'extern "C" __global__ void k(float* out) {\n    int fine = 1;\n    out[0] = missing + fine;\n}\n'
    with pytest.raises(strata.CompileError) as e:
        launch(strata.hip_kernel(source, name="k", grid=1, block=1))
    text = str(e.value)
    assert "k.hip:3:14" in text and "missing" in text and "out[0] = missing + fine;" in text
    assert e.value.line == 3 and e.value.column == 14 and e.value.file == "k.hip"
    assert e.value.source == source and "undeclared" in e.value.log


@pytest.mark.amd
def test_a_hip_error_behind_the_runtime_header():
    source = (
        '#include <hip/hip_runtime.h>\n\nextern "C" __global__ void k(float* out) {\n    out[threadIdx.q] = 1;\n}\n'
    )
    with pytest.raises(strata.CompileError, match=r"k\.hip:4:\d+"):
        launch(strata.hip_kernel(source, name="k", grid=1, block=1))


def test_a_kernel_that_is_not_in_the_source():
    with pytest.raises(strata.Error, match="nothing.*|.*scale"):
        launch(strata.hip_kernel(SCALE, name="nothing", grid=1, block=1), Tensor.zeros(4))


@pytest.mark.amd
def test_an_assembly_text_error_has_a_place():
    text = ADD_ONE.replace("v_add_f32 v2, 1.0, v2", "v_add_f32 v2, 1.0")
    line = next(i for i, t in enumerate(text.splitlines(), 1) if t.strip() == "v_add_f32 v2, 1.0")
    with pytest.raises(strata.AssemblyError) as e:
        strata.asm.assemble(text, "gfx1100", "mine.s")
    assert e.value.file == "mine.s" and e.value.line == line and e.value.column > 0
    assert f"mine.s:{line}:" in str(e.value)
    with pytest.raises(strata.AssemblyError, match="v_nonsense"):
        strata.asm_kernel(ADD_ONE.replace("s_endpgm", "v_nonsense v0"), grid=1, block=1)


def test_a_typed_assembly_error_has_the_python_line():
    a = Assembler("gfx1100")
    with pytest.raises(strata.AssemblyError) as e:
        a.emit(r.v_add_f32_e32(r.v[0], r.v[1], r.s[2]))
    line = sys._getframe().f_lineno - 1
    assert e.value.file == __file__ and e.value.line == line
    with pytest.raises(strata.AssemblyError, match="v0 to v255"):
        r.v[256]
    with pytest.raises(AttributeError, match="close: .*v_add_f32"):
        r.v_ad_f32(r.v[0])
    with pytest.raises(strata.AssemblyError):
        Assembler("gfx1100").emit(r.s_mov_b32(r.v[0], 1))


def test_a_label_that_is_never_placed():
    a = Assembler("gfx1100")
    a.emit(r.s_branch(a.label("nowhere")), r.s_endpgm())
    with pytest.raises(strata.AssemblyError, match="nowhere"):
        a.finish()


def test_parameters_and_buffers_that_differ_in_number():
    with pytest.raises(strata.LaunchError, match="takes 2 parameters .*1 arguments were given"):
        launch(hip("out[0] = x[0];"))
    with pytest.raises(strata.LaunchError, match="takes 2 parameters .*3 arguments were given"):
        launch(hip("out[0] = x[0];"), Tensor.zeros(4), Tensor.zeros(4))


@pytest.mark.parametrize(
    "sizes", [{"grid": 0}, {"block": 0}, {"grid": (1, 0)}, {"grid": -1}, {"block": ()}, {"block": (1, 1, 1, 1)}]
)
def test_dimensions_of_nothing(sizes):
    with pytest.raises(strata.LaunchError, match="dimension"):
        hip("", **sizes)


@pytest.mark.parametrize(
    "sizes, words",
    [
        ({"block": 1025}, "1024"),
        ({"block": (64, 64)}, "1024"),
        ({"grid": (1, 70000)}, "65535"),
        ({"block": (1, 1, 2000)}, "1024"),
    ],
)
def test_dimensions_over_the_limit(sizes, words):
    with pytest.raises(strata.LaunchError, match=f"kernel 'k'.*{words}"):
        launch(hip("out[0] = x[0];", **sizes), Tensor.zeros(4))


def test_a_block_larger_than_the_kernel_was_compiled_for():
    source = (
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void __launch_bounds__(64) k(float* out) { '
        "out[threadIdx.x] = 1; }"
    )
    with pytest.raises(strata.LaunchError, match="at most 64"):
        launch(strata.hip_kernel(source, name="k", grid=1, block=128), out=Tensor.empty(128))


@pytest.mark.amd
def test_too_much_lds():
    with pytest.raises(strata.LaunchError, match="65537 bytes of local memory.*65536"):
        launch(hip("out[0] = x[0];", lds=65537), Tensor.zeros(4))
    with pytest.raises(strata.Error, match="(?i)lds|local memory"):
        launch(
            hip("__shared__ int a[20000]; a[threadIdx.x] = (int)x[0]; __syncthreads(); out[0] = a[(int)x[1]];"),
            Tensor.zeros(4),
        )
    a = Assembler("gfx1100", name="k", block=32, grid=1)
    a.argument("out")
    a.lds(70000)
    a.emit(r.s_endpgm())
    with pytest.raises(strata.Error, match="(?i)lds|local memory"):
        launch(strata.asm_kernel(a))


@pytest.mark.amd
def test_too_many_registers_for_the_block():
    a = Assembler("gfx1100", name="wide", block=1024, grid=1)
    a.argument("out")
    a.emit(r.v_mov_b32(r.v[255], 0), r.s_endpgm())
    with pytest.raises(strata.LaunchError, match="registers"):
        launch(strata.asm_kernel(a))


@pytest.mark.amd
def test_the_wrong_arch():
    other = strata.compile(Tensor.empty(64) + 1, arch="gfx1201").kernels[0]
    with pytest.raises(strata.LaunchError, match="gfx1201.*gfx1100"):
        launch(strata.asm_kernel(other.code_object, grid=1, block=64), Tensor.zeros(64))


@pytest.mark.emulated
@pytest.mark.parametrize(
    "body, verb",
    [
        ("out[threadIdx.x + (1ll << 52)] = 1;", "writes"),
        ("out[0] = x[-(1ll << 40) - (int)threadIdx.x];", "reads"),
        ("*(float*)8 = x[0];", "writes"),
    ],
)
def test_a_bad_address_names_kernel_lane_and_address_and_the_process_lives(body, verb):
    other = Tensor(np.arange(1000)).realize()
    with pytest.raises(strata.MemoryFault) as e:
        launch(hip(body), Tensor.zeros(64).contiguous())
    text = str(e.value)
    assert "kernel 'k'" in text and verb in text
    assert (
        re.search(r"lane \d+|the wave", text)
        and re.search(r"at 0x[0-9a-f]+", text)
        and re.search(r"code offset 0x[0-9a-f]+ \((global|flat|s_load)\w*", text)
    )
    assert other.tolist() == list(range(1000)) and (other + 1).sum().item() == 500500


@pytest.mark.emulated
def test_one_element_past_the_end():
    def past(out, x):
        i = uop.range(65, 0, "local")
        return uop.sink(out[i].store(x[0].load()).end(i), name="past")

    with pytest.raises(strata.MemoryFault, match="kernel 'past'.*writes 4 bytes"):
        Tensor.empty(64).custom_kernel(Tensor([1.0]), kernel=past)[0].realize()


@pytest.mark.emulated
def test_a_failed_computation_can_be_tried_again():
    t = launch  # the graph of a failed launch does not poison others
    with pytest.raises(strata.MemoryFault):
        t(hip("out[1ll << 52] = 1;"), Tensor.zeros(64))
    assert t(hip("out[threadIdx.x] = x[threadIdx.x] + 1;"), Tensor.zeros(64)).tolist()[:32] == [1] * 32


def test_memory_that_a_device_does_not_have():
    with pytest.raises(strata.Error, match="memory|grid"):
        Tensor.zeros(1 << 42, dtype="int8").contiguous().realize()
    with pytest.raises(strata.ShapeError, match="64 bits"):
        Tensor.zeros(1 << 40, 1 << 40)
    assert Tensor.zeros(1 << 40).shape == (1 << 40,)  # nothing is stored


def test_settings_that_do_not_exist():
    with pytest.raises(strata.UsageError, match="known: device, target, beam"):
        strata.config(bream=2)
    with pytest.raises(strata.UsageError, match="0 to 1000"):
        strata.config(beam=-1)
    with pytest.raises(strata.UsageError, match="expected auto, hip or asm"):
        strata.config(target="cuda")
    with pytest.raises(strata.UsageError, match="hip_kernel"):
        Tensor.empty(4).custom_kernel(kernel=3)


def child(code, cache, **environment):
    """Runs Python code in a process of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRATA_")}
    env.update({"STRATA_CACHE_DIR": str(cache), **environment})
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("STRATA_DEVICE", "emu:gfx1", "emu:gfx1100"),
        ("STRATA_BEAM", "many", "STRATA_BEAM"),
        ("STRATA_TARGET", "ptx", "hip or asm"),
        ("STRATA_EMU_SIMD", "avx1024", "widest, portable, avx2 or avx512"),
    ],
)
def test_a_bad_environment_variable_is_named(variable, value, words, tmp_path):
    done = child("import strata; print((strata.Tensor([1]) + 1).tolist())", tmp_path, **{variable: value})
    assert done.returncode != 0 and words in done.stderr and "strata." in done.stderr.splitlines()[-1]


SUM = "import strata; print((strata.Tensor([1.0, 2.0, 3.0]) * 7.25 + 1).sum().item())"


def test_a_damaged_cache_entry_is_rebuilt(tmp_path):
    assert child(SUM, tmp_path).stdout == "46.5\n"
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size]
    assert files and (tmp_path.stat().st_mode & 0o777) == 0o700
    for n, damage in enumerate(
        [
            lambda b: b[: len(b) // 2],
            lambda b: b[:-40] + bytes(c ^ 0xFF for c in b[-40:]),
            lambda b: b"",
            lambda b: os.urandom(len(b)),
        ]
    ):
        for p in files:
            p.chmod(0o600)
            p.write_bytes(damage(p.read_bytes()))
        done = child(SUM, tmp_path)
        assert done.stdout == "46.5\n", (n, done.stderr)
        again = child("import strata; x = strata.Tensor([1.0, 2.0, 3.0]); print((x * 7.25 + 1).sum().item())", tmp_path)
        assert again.stdout == "46.5\n"
        files = [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size]


def test_two_processes_fill_one_cache_at_once(tmp_path):
    code = (
        "import strata\nx = strata.Tensor(list(range(50)))\nprint([int((x * k + k).sum().item()) for k in "
        "range(2, 10)])"
    )
    env = {**os.environ, "STRATA_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    expected = f"{[1225 * k + 50 * k for k in range(2, 10)]}\n"
    for p in running:
        out, err = p.communicate(timeout=120)
        assert (p.returncode, out) == (0, expected), err
    assert not [p for p in Path(tmp_path).rglob("*") if "tmp" in p.name]
    assert child(code, tmp_path).stdout == expected


def test_a_cache_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = child(SUM, blocked)
    assert done.stdout == "46.5\n" or "STRATA_CACHE_DIR" in done.stderr
