"""The model of the types that NumPy lacks, against what is published about them."""

import numpy as np
import pytest
from formats import LISTED, encode, finite_magnitudes, rounded, values_of
from strata import dtypes


@pytest.mark.parametrize(
    "name, largest, smallest",
    [
        ("fp8e4m3", 448.0, 2.0**-9),
        ("fp8e5m2", 57344.0, 2.0**-16),
        ("fp8e4m3fnuz", 240.0, 2.0**-10),
        ("fp8e5m2fnuz", 57344.0, 2.0**-17),
        ("bfloat16", 3.3895313892515355e38, 2.0**-133),
    ],
)
def test_largest_and_smallest_values(name, largest, smallest):
    assert finite_magnitudes(name)[-1] == largest
    assert finite_magnitudes(name)[1] == smallest


@pytest.mark.parametrize("name", LISTED)
def test_every_value_encodes_to_its_own_code(name):
    values = values_of(name)
    numbers = ~np.isnan(values)
    assert (encode(name, values)[numbers] == np.arange(len(values))[numbers]).all()


def test_bfloat16_rounds_like_the_upper_half_of_float32():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    bits = x.view(np.uint32).astype(np.uint64)
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    assert (encode("bfloat16", x) == upper).all()


def test_the_package_knows_every_type():
    assert len(dtypes.all) == 17
    assert {t.name for t in dtypes.all} >= set(LISTED)
    assert dtypes.float32.itemsize == 4 and dtypes.fp8e4m3.bits == 8 and dtypes.bfloat16.numpy_name == ""
    assert rounded("fp8e4m3", 464.0) == 448.0 and np.isnan(rounded("fp8e4m3", 465.0))
