"""The measurements of graphs.py and train.py, in tinygrad, where that is installed: run as a program, since its
settings are the process's.
"""

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
    weights = [{name: weight(*shape) for name, shape in shapes.items()} for _ in range(layers)]

    def forward(tokens):
        x = table[tokens] + places
        for p in weights:
            qkv = (
                norm(x, p["norm1"], p["bias1"])
                .matmul(p["qkv"].T)
                .reshape(batch, length, 3, heads, d // heads)
                .permute(2, 0, 3, 1, 4)
            )
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
    return {
        "to_text_ms": times[0] + text_ms,
        "kernels": len(schedules[0].src),
        "different_kernels": len(found),
        "schedule_and_load_ms": times[0],
        "again_ms": statistics.median(times[1:]),
    }


def small(repeat, *_):
    """Sums that run, on the host: DEV=CPU."""
    from tinygrad import Tensor

    x = Tensor.rand(1 << 10).realize()
    numbers = [elapsed_ms(lambda i=i: (x + (i + 0.5)).sum().item()) for i in range(3 + repeat)]
    fresh = [elapsed_ms(lambda i=i: Tensor([float(i), 2.0, 3.0]).sum().item()) for i in range(3 + repeat)]
    first, second, third = numbers[:3]
    return {
        "sum_of_a_fresh_buffer_us": statistics.median(fresh[3:]) * 1e3,
        "sum_with_a_new_number_us": statistics.median(numbers[3:]) * 1e3,
        "first_number_ms": first,
        "second_number_ms": second,
        "third_number_ms": third,
    }


def steps_of(loss_of, parameters, batch, repeat):
    """Steps a second of a captured training step."""
    from tinygrad import Context, GlobalCounters, TinyJit
    from tinygrad.nn.optim import AdamW

    step = AdamW(parameters, lr=4e-3)

    @TinyJit
    def train(x, y):
        step.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        return loss.realize(*step.schedule_step())

    with Context(TRAINING=1):
        for _ in range(4):
            train(*batch).item()
        times = [elapsed_ms(lambda: train(*batch).item()) for _ in range(repeat)]
        GlobalCounters.reset()
        train(*batch).item()
    return {"steps_per_second": 1e3 / statistics.median(times), "kernels": GlobalCounters.kernel_count}


def digits(repeat, *_):
    """The model of train.py."""
    from tinygrad import Tensor, nn
    from tinygrad.nn.state import get_parameters

    from_image, inner, out = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1), nn.Linear(128, 10)

    def loss_of(x, y):
        x = inner(from_image(x).relu().max_pool2d((2, 2))).relu().max_pool2d((2, 2))
        return out(x.flatten(1).dropout(0.2)).sparse_categorical_crossentropy(y)

    return steps_of(
        loss_of,
        get_parameters([from_image, inner, out]),
        (Tensor.rand(64, 1, 8, 8).realize(), Tensor.randint(64, high=10).realize()),
        repeat,
    )


def characters(repeat, *_):
    """The model of train.py, without rotary positions, which tinygrad has no function for."""
    from tinygrad import Tensor, nn
    from tinygrad.nn.state import get_parameters

    width, heads, length, batch, letters = 64, 4, 32, 16, 96

    class Block:
        def __init__(self):
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def __call__(self, x):
            h = self.before(x)
            q, k, v = (
                f(h).reshape(batch, length, heads, width // heads).transpose(1, 2)
                for f in (self.query, self.key, self.value)
            )
            seen = q.scaled_dot_product_attention(k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(self.up(self.between(x)).gelu())

    embedding, blocks, last, head = (
        nn.Embedding(letters, width),
        [Block() for _ in range(2)],
        nn.LayerNorm(width),
        nn.Linear(width, letters),
    )

    def loss_of(x, y):
        return (
            head(last(embedding(x).sequential(blocks)))
            .reshape(-1, letters)
            .sparse_categorical_crossentropy(y.flatten())
        )

    ids = Tensor.randint(batch, length + 1, high=letters).realize()
    return steps_of(
        loss_of,
        get_parameters([embedding, blocks, last, head]),
        (ids[:, :-1].contiguous().realize(), ids[:, 1:].contiguous().realize()),
        repeat,
    )


PARTS = {
    "transformer": (transformer, "NULL:HIP:gfx1100"),
    "small": (small, "CPU"),
    "digits": (digits, "CPU"),
    "characters": (characters, "CPU"),
}


def main(part, *numbers):
    print(json.dumps(PARTS[part][0](*map(int, numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
