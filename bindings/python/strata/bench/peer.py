"""What graphs.py measures, in tinygrad, where that is installed: run as a program, since its settings are the process's."""

import json
import random
import statistics
import sys
import time


def model(layers, width, heads, length, batch, words):
    from tinygrad import Tensor

    def weight(*shape):
        return Tensor.empty(*shape)

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


def elapsed_ms(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


class NoCompiler:
    def compile_cached(self, _):
        return b""


def texts(linear):
    """HIP text of each different kernel of a schedule."""
    from tinygrad import Device
    from tinygrad.codegen import do_to_program
    from tinygrad.uop.ops import Ops

    renderer = Device[Device.DEFAULT].renderer
    renderer.compiler = NoCompiler()
    different = {call.src[0].key: call.src[0] for call in linear.src if call.src[0].op is Ops.SINK}
    return {key: do_to_program(kernel, renderer).src[2].arg for key, kernel in different.items()}


def transformer(repeat, *sizes):
    """Graph to schedule, and to text, for a 7900 XTX that is not there: DEV=NULL:HIP:gfx1100. Nothing runs."""
    from tinygrad import Tensor

    def tokens():
        return Tensor([[random.randrange(sizes[4]) for _ in range(sizes[2])] for _ in range(sizes[3])]).realize()

    forward = model(12, *sizes)
    schedules, times, found = [], [], {}
    for _ in range(1 + repeat):
        x = tokens()
        times.append(elapsed_ms(lambda x=x: schedules.append(forward(x).schedule_linear())))
    text_ms = elapsed_ms(lambda: found.update(texts(schedules[0])))
    return {"to_text_ms": times[0] + text_ms, "kernels": len(schedules[0].src), "different_kernels": len(found),
            "schedule_and_load_ms": times[0], "again_ms": statistics.median(times[1:])}


def small(repeat, *_):
    """Sums that run, on the host: DEV=CPU."""
    from tinygrad import Tensor

    x = Tensor.rand(1 << 10).realize()
    numbers = [elapsed_ms(lambda i=i: (x + (i + 0.5)).sum().item()) for i in range(3 + repeat)]
    fresh = [elapsed_ms(lambda i=i: Tensor([float(i), 2.0, 3.0]).sum().item()) for i in range(3 + repeat)]
    first, second, third = numbers[:3]
    return {"sum_of_a_fresh_buffer_us": statistics.median(fresh[3:]) * 1e3, "sum_with_a_new_number_us": statistics.median(numbers[3:]) * 1e3,
            "first_number_ms": first, "second_number_ms": second, "third_number_ms": third}


PARTS = {"transformer": (transformer, "NULL:HIP:gfx1100"), "small": (small, "CPU")}


def main(part, *numbers):
    print(json.dumps(PARTS[part][0](*map(int, numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
