#!/usr/bin/env python3
"""Layer normalisation of rows with weights and biases, of any narrow type, with sums in float32.

Look at `layernorm`: the row is read once, mean and variance are two reductions of registers. Change the type of x to
bfloat16: an access of 128 bits then has eight elements.
"""

import numpy as np
import strata
from strata import Tensor, dtypes, lang, layout as lo

ROWS, COLUMNS = 128, 2048


@strata.kernel(grid=lambda out, x, weight, bias, epsilon: x.shape[0], block=128)
def layernorm(out: lang.Tensor, x: lang.Tensor, weight: lang.Tensor, bias: lang.Tensor, epsilon):
    row, count, atom = lang.block_idx.x, x.shape[1], lang.CopyAtom(128, x.dtype)
    copy = lang.make_tiled_copy_tv(atom, lo.Layout((1, 128)), lo.Layout((1, atom.elements)))
    thread = copy.get_slice(lang.thread_idx.x)
    places = [thread.partition_S(lo.local_tile(t, (1, count), (at, 0))) for t, at in ((x, row), (weight, 0), (bias, 0))]
    given, scale, shift = (lang.make_fragment_like(place) for place in places)
    for place, registers in zip(places, (given, scale, shift)):
        lang.copy(atom, place, registers)
    values = given.cast(dtypes.float32)
    mean = lang.block_reduce(values.reduce("add")) / count
    centred = values - mean
    variance = lang.block_reduce((centred * centred).reduce("add")) / count
    normal = centred * lang.rsqrt(variance + epsilon) * scale.cast(dtypes.float32) + shift.cast(dtypes.float32)
    given.store(normal.cast(x.dtype))
    lang.copy(atom, given, thread.partition_D(lo.local_tile(out, (1, count), (row, 0))))


def main():
    random = np.random.default_rng(1)
    x, weight, bias = (
        random.standard_normal(s).astype("float16") for s in ((ROWS, COLUMNS), (1, COLUMNS), (1, COLUMNS))
    )
    wide = x.astype(float)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", check="raise"):
            given = [Tensor(t).realize() for t in (x, weight, bias)]
            strata.reset_stats()
            (out,) = layernorm(Tensor.empty(ROWS, COLUMNS, dtype="float16"), *given, 1e-5)
            np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=2e-3)
            stats = strata.stats()
        print(f"{arch}: {2 * x.nbytes / stats.time_ms * 1e-6:.0f} GB/s modelled, agrees with NumPy in float64")


if __name__ == "__main__":
    main()
