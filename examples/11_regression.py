#!/usr/bin/env python3
"""A line through points by gradient descent, with nothing but tensors and their gradients.

Look at the graph of the derivative: it is an expression like any other, and one kernel computes a step.
"""

import strata
from strata import Tensor

strata.manual_seed(1)
x = Tensor.rand(4096).realize()
y = (x * 3.0 - 1.0 + Tensor.randn(4096) * 0.1).realize()
weight, bias = Tensor([0.0]).requires_grad_(), Tensor([0.0]).requires_grad_()


def loss():
    return (x * weight + bias - y).square().mean()


for step in range(101):
    weight.grad = bias.grad = None
    error = loss()
    error.backward()
    weight.assign(weight - weight.grad * 0.5)
    bias.assign(bias - bias.grad * 0.5)
    strata.realize([weight, bias])
    if step % 20 == 0:
        value = error.item()
        print(
            f"step {step:3d}  loss {value:8.5f}  y = {weight.item():6.3f} x + {bias.item():6.3f}  "
            f"{'#' * round(value * 40)}"
        )

# The same as a function of functions; its second derivative by the bias is that of a square's mean.
slope = strata.grad(lambda b: (x * 3.0 + b - y).square().mean())
curvature = strata.grad(lambda b: slope(b).sum())(Tensor([0.0])).item()
print(f"the derivative by the bias at 0 is {slope(Tensor([0.0])).item():.3f}, the second one {curvature:.3f}")
assert abs(weight.item() - 3) < 0.1 and abs(bias.item() + 1) < 0.1 and abs(curvature - 2) < 1e-5
