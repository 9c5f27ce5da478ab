#!/usr/bin/env python3
"""A small GPT learns this project's pages character by character, and then writes, on the emulated GPU.

    examples/run characters [STEPS]      200 by default, about a minute on two cores
Look at the text at the end: words and spelling come first, sense much later.
"""

import sys
from pathlib import Path

import numpy as np
import strata
from strata import Tensor, nn, optim
from training import plot, steps

count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
strata.manual_seed(0)
rng = np.random.default_rng(0)
root = Path(__file__).parents[1]
text = "".join(page.read_text() for page in (root / "README.md", *sorted(root.glob("docs/*.md"))))
letters = sorted(set(text))
data = np.array([letters.index(c) for c in text])
WIDTH, HEADS, LAYERS, LENGTH, BATCH = 64, 4, 2, 32, 16


class Block(nn.Module):
    def __init__(self):
        self.before, self.attention = nn.LayerNorm(WIDTH), nn.MultiheadAttention(WIDTH, HEADS, causal=True, rope=1000.0)
        self.between = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache=None):
        x = x + self.attention(self.before(x), cache=cache)
        return x + self.mlp(self.between(x))


class GPT(nn.Module):
    def __init__(self):
        self.embedding, self.blocks = nn.Embedding(len(letters), WIDTH), [Block() for _ in range(LAYERS)]
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(letters))

    def forward(self, ids, caches=(None,) * LAYERS):
        x = self.embedding(ids)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.head(self.last(x))


model = GPT()
step = optim.AdamW(model.parameters(), optim.cosine(4e-3, count, warmup=10))
losses = []
for _ in steps(count, "training"):
    start = rng.integers(0, len(data) - LENGTH - 1, BATCH)[:, None] + np.arange(LENGTH)
    loss = nn.cross_entropy(model(Tensor(data[start])).reshape(-1, len(letters)), Tensor(data[start + 1].reshape(-1)))
    loss.backward()
    step()
    losses.append(loss.item())
plot(losses, "characters", "characters.png")

caches, ids, written = [nn.KVCache() for _ in range(LAYERS)], data[None, :8], "".join(letters[i] for i in data[:8])
for _ in range(min(count, 64)):
    weights = (model(Tensor(ids), caches)[0, -1] / 0.7).softmax(-1).numpy().astype(np.float64)
    ids = rng.choice(len(letters), (1, 1), p=weights / weights.sum())
    written += letters[ids[0, 0]]
print(
    f"{len(letters)} characters, loss {losses[0]:.2f} -> {np.mean(losses[-5:]):.2f} after {count} steps; it "
    f"writes:\n{written}"
)
assert np.mean(losses[-5:]) < losses[0]
