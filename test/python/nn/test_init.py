"""Initial values of parameters: their ranges, means and deviations, against what their papers say."""

import math

import numpy as np
import pytest
import strata
from strata import nn

SHAPE = (200, 50, 3)  # fans of 150 and 600
BOUNDS = {
    "xavier_uniform": math.sqrt(6 / 750),
    "kaiming_uniform": math.sqrt(6 / 150),
    "uniform": None,
}
DEVIATIONS = {"xavier_normal": math.sqrt(2 / 750), "kaiming_normal": math.sqrt(2 / 150), "normal": 1.0}


@pytest.mark.parametrize("name", BOUNDS)
def test_uniform_ones_fill_their_range(name):
    strata.manual_seed(1)
    low, high = (0, 1) if name == "uniform" else (-BOUNDS[name], BOUNDS[name])
    x = getattr(nn.init, name)(SHAPE).numpy()
    assert x.shape == SHAPE and x.min() >= low and x.max() <= high
    np.testing.assert_allclose(
        [x.mean(), x.std()], [(low + high) / 2, (high - low) / math.sqrt(12)], atol=0.02 * (high - low)
    )


@pytest.mark.parametrize("name", DEVIATIONS)
def test_normal_ones_have_their_deviation(name):
    strata.manual_seed(2)
    x = getattr(nn.init, name)(SHAPE).numpy().astype(np.float64) / DEVIATIONS[name]
    assert abs(x.mean()) < 0.03
    np.testing.assert_allclose([x.std(), (x**4).mean()], [1, 3], rtol=0.05)  # kurtosis: it is a normal one


def test_the_slope_of_a_leaky_rectifier_and_gains_scale():
    strata.manual_seed(3)
    plain = nn.init.kaiming_normal(SHAPE).numpy()
    strata.manual_seed(3)
    np.testing.assert_allclose(nn.init.kaiming_normal(SHAPE, a=1.0).numpy(), plain / math.sqrt(2), rtol=1e-6)
    strata.manual_seed(3)
    once = nn.init.xavier_uniform(SHAPE).numpy()
    strata.manual_seed(3)
    np.testing.assert_allclose(nn.init.xavier_uniform(SHAPE, gain=2.0).numpy(), 2 * once, rtol=1e-5, atol=1e-7)


def test_constants():
    assert (nn.init.zeros((2, 3)).numpy() == 0).all() and (nn.init.ones((2, 3)).numpy() == 1).all()
