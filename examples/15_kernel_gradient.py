#!/usr/bin/env python3
"""A kernel of your own inside a model, with its gradient: an activation in HIP, whose derivative is another kernel.

Look at the two kernels: the second takes what arrives at the result of the first and gives what arrives at its
argument.
"""

import numpy as np
import strata
from strata import Tensor, nn, optim

SOURCE = """
#include <hip/hip_runtime.h>
// x * tanh(log(1 + e^x)), known as Mish; n elements.
extern "C" __global__ void mish(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * tanhf(log1pf(expf(x[i])));
}
extern "C" __global__ void mish_back(float* to_x, const float* g, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = tanhf(log1pf(expf(x[i]))), s = 1 / (1 + expf(-x[i]));
    to_x[i] = g[i] * (t + x[i] * s * (1 - t * t));
}
"""


def launch(name, like, *inputs):
    """The kernel of that name over as many elements as `like` has."""
    kernel = strata.hip_kernel(SOURCE, name=name, grid=-(-like.size // 64), block=64)
    return lambda grad=None: Tensor.empty(like.shape).custom_kernel(
        *inputs, np.int32(like.size), kernel=kernel, grad=grad
    )[0]


def mish(x):
    return launch("mish", x, x)(grad=lambda g, x, n: (launch("mish_back", x, g, x)(), None))


strata.manual_seed(0)
x = Tensor(np.linspace(-3, 3, 7, dtype=np.float32))
slope = strata.grad(lambda x: mish(x).sum())(x).numpy()
both = [mish(x + d).numpy() for d in (1e-2, -1e-2)]
print("its slope      ", np.round(slope, 3))
print("by differences ", np.round((both[0] - both[1]) / 2e-2, 3))
assert np.abs(slope - (both[0] - both[1]) / 2e-2).max() < 1e-3

points = Tensor.rand(128, 2).realize() * 4 - 2
inside = ((points * points).sum(1) < 2).cast("int64").realize()  # in a circle or not
net = nn.Sequential(nn.Linear(2, 16), mish, nn.Linear(16, 16), mish, nn.Linear(16, 2))
first, second, third = (layer for layer in net.layers if layer is not mish)
step = optim.Adam([p for layer in (first, second, third) for p in layer.parameters()], 3e-2)
for i in range(41):
    loss = nn.cross_entropy(net(points), inside)
    loss.backward()
    step()
    if i % 10 == 0:
        right = (net(points).argmax(1) == inside).cast("float32").mean().item()
        print(f"step {i:3d}  loss {loss.item():.3f}  {right:.0%} of the points are right")
assert right > 0.9
