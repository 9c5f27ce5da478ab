"""Atomic additions of UOp kernels: every type, of global and local memory, by both targets on every arch, in strict
mode.

Global memory is whole dwords: what is narrower is added to the dword around it.
"""

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, uop

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
NUMBERS = [t for t in dtypes.all if not t.is_bool and t.bits > 8 or t.is_integer]
THREADS, GROUPS = 96, 3


def global_sums(out, values, places, below):
    g, t = uop.special("gidx0", GROUPS), uop.special("lidx0", THREADS)
    i = g * THREADS + t
    place = places[i].load()
    return uop.sink(uop.atomic_add(out.index(place, place < below) if below else out[place], values[i].load()))


def local_sums(out, values, places, below):
    t = uop.special("lidx0", THREADS)
    bins = uop.placeholder(out.size, out.dtype, "local")
    ready = bins.after(uop.barrier(bins.index(t, t < out.size).store(uop.const(0, out.dtype))))
    place = places[t].load()
    done = ready.after(
        uop.barrier(uop.atomic_add(ready.index(place, place < below) if below else ready[place], values[t].load()))
    )
    return uop.sink(out.index(t, t < out.size).store(done.index(t, t < out.size).load()))


def summed(values, places, size, below):
    """In the type's own width; the numbers are such that floats are exact in any order."""
    kept = places < (below or size)
    out = np.zeros(size, np.int64 if values.dtype.kind in "iu" else np.float64)
    np.add.at(out, places[kept], values[kept].astype(out.dtype))
    return out.astype(values.dtype)


def numbers(dtype, count, rng):
    if dtype.is_integer:
        info = np.iinfo(dtype.name)
        return rng.integers(info.min, info.max, count, dtype.name, endpoint=True)
    return rng.integers(-2, 3, count).astype("float32" if dtype.name == "bfloat16" else dtype.name)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("sums", [global_sums, local_sums])
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_sums_of_what_all_threads_add(arch, target, sums, dtype, rng):
    count = THREADS * (GROUPS if sums is global_sums else 1)
    for size, below in ((4, None), (8, None), (8, 3)) if sums is global_sums else ((1, None), (7, None), (8, 3)):
        values, places = numbers(dtype, count, rng), rng.integers(0, size, count).astype(np.int32)
        written = size % 4 == 0  # all of the last dword, which is compared as a whole
        with strata.config(device=f"emu:{arch}", target=target, check="raise" if written else "off"):
            out = Tensor.zeros(size, dtype=dtype).contiguous()
            got = out.custom_kernel(
                Tensor(values).cast(dtype), Tensor(places), kernel=lambda o, v, p: sums(o, v, p, below)
            )[0]
            got = got.cast("float32" if dtype.name == "bfloat16" else dtype).numpy()
        assert np.array_equal(got, summed(values, places, size, below)), (size, below)


@pytest.mark.parametrize("arch", ARCHS)
def test_truths_that_are_added_are_true_where_any_is(arch, rng):
    values, places = rng.integers(0, 8, THREADS * GROUPS) == 0, rng.integers(0, 32, THREADS * GROUPS).astype(np.int32)
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        out = Tensor.zeros(32, dtype="bool").contiguous()
        got = out.custom_kernel(Tensor(values), Tensor(places), kernel=lambda o, v, p: global_sums(o, v, p, None))[
            0
        ].numpy()
    assert np.array_equal(got, np.bincount(places, values, 32) > 0)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "first, added",
    [
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, -np.inf),
        (65504.0, 65504.0),
        (3e38, 3e38),
        (1.0, 2.0**-8),
        (1.0, 3 * 2.0**-9),
        (2.0**-14, -(2.0**-24)),
        (-0.0, -0.0),
    ],
)
def test_sums_of_halves_are_rounded_as_the_type_says(arch, dtype, first, added):
    with strata.config(device=f"emu:{arch}", target="asm"):
        out = Tensor([0.0, first, 5.0]).cast(dtype).contiguous()
        got = (
            out.custom_kernel(
                Tensor([added]).cast(dtype),
                kernel=lambda o, v: uop.sink(uop.atomic_add(o[uop.special("lidx0", 1) + 1], v[0].load())),
            )[0]
            .cast("float32")
            .numpy()
        )
        one, other = (Tensor([x]).cast(dtype).cast("float32").numpy()[0] for x in (first, added))
        want = (
            Tensor([0.0, one + other, 5.0]).cast(dtype).cast("float32").numpy()
        )  # float32 holds the sum, or rounds it the same
    assert np.array_equal(got, want, equal_nan=True) and np.signbit(got[1]) == np.signbit(want[1]) or np.isnan(want[1])
