"""The transformer of graphs.py in tinygrad, where that is installed: run as a program, since its settings are the process's."""

import json
import random
import statistics
import sys
import time


def model(layers, width, heads, length, batch, words):
    from tinygrad import Tensor

    def weight(*shape):
        return (Tensor.rand(*shape) * 0.1 - 0.05).realize()

    def norm(x, gain, bias):
        return x.layernorm() * gain + bias

    d = width
    table, places, head, last = weight(words, d), weight(length, d), weight(words, d), (weight(d), weight(d))
    shapes = {"norm1": (d,), "bias1": (d,), "qkv": (3 * d, d), "out": (d, d), "norm2": (d,), "bias2": (d,),
              "up": (4 * d, d), "up_bias": (4 * d,), "down": (d, 4 * d), "down_bias": (d,)}
    weights = [{name: weight(*shape) for name, shape in shapes.items()} for _ in range(layers)]

    def forward(tokens):
        x = table[tokens] + places
        for p in weights:
            qkv = norm(x, p["norm1"], p["bias1"]).matmul(p["qkv"].T).reshape(batch, length, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            seen = qkv[0].scaled_dot_product_attention(qkv[1], qkv[2], is_causal=True)
            x = x + seen.permute(0, 2, 1, 3).reshape(batch, length, d).matmul(p["out"].T)
            inner = (norm(x, p["norm2"], p["bias2"]).matmul(p["up"].T) + p["up_bias"]).gelu()
            x = x + inner.matmul(p["down"].T) + p["down_bias"]
        return norm(x, *last).matmul(head.T)

    return forward


def main(repeat, *sizes):
    import importlib.metadata

    from tinygrad import Tensor

    forward = model(12, *sizes)
    times, kernels = [], 0
    for _ in range(1 + repeat):
        tokens = Tensor([[random.randrange(sizes[4]) for _ in range(sizes[2])] for _ in range(sizes[3])]).realize()
        start = time.perf_counter()
        kernels = len(forward(tokens).schedule_linear().src)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"version": importlib.metadata.version("tinygrad"), "schedule_first_ms": times[0], "again_ms": statistics.median(times[1:]), "launches": kernels}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
