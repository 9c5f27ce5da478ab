"""strata bench train: the models of the examples digits and characters, a step at a time. Steps run plain, captured by
strata.jit, and on a device whose launches do nothing, which leaves the host's part. Lists of few kernels are timed so
too. Where tinygrad is installed its steps stand beside them."""

import importlib.util
import statistics
import time

from .graphs import of_peer, rounded

WIDTH, HEADS, LAYERS, LENGTH, BATCH, LETTERS = 64, 4, 2, 32, 16, 96  # of the characters
IMAGES = 64  # digits of a step


def digits():
    """(parameters, loss of a batch, the batch)."""
    from strata import Tensor, nn

    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool((2, 2)), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool((2, 2)),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10),
    )  # fmt: skip
    return (
        net.parameters(),
        lambda x, y: nn.cross_entropy(net(x), y),
        (Tensor.rand(IMAGES, 1, 8, 8), Tensor.randint(0, 10, (IMAGES,))),
    )


def characters():
    import strata
    from strata import Tensor, nn

    class Block(nn.Module):
        def __init__(self):
            self.before, self.attention = (
                nn.LayerNorm(WIDTH),
                nn.MultiheadAttention(WIDTH, HEADS, causal=True, rope=1000.0),
            )
            self.mlp = nn.Sequential(
                nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x):
            x = x + self.attention(self.before(x))
            return x + self.mlp(x)

    net = nn.Sequential(
        nn.Embedding(LETTERS, WIDTH), *[Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS)
    )
    ids = strata.Tensor.randint(0, LETTERS, (BATCH, LENGTH + 1)).realize()
    return (
        net.parameters(),
        lambda x, y: nn.cross_entropy(net(x).reshape(-1, LETTERS), y.flatten()),
        (Tensor(ids[:, :-1].numpy()), Tensor(ids[:, 1:].numpy())),
    )


MODELS = {"digits": digits, "characters": characters}


def stepper(make):
    """A function that makes a training step and computes its loss."""
    import strata
    from strata import optim

    strata.manual_seed(0)
    parameters, loss_of, batch = make()
    step = optim.AdamW(parameters, optim.cosine(4e-3, 1000, warmup=10))
    strata.realize(list(batch))

    def train(x, y):
        loss = loss_of(x, y)
        loss.backward()
        step()
        return loss

    return train, batch


def timed(call, steps, clock):
    """Milliseconds of a call by the clock: the median of some, after those that compile."""
    for _ in range(4):
        call()
    times = []
    for _ in range(steps):
        times.append(elapsed(call, clock) * 1e3)
    return statistics.median(times)


def steps_of(make, captured, steps):
    import strata

    train, batch = stepper(make)
    run = strata.jit(train) if captured else train
    ms = timed(lambda: run(*batch).realize(), steps, time.perf_counter)
    strata.reset_stats()
    run(*batch).realize()
    s = strata.stats()
    return {"steps_per_second": 1e3 / ms, "kernels": s.kernels, "modelled_ms": s.time_ms}


def host_of(make, captured, steps):
    """CPU time of a step and of each of its kernels, where kernels do nothing."""
    import strata

    with strata.config(device="null:gfx1100"):
        train, batch = stepper(make)
        run = strata.jit(train) if captured else train
        ms = timed(lambda: run(*batch).realize(), steps, time.process_time)
        strata.reset_stats()
        run(*batch).realize()
        return {"host_ms": ms, "host_us_per_kernel": ms * 1e3 / strata.stats().kernels}


def host_of_list(length, loops):
    """CPU time of a call of a captured function of some kernels, and of each kernel, where kernels do nothing. It is
    that of the fastest of some loops. Less where nobody has asked for times yet."""
    import strata

    with strata.config(device="null:gfx1100"):
        w, given = (strata.ones(64).contiguous().realize() for _ in range(2))

        @strata.jit
        def run(x):
            for _ in range(length):
                x = (x * 1.5 + w).contiguous()
            return x

        def calls():
            for _ in range(500):
                run(given)

        calls()
        times = [elapsed(calls, time.thread_time) for _ in range(loops)]
        return {"kernels": run.launches, "host_us_per_kernel": min(times) * 1e6 / 500 / length}


def elapsed(call, clock):
    start = clock()
    call()
    return clock() - start


def bench_train(quick):
    from strata import _strata

    if "null:gfx1100" not in _strata.devices():
        _strata._add_null_devices()
    steps, out = 3 if quick else 30, {}
    for length in (1, 2, 3, 8):
        out[f"list of {length}"] = {"jit": host_of_list(length, 30 * steps)}
    for name, make in MODELS.items():
        out[name] = {
            way: steps_of(make, captured, steps) | host_of(make, captured, 4 * steps)
            for way, captured in (("plain", False), ("jit", True))
        }
        if importlib.util.find_spec("tinygrad"):
            out[name]["tinygrad"] = of_peer(name, "CPU", steps)
    return rounded(out)


def table(result):
    """The result of bench_train for people; tinygrad runs on the host's cores, Strata on the emulated GPU."""
    columns = {
        "steps_per_second": "steps/s",
        "kernels": "kernels",
        "modelled_ms": "modelled ms",
        "host_ms": "host ms",
        "host_us_per_kernel": "host us/kernel",
    }
    lines = [f"{'':24s}" + "".join(f"{title:>16s}" for title in columns.values())]
    for name, ways in result.items():
        for way, row in ways.items():
            cells = "".join(f"{row[c]:16.3f}" if c in row else f"{'':16s}" for c in columns)
            lines.append(f"{name + ', ' + way:24s}" + (cells.rstrip() or f"  {row.get('error', '')}"))
    return "\n".join(lines)
