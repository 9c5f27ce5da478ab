"""@triton.jit functions run as their authors call them, on emulated GPUs in strict mode (opt-in: test/run --triton)."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor

pytest.importorskip("triton")
import strata.triton
import triton
import triton.language as tl
import triton.testing
import triton_cases as cases
import triton_programs as programs
from triton_kernels import add

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")


@pytest.fixture
def active(request):
    strata.triton.activate(f"emu:{request.param}", check="raise")
    yield f"emu:{request.param}"
    strata.triton.deactivate()


@pytest.fixture
def mi300():
    strata.triton.activate("emu:gfx942", check="raise")
    yield "emu:gfx942"
    strata.triton.deactivate()


CASES = [(name, arch) for name, case in cases.CASES.items() for arch in case.archs]


@pytest.mark.parametrize("name, active", CASES, indirect=["active"])
def test_a_program_gives_what_numpy_does(name, active):
    case = cases.CASES[name]
    arrays = [array.copy() for array in case.arrays]
    case.function[case.grid](*arrays, *case.numbers, **case.constants)
    for got, wanted in zip(arrays[-len(case.wanted) :], case.wanted, strict=True):
        np.testing.assert_allclose(
            got.astype(np.float64), np.asarray(wanted, np.float64), rtol=case.tolerance, atol=case.tolerance
        )
    inputs = len(arrays) - len(case.wanted)
    for before, after in zip(case.arrays[:inputs], arrays[:inputs], strict=True):
        assert before.tobytes() == after.tobytes() or name == "locked"


def sums_of(x, y, out, n=1000, size=256):
    return lambda: add[(triton.cdiv(n, size),)](x, y, out, n, B=size)


def test_tensors_are_changed_in_place(mi300):
    x, y, out = (Tensor(v, device=mi300).realize() for v in (cases.X, cases.Y, np.zeros(1000, np.float32)))
    sums_of(x, y, out)()
    np.testing.assert_array_equal(out.numpy(), cases.X + cases.Y)


def test_views_of_an_array_share_memory(mi300):
    whole = np.zeros(2048, np.float32)
    whole[:1000] = cases.X
    sums_of(whole[:1000], whole[:1000], whole[1024:2024])()
    np.testing.assert_array_equal(whole[1024:2024], cases.X * 2)
    np.testing.assert_array_equal(whole[:1000], cases.X)
    assert not whole[1000:1024].any() and not whole[2024:].any()


def test_arrays_that_may_not_be_written_stay(mi300):
    fixed = cases.X.copy()
    fixed.flags.writeable = False
    out = np.zeros(1000, np.float32)
    sums_of(fixed, fixed, out)()
    np.testing.assert_array_equal(out, cases.X * 2)


def test_a_tuple_holds_arrays_and_numbers(mi300):
    out = np.zeros(64, np.float32)
    programs.tuples[(1,)]((cases.X, out), (2.0, 0.5), B=64)
    np.testing.assert_allclose(out, cases.X[:64] * 2 + 0.5, rtol=1e-6)


def test_dropout_keeps_its_share_and_repeats(mi300):
    x, one, other = (np.ones(4096, np.float32), *np.zeros((2, 4096), np.float32))
    programs.dropped[(16,)](x, one, 7, 0.25, B=256)
    programs.dropped[(16,)](x, other, 7, 0.25, B=256)
    assert (one == other).all() and abs((one == 0).mean() - 0.25) < 0.03
    assert set(np.unique(one)) == {np.float32(0), np.float32(1 / 0.75)}


@triton.jit
def beyond(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))


def test_a_missing_mask_is_found_with_its_line(mi300):
    line = beyond.fn.__code__.co_firstlineno + 3
    with pytest.raises(strata.MemoryFault, match=rf"'beyond' at .*test_triton_programs.py:{line}"):
        beyond[(4,)](cases.X.copy(), np.zeros(1000, np.float32), 1000, B=256)


@triton.jit
def asserts(n, B: tl.constexpr):
    tl.device_assert(n < 10, "n is large")


def test_a_device_assertion_is_an_error(mi300):
    asserts[(1,)](3, B=1, debug=True)
    with pytest.raises(strata.MemoryFault, match="n is large"):
        asserts[(1,)](30, B=1, debug=True)


@triton.jit
def prints(x, B: tl.constexpr):
    tl.device_print("value", tl.load(x + tl.arange(0, B)))


def test_device_print_prints(mi300, capfd):
    prints[(1,)](np.arange(4, dtype=np.int32) + 40, B=4, num_warps=1)
    strata.synchronize()
    lines = set(re.findall(r"idx \((\d)\) ?value: (\d+)", capfd.readouterr().err))
    assert lines == {(str(i), str(40 + i)) for i in range(4)}


def test_autotune_compares_modelled_times(mi300):
    tuned = triton.autotune([triton.Config({"B": size}, num_warps=4) for size in (64, 1024)], key=["n"])(add)
    arrays = cases.X, cases.Y, np.zeros(1000, np.float32)
    times = []
    for _ in range(2):
        tuned.cache.clear()
        tuned[lambda given: (triton.cdiv(1000, given["B"]),)](*arrays, 1000)
        times.append({config.kwargs["B"]: time for config, time in tuned.configs_timings.items()})
    assert times[0] == times[1] and set(times[0]) == {64, 1024}
    assert tuned.best_config.kwargs["B"] == min(times[0], key=times[0].get)
    np.testing.assert_array_equal(arrays[2], cases.X + cases.Y)


def test_do_bench_gives_modelled_time(mi300):
    run = sums_of(cases.X, cases.Y, np.zeros(1000, np.float32))
    once = triton.testing.do_bench(run)
    assert once > 0 and triton.testing.do_bench(run) == once
    assert triton.testing.do_bench(run, quantiles=[0.5, 0.2]) == [once, once]


def test_another_device_compiles_again():
    for arch in ("gfx942", "gfx1100"):
        strata.triton.activate(f"emu:{arch}")
        out = np.zeros(1000, np.float32)
        kernel = sums_of(cases.X, cases.Y, out)()
        assert kernel.metadata.target.arch == arch
        np.testing.assert_array_equal(out, cases.X + cases.Y)
    strata.triton.deactivate()


def test_deactivate_gives_the_driver_back():
    before, bench = triton.runtime.driver._active, triton.testing.do_bench
    strata.triton.activate("emu:gfx942")
    assert triton.runtime.driver.active.get_current_target().arch == "gfx942"
    strata.triton.deactivate()
    assert triton.runtime.driver._active is before and triton.testing.do_bench is bench


def test_a_tensor_of_another_device_is_refused(mi300):
    x = Tensor(cases.X, device="emu:gfx1100")
    with pytest.raises(strata.UsageError, match=r"on emu:gfx1100 for kernels on emu:gfx942: make it with"):
        sums_of(x, x, x)()


def test_local_memory_beyond_the_device_is_tritons_error(mi300):
    a = np.zeros((256, 256), np.float32)
    with pytest.raises(triton.runtime.errors.OutOfResources, match="shared memory"):
        programs.one_product[(1,)](a, a, a.copy(), N=256, TYPE=tl.float32)


def test_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs/triton.md").read_text()
    source = tmp_path / "page.py"
    source.write_text("\n".join(re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)))
    names = runpy.run_path(str(source))
    strata.triton.deactivate()
    assert "page.py" in names["message"] and "past the end of allocation" in names["message"]
    assert names["time_ms"] > 0
