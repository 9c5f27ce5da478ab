"""cache= of copies and bounded views: bits of each chip's accesses by machine code and by HIP, and the values."""

import re

import numpy as np
import pytest
import strata
from strata import Tensor, lang, layout as lo
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
POLICIES = ["global", "streaming", "uncached"]
# (load, store) of codegen/target/cache_policies.def, as LLVM's "Memory Model" of AMDGPUUsage sets them.
BITS = {
    ("gfx90a", "global"): ("glc", ""), ("gfx90a", "streaming"): ("glc slc", "glc slc"),
    ("gfx90a", "uncached"): ("glc", ""),
    ("gfx942", "global"): ("sc1", "sc1"), ("gfx942", "streaming"): ("nt", "nt"),
    ("gfx942", "uncached"): ("sc0 sc1", "sc0 sc1"),
    ("gfx1100", "global"): ("glc", ""), ("gfx1100", "streaming"): ("slc dlc", "glc slc dlc"),
    ("gfx1100", "uncached"): ("glc", ""),
    ("gfx1201", "global"): ("scope:SCOPE_DEV",) * 2, ("gfx1201", "streaming"): ("th:TH_LOAD_NT", "th:TH_STORE_NT"),
    ("gfx1201", "uncached"): ("scope:SCOPE_SYS",) * 2,
}  # fmt: skip
WORDS = {"glc", "slc", "dlc", "scc", "sc0", "sc1", "nt"}


@strata.kernel(grid=1, block=64)
def copied(out, x, bits: lang.Constexpr, kind: lang.Constexpr, cache: lang.Constexpr):
    atom = lang.CopyAtom(bits, x.dtype, kind, cache=cache)
    assert atom.cache == cache
    held, parts, t = (
        lang.registers(atom.elements, x.dtype),
        lo.Layout((atom.elements, 64), (1, atom.elements)),
        lang.thread_idx.x,
    )
    lang.copy(atom, lo.composition(x, parts)[None, t], held)
    for i in lang.static_range(atom.elements):
        held[i] = held[i] + 1
    lang.copy(atom, held, lo.composition(out, parts)[None, t])


@strata.kernel(grid=1, block=64)
def within(out, x, cache: lang.Constexpr):
    t = lang.thread_idx.x
    lang.bounded(out, cache)[t] = lang.bounded(x, cache)[t] * 2


def words(text, kind):
    """The cache bits of each access of a kind, as sets; addresses of arguments are scalar loads."""
    lines = [line for line in text.splitlines() if re.search(rf"(global|buffer)_{kind}", line)]
    return [
        {w for w in line.replace(",", " ").split() if w in WORDS or w.startswith(("th:", "scope:"))} for line in lines
    ]


@pytest.mark.parametrize("kind", ["universal", "buffer"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arch", ARCHS)
def test_machine_code_has_the_bits_of_the_policy(arch, policy, kind):
    spec = lang.TensorSpec((256,), "float32")
    text = strata.compile(copied, spec, spec, 128, kind, policy, arch=arch, target="asm").assembly
    load, store = BITS[arch, policy]
    assert words(text, "load") == [set(load.split())] and words(text, "store") == [set(store.split())]
    plain = strata.compile(copied, spec, spec, 128, kind, None, arch=arch, target="asm").assembly
    assert words(plain, "load") == words(plain, "store") == [set()]


@pytest.mark.skipif("hip" not in TARGETS, reason="no compiler of HIP")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arch", ARCHS)
def test_hip_s_compiler_makes_the_same_bits(arch, policy):
    spec = lang.TensorSpec((128,), "float32")
    for kind in ("universal", "buffer"):
        text = strata.compile(copied, spec, spec, 64, kind, policy, arch=arch, target="hip").assembly
        load, store = BITS[arch, policy]
        assert words(text, "load") == [set(load.split())], text
        assert words(text, "store") == [set(store.split())], text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    "dtype, bits", [("int8", 8), ("float16", 16), ("float32", 32), ("float64", 64), ("float16", 128)]
)
def test_no_policy_changes_a_value(rng, arch, target, dtype, bits):
    n = 64 * bits // (8 * np.dtype(dtype).itemsize)
    x = rng.integers(-50, 50, n).astype(dtype)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, given = Tensor.zeros(n, dtype=dtype), Tensor(x)
        for policy in ["all", *POLICIES]:
            assert np.array_equal(copied(out, given, bits, "universal", policy)[0].numpy(), x + 1)
        assert np.array_equal(copied.interpret(out, given, bits, "universal", "streaming")[0].numpy(), x + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_bounded_views_have_policies_too(rng, target):
    x = rng.integers(-50, 50, 40).astype("float32")
    with strata.config(device="emu:gfx942", target=target, check="raise"):
        out, given = Tensor.zeros(40), Tensor(x)
        assert np.array_equal(within(out, given, "streaming")[0].numpy(), x * 2)
        text = strata.compile(within, out, given, "streaming", arch="gfx942", target=target).assembly
        assert words(text, "load") == words(text, "store") == [{"nt"}]


def test_accesses_of_two_policies_are_not_joined():
    @strata.kernel(grid=1, block=64)
    def kernel(out, x):
        t, streaming = lang.thread_idx.x, lang.bounded(x, "streaming")
        for i in lang.static_range(4):
            out[t * 4 + i] = (streaming if i % 2 else x)[t * 4 + i]

    spec = lang.TensorSpec((256,), "float32")
    text = strata.compile(kernel, spec, spec, arch="gfx1100", target="asm").assembly
    assert sorted(map(sorted, words(text, "load"))) == [[], [], ["dlc", "slc"], ["dlc", "slc"]]


@pytest.mark.parametrize("policy", ["all", *POLICIES, "keep"])
def test_nvidia_s_compiler_takes_each_policy(policy):
    """Its text, where NVRTC is there. No card runs it here."""
    spec = lang.TensorSpec((256,), "float32")
    with strata.config(target="hip"):
        try:
            made = strata.compile(copied, spec, spec, 128, "universal", policy, arch="sm_90")
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    assert f"strata_load_{policy}(" in made.source and f"strata_store_{policy}(" in made.source


def test_what_there_is_not_is_said_with_what_there_is():
    with pytest.raises(
        strata.UsageError, match="cache='often' is no policy; gfx942 has all, global, streaming, uncached"
    ):
        lang.CopyAtom(32, "float32", cache="often", arch="gfx942")
    with pytest.raises(
        strata.Unsupported, match="gfx1100 has no accesses with cache='keep'; it has all, global, stream"
    ):
        lang.CopyAtom(32, "float32", cache="keep", arch="gfx1100")
    assert lang.CopyAtom(32, "float32", cache="keep", arch="sm_90").cache == "keep"
    with pytest.raises(strata.UsageError, match="a name or None, not 3"):
        lang.CopyAtom(32, "float32", cache=3, arch="gfx942")

    @strata.kernel(grid=1, block=64)
    def local(out):
        atom, own = lang.CopyAtom(32, "float32", cache="streaming"), lang.shared(64)
        lang.copy(atom, lo.composition(own, lo.Layout((1, 64)))[None, lang.thread_idx.x], lang.registers(1))

    with pytest.raises(strata.UsageError, match="cache= is of accesses of a tensor"):
        strata.compile(local, lang.TensorSpec((64,), "float32"), arch="gfx942")
