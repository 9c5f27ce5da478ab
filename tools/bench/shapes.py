"""strata bench shapes: random shapes, each beside what it could take at best; the worst first.

The least time is that of a launch and the longer of two times. One is that of the operands read once and the result
written once, at the bandwidth of memory. The other is that of the operations at the peak of vector instructions. All
times are the model's of a 7900 XTX, of a few workgroups of each launch; values are not looked at. A seed draws the same
cases on every machine. What is far above the least, or above what a search finds, is worth a look."""

import math
import random
import sys
import tempfile
import time

DEVICE, GB_PER_S, TFLOP_PER_S = "emu:gfx1100", 960, 61.4  # AMD: product page of the RX 7900 XTX
CASES, QUICK_CASES, SEED = 96, 12, 1
ELEMENTS, QUICK_ELEMENTS = (2**20, 2**23.5), (2**12, 2**14)
FLOPS, QUICK_FLOPS = (2**28, 2**33), (2**18, 2**21)
WIDTH, SECONDS = 2, 5  # of the search for each case


class Draw:
    """Sizes of tensors, evenly on a logarithmic scale; some are powers of two."""

    def __init__(self, chance, elements, flops):
        self.chance, self.elements, self.flops = chance, elements, flops

    def size(self, low, high):
        """One of low to high."""
        n = round(math.exp(self.chance.uniform(math.log(low), math.log(max(low, high)))))
        return max(low, 1 << (n.bit_length() - 1)) if self.chance.random() < 0.4 else n

    def between(self, bounds):
        return math.exp(self.chance.uniform(math.log(bounds[0]), math.log(bounds[1])))

    def shape(self, axes):
        """As many elements as are wanted, in sizes that have nothing to do with each other."""
        left, sizes = self.between(self.elements), []
        for more in range(axes - 1, 0, -1):
            sizes.append(self.size(2, left / 2**more))
            left /= sizes[-1]
        sizes.append(max(2, round(left)))
        self.chance.shuffle(sizes)
        return tuple(sizes)

    def some(self, axes):
        """One axis or more of these."""
        return tuple(sorted(self.chance.sample(range(axes), self.chance.randint(1, axes))))


def by(shape):
    return " x ".join(map(str, shape))


def reduction(draw):
    shape = draw.shape(draw.chance.randint(1, 4))
    name, axes = draw.chance.choice(("sum", "mean", "var", "max", "argmax")), draw.some(len(shape))
    if name == "argmax":
        axes = axes[0]
    return f"{name} of {by(shape)} over {axes}", [shape], lambda x: getattr(x, name)(axes), 0


def rows(draw):
    from strata import nn

    shape = draw.shape(draw.chance.randint(2, 3))
    axis = draw.chance.randrange(len(shape))
    name, call = draw.chance.choice(
        (
            ("softmax", lambda x: x.softmax(axis)),
            ("logsumexp", lambda x: x.logsumexp(axis)),
            ("layernorm", nn.layernorm),
        )
    )
    return f"{name} of {by(shape)}" + (f" along {axis}" if name != "layernorm" else ""), [shape], call, 0


def scan(draw):
    shape = draw.shape(draw.chance.randint(1, 3))
    axis = draw.chance.randrange(len(shape))
    return f"cumsum of {by(shape)} along {axis}", [shape], lambda x: x.cumsum(axis), 0


def transpose(draw):
    shape = draw.shape(draw.chance.randint(2, 4))
    order = list(range(len(shape)))
    while order == sorted(order):
        draw.chance.shuffle(order)
    return f"{by(shape)} permuted to {tuple(order)}", [shape], lambda x: x.permute(*order).contiguous(), 0


def matmul(draw):
    products = draw.between(draw.flops) / 2
    few = draw.chance.random() < 0.3
    m = draw.size(1, 31) if few else draw.size(16, products ** (1 / 2.5))
    n = draw.size(16, min(4096, products / m / 16))
    k = max(1, min(1 << 17, round(products / m / n)))
    way = draw.chance.choice(("a @ b", "a @ b.T", "a.T @ b"))
    shapes = [(k, m) if way == "a.T @ b" else (m, k), (n, k) if way == "a @ b.T" else (k, n)]
    call = {"a @ b": lambda a, b: a @ b, "a @ b.T": lambda a, b: a @ b.T, "a.T @ b": lambda a, b: a.T @ b}[way]
    return f"{way}, {m} x {k} by {k} x {n}", shapes, call, 2 * m * n * k


def convolution(draw):
    import strata
    from strata.nn import functional as F

    d = draw.chance.randint(1, 3)
    width, stride, batch, c_in = (
        draw.chance.choice((1, 3, 5) if d < 3 else (1, 3)),
        draw.chance.choice((1, 1, 2)),
        draw.size(1, 16),
        draw.size(1, 64),
    )
    c_out = draw.size(1, 128)
    products = draw.between(draw.flops) / 2
    side = max(
        width,
        8,
        min({1: 1 << 16, 2: 256, 3: 48}[d], round((products / (batch * c_in * c_out * width**d)) ** (1 / d)) * stride),
    )
    x, w = (batch, c_in, *[side] * d), (c_out, c_in, *[width] * d)
    y = (batch, c_out, *[(side + 2 * (width // 2) - width) // stride + 1] * d)

    def forward(x, w):
        return (F.conv1d, F.conv2d, F.conv3d)[d - 1](x, w, padding=width // 2, stride=stride)

    def gradient(of):  # the result's own gradient is an operand, so that nothing else is computed
        def call(a, g):
            values = strata.Tensor.empty(*(x if of == 0 else w))  # none is read
            return strata.grad(lambda z: (forward(*((z, a) if of == 0 else (a, z))) * g).sum())(values)

        return call

    name = f"conv{d}d of {by(x)} with {by(w)}, stride {stride}"
    ways = (("", [x, w], forward), (", gradient by x", [w, y], gradient(0)), (", gradient by w", [x, y], gradient(1)))
    end, shapes, call = draw.chance.choice(ways)
    return name + end, shapes, call, 2 * math.prod(y) * c_in * width**d


FAMILIES = {
    "reduction": reduction,
    "rows": rows,
    "scan": scan,
    "transpose": transpose,
    "matmul": matmul,
    "convolution": convolution,
}


def cases(count, seed, quick):
    """(family, name, shapes, call, operations), of each family as many."""
    draw = Draw(random.Random(seed), QUICK_ELEMENTS if quick else ELEMENTS, QUICK_FLOPS if quick else FLOPS)
    for i in range(count):
        family = list(FAMILIES)[i % len(FAMILIES)]
        yield (family, *FAMILIES[family](draw))


def operands(shapes):
    import strata

    return [strata.Tensor.empty(*shape).realize() for shape in shapes]


def measured(shapes, call):
    """(result, what its launches took)"""
    import strata

    tensors = operands(shapes)
    strata.reset_stats()
    out = call(*tensors).realize()
    return out, strata.stats()


def launch_ms():
    """The time of a kernel that does next to nothing."""
    return measured([(32,)], lambda x: x + 1)[1].time_ms


def searched_ms(shapes, call):
    import strata

    with tempfile.TemporaryDirectory() as folder, strata.config(cache_dir=folder):
        return sum(kernel.best_ms for kernel in call(*operands(shapes)).tune(beam=WIDTH, seconds=SECONDS).kernels)


def one(family, name, shapes, call, operations, launch, beam):
    out, stats = measured(shapes, call)
    moved = sum(4 * math.prod(shape) for shape in shapes) + out.nbytes
    least = launch + max(moved / GB_PER_S * 1e-6, operations / TFLOP_PER_S * 1e-9)
    row = {
        "what": name,
        "family": family,
        "kernels": stats.kernels,
        "modelled_ms": round(stats.time_ms, 5),
        "least_ms": round(least, 5),
        "times_least": round(stats.time_ms / least, 2),
    }
    if beam:
        found = searched_ms(shapes, call)
        row |= {"beam_ms": round(found, 5), "times_beam": round(stats.time_ms / found, 2)}
    return row


def show(done, count, start, rows):
    """A bar on a terminal, with what is left and the worst so far."""
    if not sys.stderr.isatty():
        return
    filled = 24 * done // count
    left = (time.perf_counter() - start) / max(done, 1) * (count - done)
    worst = max(rows, key=lambda row: row["times_least"], default=None)
    text = f"shapes [{'#' * filled}{'.' * (24 - filled)}] {done}/{count}, {left:.0f} s left" + (
        f"; worst {worst['times_least']:.1f}: {worst['what']}" if worst else ""
    )
    print(f"\r{text[:110]}\033[K", end="", file=sys.stderr, flush=True)


def bench_shapes(quick, count=0, seed=SEED, beam=False):
    import strata

    count, out, start = count or (QUICK_CASES if quick else CASES), [], time.perf_counter()
    with strata.config(device=DEVICE, target="asm", emu_sampled=True):
        launch = launch_ms()
        for case in cases(count, seed, quick):
            show(len(out), count, start, out)
            try:
                out.append(one(*case, launch, beam))
            except strata.Error as error:
                raise type(error)(f"{case[1]}: {error}") from None
    out.sort(key=lambda row: row["times_least"], reverse=True)
    return {
        "device": DEVICE,
        "seed": seed,
        "launch_ms": round(launch, 5),
        "seconds": round(time.perf_counter() - start, 2),
        "cases": out,
    }


def table(result):
    """The result of bench_shapes for people."""
    beam = any("beam_ms" in row for row in result["cases"])
    width = max(len(row["what"]) for row in result["cases"])
    drawn = f"seed {result['seed']}"
    lines = [
        f"{drawn:{width}s}{'kernels':>9s}{'ms':>10s}{'least ms':>10s}{'times':>8s}"
        + (f"{f'beam={WIDTH} ms':>12s}{'times':>8s}" if beam else "")
    ]
    for row in result["cases"]:
        lines.append(
            f"{row['what']:{width}s}{row['kernels']:9d}{row['modelled_ms']:10.4f}{row['least_ms']:10.4f}{row['times_least']:8.2f}"
            + (f"{row['beam_ms']:12.4f}{row['times_beam']:8.2f}" if beam else "")
        )
    return "\n".join(lines)
