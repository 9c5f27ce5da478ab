"""Casts between all types, bit casts."""

import math

import numpy as np
import pytest
import strata
from formats import (
    ALL,
    FLOATS,
    INTEGERS,
    LISTED,
    array,
    code_type,
    dtype_of,
    native,
    rounded,
    special_values,
    tensor,
    ulps,
)
from strata import Tensor, dtypes


def odd_double(n):
    """An integer as float64; where it does not fit, the neighbour with an odd mantissa: rounding that again is
    right.
    """
    f = float(n)
    error = n - int(f)
    if error == 0 or not np.float64(f).view(np.uint64) % 2 == 0:
        return f
    return math.nextafter(f, math.inf if error > 0 else -math.inf)


def truncated(x, name):
    info = np.iinfo(name)
    if math.isnan(x):
        return 0
    return int(min(max(x if math.isinf(x) else math.trunc(x), info.min), info.max))


def expected_cast(x, source, target):
    if target == "boolean":
        return x != 0
    if target in INTEGERS:
        return np.array([truncated(float(v), target) for v in x], target) if source in FLOATS else x.astype(target)
    if target in LISTED and source in INTEGERS:
        return rounded(target, [odd_double(int(v)) for v in x])
    return rounded(target, x)


@pytest.mark.parametrize("source", ALL)
def test_cast_to_every_type(source, rng):
    x = special_values(source, rng, 60)
    if source in FLOATS:
        edges = [
            s * v
            for v in (
                126.9,
                127.5,
                128.0,
                255.5,
                256.0,
                32767.5,
                65504.0,
                65519.0,
                65520.0,
                2.0**31,
                2.0**32,
                2.0**63,
                2.0**64,
                464.0,
                465.0,
                1e-9,
            )
            for s in (1, -1)
        ]
        x = np.concatenate([x, rounded(source, edges)])
    if source == "float64":  # a first rounding to float32 would make ties of these
        x = np.concatenate(
            [
                x,
                [
                    1 + 2.0**-8 + 2.0**-40,
                    1 + 2.0**-11 + 2.0**-40,
                    1.0625 + 2.0**-40,
                    1 + 2.0**-24 + 2.0**-50,
                    1.125 - 2.0**-40,
                ],
            ]
        )
    if source in ("int64", "uint64"):
        x = np.concatenate(
            [x, np.array([2**40 + 2**31 + 1, 2**56 + 2**47 + 1, 2**62 + 2**38 + 1, 2**62 + 2**54 + 1], source)]
        )
    t = tensor(source, x).realize()
    results = {target: t.cast(dtype_of(target)) for target in ALL}
    strata.realize([r for target, r in results.items() if target != source])
    problems = []
    for target, r in results.items():
        assert r.dtype == dtype_of(target) and r.shape == x.shape
        got, expected = array(r), expected_cast(x, source, target)
        bad = ulps(target, got, expected) != 0 if target in FLOATS else got != expected
        if target in FLOATS:
            bad |= (np.signbit(got) != np.signbit(expected)) & ~np.isnan(expected)
        problems += [
            f"{source} {v!r} to {target}: {g!r}, expected {e!r}"
            for v, g, e in list(zip(x[bad], got[bad], expected[bad]))[:3]
        ]
    assert not problems, "\n".join(problems)


def test_narrow_types_round_trip_through_wider_ones():
    for name in LISTED:
        codes = np.arange(1 << 8 * code_type(name).itemsize, dtype=code_type(name))
        t = Tensor(codes).bitcast(dtype_of(name))
        back = (
            t.cast(dtypes.float32)
            .cast(dtype_of(name))
            .bitcast(dtypes.uint8 if codes.itemsize == 1 else dtypes.uint16)
            .numpy()
        )
        numbers = ~np.isnan(array(t))
        assert (back[numbers] == codes[numbers]).all(), name


def test_bitcasts_keep_bits(rng):
    by_width = {}
    for name in ALL:
        if name != "boolean":
            by_width.setdefault(dtype_of(name).bits, []).append(name)
    for bits, names in by_width.items():
        codes = rng.integers(0, 1 << min(bits, 63), 50).astype(f"uint{bits}")
        there = [Tensor(codes).bitcast(dtype_of(n)) for n in names]
        back = [t.contiguous().bitcast(dtype_of(f"uint{bits}")) for t in there]
        strata.realize(back)
        for name, t in zip(names, back):
            assert (t.numpy() == codes).all(), name
        for t in there:
            if native(t.dtype.name):
                np.testing.assert_array_equal(t.numpy(), codes.view(t.dtype.numpy_name))
    with pytest.raises(strata.DTypeError, match="float32 to int16"):
        Tensor([1.0]).bitcast("int16")


def test_ways_to_name_a_type():
    x = Tensor([1.5, -2.5])
    for spelling in (dtypes.int32, "int32", np.int32, np.dtype("int32")):
        assert x.cast(spelling).dtype == dtypes.int32
    assert (
        x.cast(int).dtype == dtypes.int64
        and x.cast(float).dtype == dtypes.float32
        and x.cast(bool).dtype == dtypes.bool
    )
    assert x.cast("int32").tolist() == [1, -2] and x.astype("float64").tolist() == [1.5, -2.5]
    with pytest.raises(strata.DTypeError, match="float31"):
        x.cast("float31")
    assert dtypes.float32 == "float32" and dtypes.float32 != dtypes.float64 and dtypes.float32 is not None
    assert len({dtypes.float32, dtypes.float64, dtypes.float32}) == 2
