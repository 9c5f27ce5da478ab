"""Operations across the lanes of a wave in a user's UOp kernel: values of other lanes and matrix products. They run on
every arch, through HIP and by direct lowering, in strict mode."""

import re
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, uop

WAVES = {"gfx1100": 32, "gfx1201": 32, "gfx942": 64, "gfx90a": 64}
FAMILIES = {"rdna3": "gfx1100", "rdna4": "gfx1201", "cdna3": "gfx942", "cdna2": "gfx90a"}
TARGETS = ("hip", "asm")


@pytest.fixture(params=[(arch, target) for arch in WAVES for target in TARGETS], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def on(arch, target):
    return strata.config(device=f"emu:{arch}", target=target, check="raise")


def factors(shape, most, rng, *sizes):
    """Small whole numbers. gfx1100 takes the ones' complement of floats of another sign than C (captures of W7900): one
    sign is exact.
    """
    arch, operand = shape[0], shape[5]
    least = 0 if arch == "gfx1100" and operand != "int8" else -most
    return [rng.integers(least, most + 1, size).astype(np.float32) for size in sizes]


def exchanging(masks, block):
    """out[m][t]: the value of thread t ^ masks[m]."""

    def kernel(out, x):
        g, t = uop.special("gidx0", x.size // block), uop.special("lidx0", block)
        value = x[g * block + t].load()
        return uop.sink(
            *[out[m * x.size + g * block + t].store(uop.shuffle_xor(value, mask)) for m, mask in enumerate(masks)]
        )

    return kernel


@pytest.mark.parametrize("dtype", [t.name for t in dtypes.all])
def test_a_lane_gets_the_value_of_the_lane_that_the_mask_names(machine, rng, dtype):
    wave = WAVES[machine]
    masks, block, count = range(1, wave), 2 * wave, 4 * wave
    host = (
        rng.integers(0, 2, count) if dtype == "boolean" else rng.integers(0, 8, count) - (0 if "uint" in dtype else 4)
    )
    x = Tensor(host.astype(np.float32)).cast(dtype)
    out, _ = Tensor.empty(len(masks), count, dtype=dtype).custom_kernel(x, kernel=exchanging(masks, block))
    lanes = np.arange(count)
    np.testing.assert_array_equal(
        out.cast("float32").numpy(), np.stack([host[lanes ^ mask] for mask in masks]).astype(np.float32)
    )


@pytest.mark.parametrize("block", [2, 4, 16, 24, 40, 72])
def test_waves_that_are_not_whole_exchange_among_the_lanes_there_are(machine, rng, block):
    count, masks = 3 * block, [m for m in range(1, WAVES[machine]) if all(t ^ m < block for t in range(block))]
    host = rng.integers(0, 1 << 30, count).astype(np.int32)
    out, _ = Tensor.empty(len(masks), count, dtype="int32").custom_kernel(Tensor(host), kernel=exchanging(masks, block))
    t = np.arange(count)
    np.testing.assert_array_equal(out.numpy(), [host[t // block * block + (t % block ^ mask)] for mask in masks])


def test_lanes_exchange_under_a_gate_and_in_a_loop(machine, rng):
    wave = WAVES[machine]
    host = rng.integers(0, 1000, 8 * wave).astype(np.int32)

    def kernel(out, x):
        t, total = uop.special("lidx0", wave), uop.placeholder(1, "int32", "reg")
        k = uop.range(8, 0)
        inside = total.after(total[0].store(0), k)
        value = x[k * wave + t].load()
        step = inside[0].store(inside[0].load() + uop.shuffle_xor(value, 5) * 3 + uop.shuffle_xor(value + 1, wave // 2))
        return uop.sink(out.index(t, gate=t % 3 < 1).store(uop.shuffle_xor(total.after(step.end(k))[0].load(), 1)))

    out, _ = Tensor.full((wave,), -1, dtype="int32").contiguous().custom_kernel(Tensor(host), kernel=kernel)
    t, x = np.arange(wave), host.reshape(8, wave)
    total = (x[:, t ^ 5] * 3 + x[:, t ^ (wave // 2)] + 1).sum(axis=0)
    np.testing.assert_array_equal(out.numpy(), np.where(t % 3 < 1, total[t ^ 1], -1))


def test_a_mask_beyond_the_wave_is_an_error():
    for mask in (0, -1, 64):
        with pytest.raises(strata.UsageError, match=rf"shuffle_xor by {mask}: the mask is 1 to 31"):
            uop.shuffle_xor(uop.const(1, "int32"), mask)
    x = Tensor(np.zeros(64, np.int32))
    with (
        on("gfx1100", "asm"),
        pytest.raises(strata.UsageError, match="shuffle_xor by 32, and waves of gfx1100 have 32 lanes"),
    ):
        Tensor.empty(1, 64, dtype="int32").custom_kernel(x, kernel=exchanging([32], 64))[0].numpy()


# Group reductions: threads of a wave meet without local memory


@pytest.mark.parametrize("arch", WAVES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_sum_within_a_wave_takes_no_local_memory(arch, target):
    wave = WAVES[arch]

    def kernel(out, x):
        row, k = uop.range(4, 0, "global"), uop.range(wave, 1, "group")
        return uop.sink(out[row].store(uop.reduce(x[row * wave + k].load(), "add", k)).end(row))

    host = np.arange(4 * wave, dtype=np.int32)
    with on(arch, target):
        made = Tensor.empty(4, dtype="int32").custom_kernel(Tensor(host), kernel=kernel)[0]
        assert strata.compile(made, arch=arch, target=target).kernels[0].lds == 0
        np.testing.assert_array_equal(made.numpy(), host.reshape(4, wave).sum(axis=1))


@pytest.mark.parametrize("fold", ["add", "max", "min", "mul"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64", "bfloat16"])
def test_threads_in_any_arrangement_come_to_one_result(machine, rng, fold, dtype):
    function = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}[fold]
    for beside, threads, outer in [
        (1, 2, 1),
        (1, 64, 3),
        (4, 8, 1),
        (2, 256, 1),
        (32, 16, 2),
        (3, 24, 2),
        (1, 1000, 1),
        (8, 96, 2),
    ]:
        host = rng.choice([1, -1] if fold == "mul" else range(-3, 4), (outer, threads, beside)).astype(np.float64)

        def kernel(out, x):
            o, b, k = uop.range(outer, 0, "global"), uop.range(beside, 1, "local"), uop.range(threads, 2, "group")
            return uop.sink(
                out[o * beside + b].store(uop.reduce(x[(o * threads + k) * beside + b].load(), fold, k)).end(o, b)
            )

        x = Tensor(host).cast(dtype)
        out, _ = Tensor.empty(outer, beside, dtype=dtype).custom_kernel(x, kernel=kernel)
        wanted = Tensor(function.reduce(host, axis=1).astype("int8" if dtype == "int8" else "float64")).cast(
            dtype
        )  # integers wrap
        np.testing.assert_array_equal(
            out.cast("float64").numpy(), wanted.cast("float64").numpy(), err_msg=f"{beside} {threads}"
        )


# Matrix products


def shapes():
    table = (Path(__file__).parents[3] / "codegen/target/matrix_shapes.def").read_text()
    for row in re.findall(r"^MATRIX\( (.*) \)", table, re.M):
        family, name, m, n, k, operand, total, *_ = re.split(r",\s*", row)
        yield FAMILIES[family], name, int(m), int(n), int(k), operand, total


SHAPES = list(shapes())
IDS = [f"{arch}-{name}" for arch, name, *_ in SHAPES]


def factor_steps(arch, m, k, bits, lane):
    """The k of each element of A or B that a lane holds."""
    if arch == "gfx1100":
        return [i for i in range(16)]
    if arch == "gfx1201":
        return [(i // 4) * 8 + (lane // 16) * 4 + i % 4 if bits == 16 else (lane // 16) * 8 + i for i in range(8)]
    count = m * k // 64
    return [(lane // m) * count + i for i in range(count)]


def total_rows(arch, m, total, lane):
    """The row of each element of C or D that a lane holds."""
    if arch == "gfx1100":
        return [lane // 16 + 2 * i for i in range(8)]
    if arch == "gfx1201":
        return [(lane // 16) * 8 + i for i in range(8)]
    if total == "float64":
        return [lane // 16 + 4 * i for i in range(4)]
    return (
        [(lane // 32) * 4 + 8 * (i // 4) + i % 4 for i in range(16)]
        if m == 32
        else [(lane // 16) * 4 + i for i in range(4)]
    )


def bits(dtype):
    return {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}.get(dtype, 8)


def product(shape, steps, tiles):
    """out[M][N] = a[M][K * steps] * b[N][K * steps] transposed, plus c; a wave a tile of `tiles` rows."""
    arch, name, m, n, k, operand, total = shape
    wave, depth = WAVES[arch], k * steps

    def kernel(out, a, b, c):
        tile, lane = uop.special("gidx0", tiles), uop.special("lidx0", wave)
        places = [(tile * m + row) * n + lane % n for row in total_rows(arch, m, total, lane)]
        sums = uop.placeholder(len(places), total, "reg")
        start = [sums[i].store(c[place].load()) for i, place in enumerate(places)]
        r = uop.range(steps, 0, "reduce")
        inside = sums.after(*start, r)
        at = [r * k + step for step in factor_steps(arch, m, k, bits(operand), lane)]
        left = [a[(tile * m + lane % m) * depth + step].load() for step in at]
        right = [b[lane % n * depth + step].load() for step in at]
        made = uop.wmma(name, left, right, [inside[i].load() for i in range(len(places))])
        done = sums.after(uop.group(*[inside[i].store(value) for i, value in enumerate(made)]).end(r))
        return uop.sink(*[out[place].store(done[i].load()) for i, place in enumerate(places)])

    return kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_tile_is_the_product_that_the_table_says(shape, target, rng):
    arch, name, m, n, k, operand, total = shape
    wave = WAVES[arch]
    a, b, c = factors(shape, 2, rng, (m, k), (k, n), (m, n))

    def kernel(out, x, y, z):
        lane = uop.special("lidx0", wave)
        steps = factor_steps(arch, m, k, bits(operand), lane)
        places = [row * n + lane % n for row in total_rows(arch, m, total, lane)]
        made = uop.wmma(
            name,
            [x[lane % m * k + step].load() for step in steps],
            [y[step * n + lane % n].load() for step in steps],
            [z[place].load() for place in places],
        )
        return uop.sink(*[out[place].store(value) for place, value in zip(places, made, strict=True)])

    with on(arch, target):
        given = Tensor(a).cast(operand), Tensor(b).cast(operand), Tensor(c).cast(total)
        out, *_ = Tensor.empty(m, n, dtype=total).custom_kernel(*given, kernel=kernel)
        np.testing.assert_array_equal(out.cast("float32").numpy(), a @ b + c)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_product_of_many_steps_keeps_its_sums_in_registers(shape, target, rng):
    arch, name, m, n, k, operand, total = shape
    steps, tiles = 5, 3
    a, b, c = factors(shape, 1, rng, (tiles * m, k * steps), (n, k * steps), (tiles * m, n))
    with on(arch, target):
        given = Tensor(a).cast(operand), Tensor(b).cast(operand), Tensor(c).cast(total)
        out = Tensor.empty(tiles * m, n, dtype=total).custom_kernel(*given, kernel=product(shape, steps, tiles))[0]
        made = strata.compile(out, arch=arch, target=target)
        assert name in made.assembly and made.kernels[0].scratch == 0
        if target == "asm" and arch == "gfx1201" and bits(total) == 16:
            assert made.assembly.count("v_perm_b32") == 4, "sums of 16 bits lie two in a register from round to round"
        np.testing.assert_array_equal(out.cast("float32").numpy(), a @ b.T + c)


def test_sums_that_start_at_zero_need_no_registers(rng):
    a, b = factors(SHAPES[0], 3, rng, (16, 16), (16, 16))

    def kernel(out, x, y):
        lane = uop.special("lidx0", 32)
        made = uop.wmma(
            "v_wmma_f32_16x16x16_f16",
            [x[lane % 16 * 16 + i].load() for i in range(16)],
            [y[16 * i + lane % 16].load() for i in range(16)],
            [0.0] * 8,
        )
        return uop.sink(*[out[(2 * i + lane // 16) * 16 + lane % 16].store(value) for i, value in enumerate(made)])

    for target in TARGETS:
        with on("gfx1100", target):
            out = Tensor.empty(16, 16).custom_kernel(
                Tensor(a).cast("float16"), Tensor(b).cast("float16"), kernel=kernel
            )[0]
            text = strata.compile(out, arch="gfx1100", target=target).assembly
            assert (
                re.search(r"v_wmma_f32_16x16x16_f16 v\[\d+:\d+\], v\[\d+:\d+\], v\[\d+:\d+\], 0\b", text)
                or target == "hip"
            )
            np.testing.assert_array_equal(out.numpy(), a @ b)


HALF = uop.const(1.0, "float16")


@pytest.mark.parametrize(
    "give, error, message",
    [
        (
            lambda: uop.wmma("v_wmma_f64", [HALF], [HALF], [0.0]),
            strata.UsageError,
            "unknown matrix instruction 'v_wmma_f64'; known: v_wmma_f32_16x16x16_f16, ",
        ),
        (
            lambda: uop.wmma("v_wmma_f32_16x16x16_f16", [HALF] * 4, [HALF] * 16, [0.0] * 8),
            strata.UsageError,
            "4 elements of A; v_wmma_f32_16x16x16_f16 takes 16 or 8 from each lane",
        ),
        (
            lambda: uop.wmma("v_wmma_f32_16x16x16_f16", [HALF] * 16, [HALF] * 16, [0.0] * 16),
            strata.UsageError,
            "16 elements of C; v_wmma_f32_16x16x16_f16 takes 8",
        ),
        (
            lambda: uop.wmma("v_wmma_f32_16x16x16_f16", [HALF] * 16, [uop.const(1.0)] * 16, [0.0] * 8),
            strata.DTypeError,
            "B of v_wmma_f32_16x16x16_f16 is float16, not float32: cast it",
        ),
        (
            lambda: uop.wmma("v_wmma_i32_16x16x16_iu8", [0.5] * 16, [1] * 16, [0] * 8),
            strata.DTypeError,
            "does not fit into int8",
        ),
    ],
)
def test_what_does_not_fit_an_instruction_is_refused_when_it_is_built(give, error, message):
    with pytest.raises(error, match=re.escape(message)):
        give()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "arch, name, count, block, message",
    [
        (
            "gfx942",
            "v_wmma_f32_16x16x16_f16",
            16,
            64,
            "gfx942 has no v_wmma_f32_16x16x16_f16; use one of v_mfma_f32_32x32x8_f16, ",
        ),
        (
            "gfx1201",
            "v_wmma_f32_16x16x16_f16",
            16,
            32,
            (
                "v_wmma_f32_16x16x16_f16 of gfx1201 takes 8 float16 of A, 8 of B and 8 float32 of C from each "
                "lane, not 16 float16, 16 float16 and 8 float32"
            ),
        ),
        (
            "gfx1100",
            "v_wmma_f32_16x16x16_f16",
            16,
            48,
            "v_wmma_f32_16x16x16_f16 in a block of 48 threads: it works with whole waves, 32 threads of gfx1100",
        ),
    ],
)
def test_what_an_arch_does_not_have_says_what_it_has(target, arch, name, count, block, message):
    def kernel(out):
        lane = uop.special("lidx0", block)
        made = uop.wmma(name, [HALF] * count, [HALF] * count, [0.0] * 8)
        return uop.sink(out[lane].store(made[0]))

    with on(arch, target), pytest.raises(strata.UsageError, match=re.escape(message)):
        Tensor.empty(block).custom_kernel(kernel=kernel)[0].numpy()
