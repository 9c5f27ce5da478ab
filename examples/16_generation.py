#!/usr/bin/env python3
"""A model of Llama's kind reads its weights from safetensors and writes tokens, with keys and values in a cache.

    examples/run generation [FILE.safetensors [TOKENS]]     weights by Llama's names; random ones without a file
Look at the two lines of tokens, which are equal. With the cache each step reads one token, without it reads all.
"""

import json
import sys
import tempfile
from pathlib import Path

import strata
from strata import Tensor, nn
from strata.nn import Embedding, Linear, RMSNorm


class MLP(nn.Module):
    def __init__(self, width, inner):
        self.gate_proj, self.up_proj = (Linear(width, inner, False) for _ in range(2))
        self.down_proj = Linear(inner, width, False)

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
        self.embed_tokens, self.lm_head = Embedding(words, width), Linear(width, words, False)
        self.norm = RMSNorm(width, 1e-5)
        self.layers = [Layer(width, heads, kv_heads, inner) for _ in range(layers)]

    def forward(self, ids, caches):
        x = self.embed_tokens(ids)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache)
        return self.lm_head(self.norm(x[:, -1:]))

    @strata.no_grad()
    def generate(self, prompt, count, cached=True):  # the likeliest tokens that follow
        tokens, caches = list(prompt), [nn.KVCache() if cached else None for _ in self.layers]
        for _ in range(count):
            seen = tokens[len(caches[0]) if cached else 0 :]
            tokens.append(self(Tensor([seen]), caches).argmax(-1).item())
        return tokens


def renamed(name, parts):
    return ".".join(parts.get(part, part) for part in name.split("."))


PARTS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "o_proj": "out"}  # Llama's names of what attention has
SIZES = {"words": 64, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "inner": 64}
path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "random.safetensors"
if len(sys.argv) < 2:
    strata.manual_seed(1)
    theirs = {ours: name for name, ours in PARTS.items()}
    state = {"model." + renamed(name, theirs): t for name, t in Llama(**SIZES).state_dict().items()}
    strata.save(path, state, {"sizes": json.dumps(SIZES)})
file = strata.load(path)
model = Llama(**json.loads(file.metadata["sizes"]))
model.load_state_dict({renamed(name.removeprefix("model."), PARTS): t for name, t in file.items()})
count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
with_cache, without = (model.generate([1, 5, 9], count, cached) for cached in (True, False))
print(f"{len(file)} tensors, {sum(p.size for p in model.parameters())} numbers from {path.name}")
print("with a cache:   ", *with_cache)
print("without a cache:", *without)
assert with_cache == without
