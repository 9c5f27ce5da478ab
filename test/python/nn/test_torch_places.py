"""Integers for places in functions of torch's names: none counts from the end."""

import numpy as np
import pytest
import strata
import strata.nn.functional as F
from strata import Tensor

# Functions that take integers for places, each with a negative one: torch counts none from the end.
FROM_START = {
    "cross_entropy": lambda at: F.cross_entropy(Tensor(np.ones((1, 3), np.float32)), at),
    "nll_loss": lambda at: F.nll_loss(Tensor(np.ones((1, 3), np.float32)), at),
    "multi_margin_loss": lambda at: F.multi_margin_loss(Tensor(np.ones((1, 3), np.float32)), at),
    "embedding": lambda at: F.embedding(at, Tensor(np.ones((3, 2), np.float32))),
    "embedding_bag": lambda at: F.embedding_bag(at.unsqueeze(0), Tensor(np.ones((3, 2), np.float32))),
}


@pytest.mark.parametrize("name", FROM_START)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_places_are_counted_from_the_start_alone(name, dtype):
    FROM_START[name](Tensor(np.array([2], dtype))).realize()
    for wrong in [3] if dtype == "uint8" else [-1, 3]:
        with pytest.raises(strata.Error, match="index"):
            FROM_START[name](Tensor(np.array([wrong], dtype))).realize()
