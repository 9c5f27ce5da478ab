#!/usr/bin/env python3
"""A model of Llama's kind reads its weights from safetensors and writes token by token, with keys and values in a cache.

    examples/run generation [FILE.safetensors [TOKENS]]     weights by Llama's names; small random ones if no file is given
Look at the two lines of tokens: with the cache, where each step reads one token, and without, where it reads all: they are equal.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import strata
from strata import Tensor, nn
from strata.nn import Embedding, Linear, RMSNorm


class MLP(nn.Module):
    def __init__(self, width, inner):
        self.gate_proj, self.up_proj, self.down_proj = (
            Linear(width, inner, False),
            Linear(width, inner, False),
            Linear(inner, width, False),
        )

    def forward(self, x):
        return self.down_proj(self.gate_proj(x).silu() * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(width, 1e-5), RMSNorm(width, 1e-5)
        self.self_attn = nn.MultiheadAttention(width, heads, kv_heads, causal=True, rope=10000.0, bias=False)
        self.mlp = MLP(width, inner)

    def forward(self, x, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), cache=cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, words, width, layers, heads, kv_heads, inner):
        self.embed_tokens, self.norm, self.lm_head = (
            Embedding(words, width),
            RMSNorm(width, 1e-5),
            Linear(width, words, False),
        )
        self.layers = [Layer(width, heads, kv_heads, inner) for _ in range(layers)]

    def forward(self, ids, caches):
        x = self.embed_tokens(ids)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache)
        return self.lm_head(self.norm(x[:, -1:]))

    def generate(self, prompt, count, cached=True):
        """The likeliest tokens that follow."""
        tokens, caches = list(prompt), [nn.KVCache() if cached else None for _ in self.layers]
        for _ in range(count):
            seen = tokens[len(caches[0]) if cached else 0 :]
            with strata.no_grad():
                tokens.append(self(Tensor([seen]), caches).argmax(-1).item())
        return tokens


PARTS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "o_proj": "out"}  # Llama's names of what attention has
SIZES = {"words": 64, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "inner": 64}
path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "random.safetensors"
if len(sys.argv) < 2:
    strata.manual_seed(1)
    theirs = {ours: name for name, ours in PARTS.items()}
    state = {
        "model." + ".".join(theirs.get(p, p) for p in n.split(".")): t for n, t in Llama(**SIZES).state_dict().items()
    }
    strata.save(path, state, {"sizes": json.dumps(SIZES)})
file = strata.load(path)
model = Llama(**json.loads(file.metadata["sizes"]))
model.load_state_dict(
    {".".join(PARTS.get(part, part) for part in n.removeprefix("model.").split(".")): t for n, t in file.items()}
)
count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
numbers = sum(math.prod(shape) for shape in file.shapes.values())
with_cache, without = (model.generate([1, 5, 9], count, cached) for cached in (True, False))
print(f"{len(file)} tensors, {numbers} numbers from {path.name}")
print("with a cache:   ", *with_cache)
print("without a cache:", *without)
assert with_cache == without
