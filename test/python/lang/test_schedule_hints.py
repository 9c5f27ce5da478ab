"""lang.sched_barrier and lang.sched_group_barrier: what the order of instructions keeps, in both targets."""

import re

import numpy as np
import pytest
import strata
from strata import Tensor, lang, layout as lo
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@strata.kernel(grid=1, block=64)
def scaled(out, x, kinds: lang.Constexpr):
    """Four loads and stores; without the place between them all loads come first."""
    t = lang.thread_idx.x
    for i in lang.static_range(4):
        out[i * 64 + t] = x[i * 64 + t] * 2.0
        if kinds is not None:
            lang.sched_barrier(*kinds)


def order(text):
    """'L' and 'S' for the loads and stores of a kernel's text, in their order."""
    names = re.findall(r"^\s*global_(load|store)_\w+", text, re.M)
    return "".join("L" if name == "load" else "S" for name in names)


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_passes_a_barrier_but_its_kinds(arch):
    spec = lang.TensorSpec((256,), "float32")

    def of(kinds):
        return order(strata.compile(scaled, spec, spec, kinds, arch=arch, target="asm").assembly)

    assert of(None) == of(("vmem_read", "alu")) == "LLLLSSSS"
    assert of(()) == of(("lds", "alu")) == "LSLSLSLS"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_hints_change_no_value(rng, arch, target):
    x = rng.integers(0, 9, 256).astype("float32")
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for kinds in ((), ("valu", "lds_read"), ("alu",)):
            assert np.array_equal(scaled(Tensor.zeros(256), Tensor(x), kinds)[0].numpy(), 2 * x)
        assert np.array_equal(scaled.interpret(Tensor.zeros(256), Tensor(x), ())[0].numpy(), 2 * x)


@strata.kernel(grid=1, block=64)
def interleaved(out, x, y, pattern: lang.Constexpr):
    """Four loads of local memory and four of a tensor, in one straight piece of code."""
    t, given = lang.thread_idx.x, lang.shared(lo.Layout((4, 64), (1000, 1)), "float32")
    for i in lang.static_range(4):
        given[i, t] = x[i * 64 + t]
    lang.barrier()
    lang.sched_barrier()  # else the loads of y, which nothing holds back, would come before
    total = 0.0
    for i in lang.static_range(4):
        total += given[i, 63 - t] * y[i * 64 + t]
    for kind, size in pattern:
        lang.sched_group_barrier(kind, size)
    out[t] = total


INTERLEAVED = lang.TensorSpec((64,), "float32"), lang.TensorSpec((256,), "float32"), lang.TensorSpec((256,), "float32")


def loads(text):
    """'R' and 'L' for each load of local memory and of a tensor after the barrier."""
    names = re.findall(r"^\s*(ds_load|ds_read|global_load)_", re.split(r"s_barrier\w*", text)[-1], re.M)
    return "".join("L" if name == "global_load" else "R" for name in names)


@pytest.mark.parametrize("arch", ARCHS)
def test_groups_interleave_kinds(arch):
    def of(*pattern):
        return loads(strata.compile(interleaved, *INTERLEAVED, pattern, arch=arch, target="asm").assembly)

    assert sorted(of()) == sorted("RLRLRLRL")
    assert of(*[("lds_read", 1), ("vmem_read", 1)] * 4) == "RLRLRLRL"
    assert of(*[("vmem_read", 2), ("lds", 2)] * 2) == "LLRRLLRR"
    assert of(("lds_read", 4), ("vmem", 4)) == "RRRRLLLL"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_groups_change_no_value(rng, arch, target):
    x, y = rng.integers(0, 9, (2, 256)).astype("float32")
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        pattern = (("lds_read", 1), ("vmem_read", 1), ("valu", 1)) * 4
        got = interleaved(Tensor.zeros(64), Tensor(x), Tensor(y), pattern)[0].numpy()
        assert np.array_equal(got, (x.reshape(4, 64)[:, ::-1] * y.reshape(4, 64)).sum(0))


@pytest.mark.skipif("hip" not in TARGETS, reason="no compiler of HIP")
def test_hip_has_clang_s_builtin_where_nothing_may_pass():
    spec = lang.TensorSpec((256,), "float32")

    def of(kernel, *arguments):
        return strata.compile(kernel, *arguments, arch="gfx942", target="hip").source

    assert of(scaled, spec, spec, ()).count("__builtin_amdgcn_sched_barrier(0);") == 4
    assert "sched" not in of(scaled, spec, spec, ("valu",))
    assert "sched_group" not in of(interleaved, *INTERLEAVED, (("lds_read", 2),))


def test_wrong_kinds_and_places_are_refused():
    def run(body, error, says):
        @strata.kernel(grid=1, block=64)
        def kernel(out):
            body()
            out[lang.thread_idx.x] = 1.0

        with pytest.raises(error, match=says):
            strata.compile(kernel, lang.TensorSpec((64,), "float32"), arch="gfx942")

    run(lambda: lang.sched_barrier("mfma"), strata.UsageError, "'mfma' is no kind of instruction; there are alu, valu")
    run(lambda: lang.sched_group_barrier("tma", 1), strata.UsageError, r"\[sched_group_barrier\] 'tma' is no kind")
    run(lambda: lang.sched_group_barrier("lds", 0), strata.UsageError, "size is 1 or more")

    @strata.kernel(grid=1, block=64)
    def branch(out):
        if lang.thread_idx.x < 3:
            lang.sched_barrier()
        out[lang.thread_idx.x] = 1.0

    with pytest.raises(strata.UsageError, match="in a branch"):
        strata.compile(branch, lang.TensorSpec((64,), "float32"), arch="gfx942")
