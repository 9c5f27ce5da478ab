"""Parts that tests of the kernel library share: emulated cards in strict mode, operands, references in float64."""

import numpy as np
import strata
from strata import Tensor

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
# Of the largest value, and two roundings of each.
TOLERANCE = {"float32": 2e-6, "float16": 5e-4, "bfloat16": 4e-3, "float64": 1e-13}
ROUNDINGS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52}
SLOPES = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 1e-2}


def strict(arch):
    return strata.config(device=f"emu:{arch}", target="asm", check="raise")


def of(array, dtype="float32"):
    """A tensor of that type in memory."""
    return Tensor(np.ascontiguousarray(array)).cast(dtype).realize()


def wide(x):
    """The values of a tensor in float64."""
    return x.cast("float64").numpy()


def close(got, want, dtype=None, tolerance=None):
    """No element of a tensor misses; NaN and inf are where they are in the reference."""
    of_type = dtype or got.dtype.name
    assert got.dtype.name == of_type, got.dtype
    got, want = wide(got), np.asarray(want, np.float64)
    assert got.shape == want.shape
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    if finite.any():
        most = np.abs(want[finite]).max()
        atol = (TOLERANCE[of_type] if tolerance is None else tolerance) * most
        np.testing.assert_allclose(got[finite], want[finite], rtol=ROUNDINGS[of_type], atol=atol)


def exact(got, want):
    np.testing.assert_array_equal(got.numpy() if got.dtype.numpy_name else wide(got), want)


def kernels(*tensors):
    """How many kernels compute them together on the current device."""
    return len(strata.compile(list(tensors), target="asm").kernels)


def slope_of(f, arrays, at, place, weights, step=1e-6):
    """The derivative of sum(weights * f) by one element of one array, by central differences in float64."""
    ends = []
    for sign in (1, -1):
        moved = arrays[at].copy()
        moved[place] += sign * step
        ends.append((f(*arrays[:at], moved, *arrays[at + 1 :]) * weights).sum())
    return (ends[0] - ends[1]) / (2 * step)


def check_slopes(f, reference, arrays, dtype="float32", most=24, seed=3):
    """Gradients of a function of tensors are those of the reference, an array of f's shape; at most `most` elements of
    each operand are compared."""
    r = np.random.default_rng(seed)
    tensors = [of(x, dtype) for x in arrays]
    values = [wide(x) for x in tensors]
    weights = r.standard_normal(reference(*values).shape)
    made = strata.grad(lambda *x: (f(*x).cast("float32") * of(weights)).sum(), tuple(range(len(arrays))))(*tensors)
    for at, (got, x) in enumerate(zip(made, values, strict=True)):
        assert (got.dtype.name, got.shape) == (dtype, x.shape)
        found = wide(got)
        assert np.isfinite(found).all()
        flat = r.permutation(x.size)[:most]
        want = [slope_of(reference, values, at, np.unravel_index(i, x.shape), weights) for i in flat]
        scale = np.abs(found).max()
        np.testing.assert_allclose(found.reshape(-1)[flat], want, rtol=ROUNDINGS[dtype], atol=SLOPES[dtype] * scale)
