#!/usr/bin/env python3
"""A linear regression by hand: its gradient is written out, its step is captured, the exact answer stands beside it.

Look at the launches of a step: it is traced twice, and after that it is a list of kernels.
"""

import numpy as np
import strata
from strata import Tensor

strata.manual_seed(2)
points, features = 512, 5
true = np.array([1.5, -2.0, 0.5, 3.0, -1.0], np.float32)
x = Tensor.randn(points, features).realize()
y = (x @ Tensor(true) + 0.25 + Tensor.randn(points) * 0.1).realize()
weight, bias = Tensor.zeros(features).contiguous().realize(), Tensor([0.0])


@strata.jit
def step(rate):
    """One step down the slope of the mean square of what is wrong; gives that mean."""
    wrong = x @ weight + bias - y
    weight.assign(weight - x.T @ wrong * (2 * rate / points))
    bias.assign(bias - wrong.mean(keepdims=True) * 2 * rate)
    return wrong.square().mean()


for i in range(61):
    error = step(Tensor(0.1))
    if i % 10 == 0:
        print(f"step {i:3d}  error {error.item():8.5f}  bias {bias.item():6.3f}  {'#' * round(error.item() * 3)}")

exact = np.linalg.lstsq(np.c_[x.numpy(), np.ones(points)], y.numpy(), rcond=None)[0]
print("by steps ", np.round(weight.numpy(), 3), np.round(bias.numpy(), 3))
print("exactly  ", np.round(exact[:-1], 3), np.round(exact[-1:], 3))
print(f"{step.launches} kernels a step, captured {step.captures} time")
assert np.abs(np.append(weight.numpy(), bias.numpy()) - exact).max() < 1e-3 and step.captures == 1
