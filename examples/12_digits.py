#!/usr/bin/env python3
"""Handwritten digits classified by a small convolutional net, trained on the emulated GPU.

Needs scikit-learn, for the digits.
    examples/run digits [STEPS]      300 by default, about a minute on two cores
Look at the last table: what each digit was taken for.
"""

import sys

import numpy as np
import strata
from strata import Tensor, nn, optim
from training import plot, steps

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("the digits come with scikit-learn: .venv/bin/pip install scikit-learn")

count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
strata.manual_seed(0)
rng = np.random.default_rng(0)
digits = load_digits()
order = rng.permutation(len(digits.target))
images = (digits.images[order, None] / 16).astype(np.float32)  # (1797, 1, 8, 8)
labels = digits.target[order]
seen, kept = images[:1437], images[1437:]

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10),
)  # fmt: skip
step = optim.AdamW(net.parameters(), optim.cosine(4e-3, count, warmup=10))
losses = []
for _ in steps(count, "training"):
    batch = rng.integers(0, len(seen), 64)
    loss = nn.cross_entropy(net(Tensor(seen[batch])), Tensor(labels[batch]))
    loss.backward()
    step()
    losses.append(loss.item())

plot(losses, "digits", "digits.png")
guess = net.eval()(Tensor(kept)).argmax(1).numpy()
right = (guess == labels[1437:]).mean()
table = np.zeros((10, 10), int)
np.add.at(table, (labels[1437:], guess), 1)
print("     " + "".join(f"{d:4d}" for d in range(10)) + "   <- taken for")
for d in range(10):
    print(f"{d:4d} " + "".join(f"{n:4d}" if n else "   ." for n in table[d]))
print(
    f"{len(net.parameters())} tensors of parameters, {count} steps: {right:.1%} of {len(kept)} digits that it "
    "never saw are right"
)
assert right > 0.95 or count < 200
