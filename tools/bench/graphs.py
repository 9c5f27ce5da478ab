"""strata bench compile, of whole graphs: what scheduling costs when a structure is new, and when it was seen before."""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from . import aims, peer

WIDTH, HEADS, LENGTH, BATCH, WORDS = 128, 4, 64, 2, 256  # of the transformer


def elapsed_ms(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


class Transformer:
    """Forward only: embedding, layers of LayerNorm, causal attention and a GELU perceptron, head."""

    def __init__(self, layers, filled=False):
        import strata

        def weight(*shape):
            return (strata.Tensor.rand(*shape) * 0.1 - 0.05).realize() if filled else strata.Tensor.empty(*shape)

        d = WIDTH
        self.words, self.places, self.head = weight(WORDS, d), weight(LENGTH, d), weight(WORDS, d)
        self.norm = weight(d), weight(d)
        shapes = {
            "norm1": (d,),
            "bias1": (d,),
            "qkv": (3 * d, d),
            "out": (d, d),
            "norm2": (d,),
            "bias2": (d,),
            "up": (4 * d, d),
            "up_bias": (4 * d,),
            "down": (d, 4 * d),
            "down_bias": (d,),
        }
        self.layers = [{name: weight(*shape) for name, shape in shapes.items()} for _ in range(layers)]

    def __call__(self, tokens):
        from strata import nn

        x = self.words.take(tokens, 0) + self.places
        for p in self.layers:
            qkv = nn.linear(nn.layernorm(x, weight=p["norm1"], bias=p["bias1"]), p["qkv"])
            q, k, v = (qkv.reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)[i] for i in range(3))
            seen = nn.scaled_dot_product_attention(q, k, v, causal=True)
            x = x + nn.linear(seen.permute(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH), p["out"])
            inner = nn.linear(nn.layernorm(x, weight=p["norm2"], bias=p["bias2"]), p["up"], p["up_bias"]).gelu()
            x = x + nn.linear(inner, p["down"], p["down_bias"])
        return nn.linear(nn.layernorm(x, weight=self.norm[0], bias=self.norm[1]), self.head)


def tokens(seed):
    import numpy as np
    import strata

    return strata.Tensor(np.random.default_rng(seed).integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32))


def cost_ms(make):
    """Milliseconds of building a graph and of all of its realization but running kernels, those of them that compiled
    kernels, and how many ran.
    """
    import strata

    strata.reset_stats()
    start = time.perf_counter()
    make().realize()
    all_ms = (time.perf_counter() - start) * 1e3
    s = strata.stats()
    return all_ms - s.wall_ms, s.compile_ms, s.kernels


def in_text(layers, repeat):
    """Graph to text, nothing known of it: (ms, kernels, different ones). Each time over a model of its own."""
    from strata import _strata

    times = []
    for seed in range(repeat):
        y = Transformer(layers)(tokens(seed))
        texts = []
        times.append(elapsed_ms(lambda y=y, texts=texts: texts.extend(_strata._render_only([y]))))
    return statistics.median(times), len(texts), len(set(texts))


FRESH_PROCESS = """\
import json, strata
from strata_tools.bench import graphs
model = graphs.Transformer(12, filled=True)
(graphs.tokens(0) + 1).realize()
first = graphs.cost_ms(lambda: model(graphs.tokens(1)))
again = [graphs.cost_ms(lambda: model(graphs.tokens(seed)))[0] for seed in range(2, 2 + {repeat})]
s = strata.stats()
print(json.dumps([*first, again, s.peak_bytes - s.live_bytes]))
"""


def in_processes(repeat):
    """The transformer in a process with an empty cache, then in another with what that left."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "STRATA_CACHE_DIR": folder, "STRATA_EMU_TIMED": "0"}
        code = FRESH_PROCESS.replace("{repeat}", str(repeat))
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-P", "-c", code], env=env, check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(2)
        ]
    (new_ms, compile_ms, launches, again, beyond), (from_disk_ms, _, _, again_too, _) = runs
    return {
        "schedule_and_load_ms": new_ms - compile_ms,
        "compile_ms": compile_ms,
        "again_ms": statistics.median(again + again_too),
        "in_a_new_process_ms": from_disk_ms,
        "launches": launches,
        "bytes_between_kernels": beyond,
    }


def transformer(quick):
    text_ms, kernels, different = in_text(12, 2 if quick else 5)
    twice_ms = in_text(24, 1 if quick else 5)[0]
    out = {
        "to_text_ms": text_ms,
        "kernels": kernels,
        "different_kernels": different,
        "24_layers_to_12": twice_ms / text_ms,
    }
    return out | in_processes(2 if quick else 9)


def small(quick):
    import strata

    many = 20 if quick else 200

    def fresh_sum(i):
        return strata.Tensor([float(i), 2.0, 3.0]).sum().item()

    x = strata.Tensor.rand(1 << 10).realize()
    numbers, compiled = [], []
    for i in range(many):
        strata.reset_stats()
        numbers.append(elapsed_ms(lambda i=i: (x + (i + 0.5)).sum().item()))
        compiled.append(strata.stats().compile_ms > 0)
    fresh = [elapsed_ms(lambda i=i: fresh_sum(i)) for i in range(many)]
    first, second, third = numbers[:3]
    return {
        "sum_of_a_fresh_buffer_us": statistics.median(fresh[3:]) * 1e3,
        "sum_with_a_new_number_us": statistics.median(numbers[3:]) * 1e3,
        "first_number_ms": first,
        "second_number_ms": second,
        "third_number_ms": third,
        "compilations_from_the_third_number": sum(compiled[2:]),
    }


def large(quick):
    import strata

    count, length = (500, 10_000) if quick else (5_000, 100_000)
    parts = [strata.Tensor([float(i % 7)]).realize() for i in range(count)]

    def total():
        y = parts[0]
        for p in parts[1:]:
            y = y + p
        return y

    def chain():
        y = parts[1]
        for i in range(length):
            y = y + parts[i % 2] if i % 2 else y * 0.5
        return y

    with strata.config(emu_timed=False):
        sums, chains = (
            [elapsed_ms(lambda: total().realize()) for _ in range(2)],
            [elapsed_ms(lambda: chain().realize()) for _ in range(2)],
        )
    return {
        f"sum_of_{count}_tensors_ms": sums[0],
        f"sum_of_{count}_tensors_again_ms": sums[1],
        f"chain_of_{length}_ms": chains[0],
        f"chain_of_{length}_again_ms": chains[1],
    }


def of_peer(part, device, repeat):
    """A part of these figures in tinygrad, with a C compiler for its kernels on the host."""
    env = {"CC": shutil.which("clang-19") or "clang", **os.environ, "DEV": device}
    sizes = [repeat, WIDTH, HEADS, LENGTH, BATCH, WORDS]
    run = subprocess.run(
        [sys.executable, peer.__file__, part, *map(str, sizes)], env=env, capture_output=True, text=True
    )
    return (
        json.loads(run.stdout)
        if run.returncode == 0
        else {"error": (run.stderr.strip().splitlines() or ["it ended"])[-1]}
    )


def tinygrad(quick):
    """The same rows where tinygrad is installed beside Strata."""
    rows = {part: of_peer(part, peer.PARTS[part][1], 2 if quick else 20) for part in ("transformer", "small")}
    return {"version": importlib.metadata.version("tinygrad"), **rows}


def rounded(value):
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def bench_graphs(quick):
    out = {"transformer": transformer(quick), "small": small(quick), "large": large(quick)}
    if importlib.util.find_spec("tinygrad"):
        out["tinygrad"] = tinygrad(quick)
    return rounded(out)


def table(result):
    """The result of bench_graphs for people, tinygrad's beside Strata's; before it what the compiler is held to, where
    that was measured.
    """
    peers = result.get("tinygrad", {})
    lines = ["", aims.table(result["aims"])] if "aims" in result else []
    for part in ("transformer", "small", "large"):
        rows, beside = result.get(part, {}), peers.get(part, {})
        if not rows:
            continue
        heading = f"{'strata':>12}" + (f" {'tinygrad':>12}" if beside else "")
        lines += ["", f"{part:46s} {heading}"]
        lines += [
            f"  {name.replace('_', ' '):44s} {value:>12}" + (f" {beside[name]:>12}" if name in beside else "")
            for name, value in rows.items()
        ]
        if "error" in beside:
            lines.append(f"  tinygrad: {beside['error']}")
    return "\n".join(lines[1:])
