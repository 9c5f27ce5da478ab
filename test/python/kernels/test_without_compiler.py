"""A machine that has no clang, no device libraries and no LLVM: the setting tools names a folder without them."""

import os
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Tensor, uop
from strata.asm import Assembler, cdna3, rdna3, rdna4

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
TWICE = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'


@pytest.fixture
def nothing(tmp_path):
    """Settings of that machine, empty caches included."""
    return {"tools": str(tmp_path / "tools"), "cache_dir": str(tmp_path / "cache"), "target": "auto"}


def python(code, settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRATA_")} | {
        f"STRATA_{k.upper()}": v for k, v in settings.items()
    }
    return subprocess.run(
        [sys.executable, *(["-c", code] if isinstance(code, str) else code)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def scaled(out, x):
    block, thread = uop.range(4, 0, "global"), uop.range(256, 1, "local")
    i = block * 256 + thread
    return uop.sink(out[i].store(x[i].load() * 3.0).end(block, thread))


def filled(arch):
    """Typed assembly: out[i] = 7.0, with the words of each family."""
    g = {"gfx1100": rdna3, "gfx1201": rdna4}.get(arch, cdna3)
    a = Assembler(arch, name="filled", block=64, grid=1)
    out = a.argument("out")
    a.emit(g.s_load_b64(g.s[4:5], g.s[0:1], out) if g is not cdna3 else g.s_load_dwordx2(g.s[4:5], g.s[0:1], out))
    a.emit(
        g.v_lshlrev_b32(g.v[1], 2, g.v[0]),
        g.v_mov_b32(g.v[2], 7.0),
        g.s_wait_kmcnt(0) if g is rdna4 else g.s_waitcnt(g.waits(lgkmcnt=0)),
    )
    store = g.global_store_dword if g is cdna3 else g.global_store_b32
    a.emit(store(g.v[1], g.v[2], g.s[4:5]), g.s_endpgm())
    return strata.asm_kernel(a)


@pytest.mark.parametrize("arch", ARCHS)
def test_tensors_uop_kernels_and_searches_run(arch, nothing, rng):
    a, b = rng.standard_normal((64, 48)).astype(np.float32), rng.standard_normal((48, 32)).astype(np.float32)
    x = rng.standard_normal(1024).astype(np.float32)
    with strata.config(device=f"emu:{arch}", **nothing):
        product = (Tensor(a) @ Tensor(b)).softmax(axis=-1).numpy()
        e = np.exp((a @ b) - (a @ b).max(axis=-1, keepdims=True))
        np.testing.assert_allclose(product, e / e.sum(axis=-1, keepdims=True), rtol=2e-4, atol=1e-6)
        assert Tensor(np.arange(1000)).sum().item() == 499500
        out, _ = Tensor.empty(1024).custom_kernel(Tensor(x), kernel=scaled)
        np.testing.assert_array_equal(out.numpy(), 3 * x)
        with strata.config(beam=2):
            np.testing.assert_allclose(
                Tensor(np.tile(x, 16)).sum().item(), 16 * x.astype(np.float64).sum(), rtol=1e-4, atol=1e-2
            )
        (kernel, *_) = strata.compile(Tensor.empty(100) + 1).kernels
        assert kernel.source == "" and "s_endpgm" in kernel.assembly


@pytest.mark.parametrize("arch", ARCHS)
def test_attention_whose_masks_fill_the_scalar_registers_is_lowered(arch, nothing, rng):
    """Program 783764 of the soak: what lives throughout the kernel found no row beside short-lived pairs."""
    values = rng.standard_normal((7, 7, 13, 13))
    values[..., :-1, :] = np.where(rng.random(13) < 0.5, 0.7, values[..., :-1, :])
    operands = np.triu(np.tril(values), 1)
    scores = np.where(np.tri(13, dtype=bool), operands @ operands.swapaxes(-1, -2) / np.sqrt(13), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = values * 2 + weights / weights.sum(-1, keepdims=True) @ operands
    with strata.config(device=f"emu:{arch}", **nothing):
        x = Tensor(values)
        v = x.tril().triu(1)
        out = x * 2.0 + strata.functional.scaled_dot_product_attention(v, v, v, causal=True)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("arch", [a for a in ARCHS if a != "gfx90a"])  # whose words are cdna3's, for gfx942
def test_typed_assembly_runs(arch, nothing):
    with strata.config(device=f"emu:{arch}", **nothing):
        (out,) = Tensor.empty(64).custom_kernel(kernel=filled(arch))
        np.testing.assert_array_equal(out.numpy(), np.full(64, 7, np.float32))


def test_a_new_process_loads_and_starts_no_compiler(nothing):
    code = """
import os
from strata import Tensor
assert abs(Tensor.rand(1 << 18).sum().item() / (1 << 18) - 0.5) < 0.01
maps = open("/proc/self/maps").read()
assert "LLVM" not in maps and "strata_clang" not in maps, maps
children = open(f"/proc/self/task/{os.getpid()}/children").read()
assert children == "", children
"""
    done = python(code, nothing)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_compiler_is_looked_for_when_a_kernel_is_first_compiled(nothing):
    code = """
import os
import strata
from strata import _strata
tools = strata.settings()["tools"]
os.makedirs(tools)
for name in ("clang-19", "ocml.bc"):
    open(os.path.join(tools, name), "w").close()
os.chmod(os.path.join(tools, "clang-19"), 0o700)
assert _strata._target() == "hip"
os.remove(os.path.join(tools, "clang-19"))
assert _strata._target() == "hip", "it is looked for once"
"""
    done = python(code, nothing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("there, missing", [((), "clang-19"), (("clang-19",), "ocml.bc")])
def test_auto_wants_the_compiler_and_its_libraries_and_info_says_what_is_missing(there, missing, nothing):
    os.makedirs(nothing["tools"])
    for name in there:
        with open(os.path.join(nothing["tools"], name), "w", opener=lambda *a: os.open(*a, 0o700)):
            pass
    info = python(["-m", "strata", "info"], nothing).stdout
    assert "target: asm, kernels become machine code directly, since there is no HIP compiler" in info
    assert missing in next(line for line in info.splitlines() if line.startswith("HIP compiler: not found"))
    assert "LLVM 19 (assembler): not found" in info


def test_what_is_asked_for_wins(nothing):
    with strata.config(**nothing | {"target": "hip"}):
        with pytest.raises(strata.DeviceError, match="no HIP compiler.*clang-19.*target='asm'"):
            (Tensor.empty(77) * 3).realize()
    with strata.config(**nothing):
        text = strata.compile([Tensor.empty(77) * 3, Tensor.empty(77, 5).sum(1)], target="hip")
        assert (
            text.source.count("__global__") == 2
            and "text alone" in repr(text.kernels[0])
            and text.kernels[0].grid[0] > 0
        )
        for asked in (
            lambda: text.code_object,
            lambda: text.assembly,
            lambda: text.kernels[1].code_object,
            lambda: text.kernels[0].vgprs,
        ):
            with pytest.raises(strata.DeviceError, match="target='asm'"):
                asked()
        assert strata.compile(Tensor.empty(77) * 3).source == ""


def test_source_for_clang_and_text_for_llvm_say_what_they_need(nothing):
    with strata.config(**nothing):
        with pytest.raises(strata.DeviceError, match="apt install clang-19"):
            strata.hip_kernel(TWICE, name="twice", grid=1, block=64)(Tensor.ones(64))
        with pytest.raises(strata.DeviceError, match="libllvm19"):
            strata.asm.assemble(
                '.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n.amdhsa_kernel k\n.end_amdhsa_kernel\n', "gfx1100"
            )
        assert not strata._strata.llvm_available()
    # And the next texts are read where LLVM is.
    if strata._strata.llvm_available():
        assert strata.asm.assemble_instructions("s_endpgm", "gfx1100")
