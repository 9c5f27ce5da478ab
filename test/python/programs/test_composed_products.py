"""Products beside others, after what makes their operands and before their users: each is by matrix
instructions.
"""

import re

import numpy as np
import pytest
import strata
import strata.nn.functional as F
from strata import Tensor

pytestmark = pytest.mark.usual_schedules
ARCHS = ["gfx1100", "gfx942", "sm_90"]


def loss(y):
    return (y.cast("float32") ** 2).sum()


def gradients(f):
    return lambda *a: list(strata.grad(lambda *b: loss(f(*b)), argnums=tuple(range(len(a))))(*a))


def gradients_of_sum(f):
    return lambda *a: list(strata.grad(lambda *b: f(*b).sum(), argnums=tuple(range(len(a))))(*a))


def swiglu(x, g, u, d):
    return (F.silu(x @ g) * (x @ u)) @ d


def gelu_mlp(x, v, b, w):
    return F.linear(F.linear(x, v, b).gelu(), w)


def block(x, scale, g, u, d):
    return x + swiglu(F.rms_norm(x, (x.shape[-1],), scale, 1e-5), g, u, d)


M, H, I = 128, 128, 256
SWIGLU = [(M, H), (H, I), (H, I), (I, H)]
PROGRAMS = {  # name: (function, shapes of its arguments, products)
    "gate and up": (lambda x, g, u: (x @ g) * (x @ u), SWIGLU[:3], 2),
    "gate and up, transposed": (lambda x, g, u: F.silu(x @ g.T) * (x @ u.T), [(M, H), (I, H), (I, H)], 2),
    "four that share nothing": (lambda a, b, c, d, e, f, g, h: a @ b + c @ d + e @ f + g @ h, [(M, H), (H, I)] * 4, 4),
    "three of one operand": (lambda x, q, k, v: [x @ q, x @ k, x @ v], [(M, H)] + [(H, H)] * 3, 3),
    "batched": (lambda x, g, u: (x @ g) * (x @ u), [(3, M, H), (3, H, I), (3, H, I)], 2),
    "after a norm": (lambda x, s, g: F.rms_norm(x, (H,), s, 1e-5) @ g, [(M, H), (H,), (H, I)], 1),
    "after an activation": (lambda x, g: F.gelu(x) @ g, [(M, H), (H, I)], 1),
    "bias, activation, residual": (lambda x, w, b: F.linear(x, w, b).gelu() + x, [(M, H), (H, H), (H,)], 1),
    "swiglu": (swiglu, SWIGLU, 3),
    "swiglu, gradients": (gradients(swiglu), SWIGLU, 9),
    "swiglu, gradients of a sum": (
        gradients_of_sum(swiglu),
        SWIGLU,
        6,
    ),  # the gradient of its result is ones: sums, no products
    "linear, gradients": (gradients(F.linear), [(M, H), (I, H), (I,)], 3),
    "mlp, gradients": (gradients(gelu_mlp), [(M, H), (I, H), (I,), (H, I)], 6),
    "block, gradients": (gradients(block), [(M, H), (H,)] + SWIGLU[1:], 9),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), [(2, 32, 16, 16), (32, 32, 3, 3)], 1),
}


def arguments(shapes, dtype, rng=None):
    """Each of about the size at which what they are multiplied to stays near 1."""
    if rng is None:
        return [Tensor.empty(*s, dtype=dtype).realize() for s in shapes]
    return [Tensor((rng.standard_normal(s) / s[-1] ** 0.5).astype(np.float32)).cast(dtype).realize() for s in shapes]


def results(f, tensors):
    got = f(*tensors)
    return list(got) if isinstance(got, (list, tuple)) else [got]


def multiplies_matrices(kernel, arch):
    text = kernel.source if arch == "sm_90" else kernel.assembly
    return any(name in text for name in ("wgmma_", "mma_f32_", "v_wmma_", "v_mfma_"))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_product_has_a_kernel_with_matrix_instructions(name, arch):
    f, shapes, products = PROGRAMS[name]
    with strata.config(device=f"emu:{arch if arch != 'sm_90' else 'gfx1100'}"):
        kernels = strata.compile(
            results(f, arguments(shapes, "bfloat16")), arch=arch, target="hip" if arch == "sm_90" else "asm"
        ).kernels
    assert sum(multiplies_matrices(kernel, arch) for kernel in kernels) == products


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("shape", [(17, 1040, 65), (100, 300, 100), (33, 1000, 50), (1000, 72, 513)], ids=str)
def test_products_whose_sides_tiles_do_not_divide_have_too(shape, arch):
    m, k, n = shape
    with strata.config(device=f"emu:{arch if arch != 'sm_90' else 'gfx1100'}"):
        x, g, u = arguments([(m, k), (k, n), (k, n)], "bfloat16")
        kernels = strata.compile((x @ g) * (x @ u), arch=arch, target="hip" if arch == "sm_90" else "asm").kernels
    assert [multiplies_matrices(kernel, arch) for kernel in kernels] == [True, True]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_kernels_hand_on_has_the_type_of_the_program(name):
    """Nothing as large as a matrix is stored wider, but for the gradient of what two products share, of which each is a
    part.
    """
    f, shapes, _ = PROGRAMS[name]
    with strata.config(device="emu:gfx1100"):
        kernels = strata.compile(results(f, arguments(shapes, "float16")), target="asm").kernels
    wide = [
        b
        for k in kernels
        for b in k.buffers
        if b[0].startswith("out") and b[1] == strata.dtypes.float32 and b[2] >= M * H
    ]
    assert len(wide) == (name in ("swiglu, gradients", "swiglu, gradients of a sum", "block, gradients"))


MOVED = {
    "as it is": lambda y: y,
    "reshaped": lambda y: y.reshape(-1, y.shape[-1]),
    "transposed": lambda y: y.permute(2, 0, 1),
    "flipped": lambda y: y.flip(1),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_is_read_wider_is_stored_as_the_product_gives_it_however_it_is_moved(name):
    with strata.config(device="emu:gfx1100"):
        x, w = arguments([(2, M, H), (H, I)], "bfloat16")
        wide = MOVED[name](x @ w).cast("float32")
        product, *_ = strata.compile([wide.sum(0), wide.exp().sum(1)], target="asm").kernels
    assert [b[1:] for b in product.buffers if b[0].startswith("out")] == [(strata.dtypes.bfloat16, 2 * M * I)]


ACTIVATIONS = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "relu": F.relu,
    "softplus": F.softplus, "elu": F.elu, "selu": F.selu, "mish": F.mish, "hardswish": F.hardswish,
    "squared": lambda x: F.relu(x) ** 2,
}  # fmt: skip


@pytest.mark.parametrize("columns", [H, 3 * H])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_of_an_activation_its_argument_is_stored_and_nothing_on_the_way(name, columns):
    """Its argument, its result and the gradient of its argument, whatever the products around it have in common."""
    with strata.config(device="emu:gfx1100"):
        tensors = arguments([(192, H), (H, I), (I, columns)], "bfloat16")
        f = gradients(lambda x, w, d: ACTIVATIONS[name](x @ w) @ d)
        kernels = strata.compile(f(*tensors), target="asm").kernels
    inner = [b[1] for k in kernels for b in k.buffers if b[0].startswith("out") and b[2] == 192 * I]
    assert len(inner) <= 3 and set(inner) <= {strata.dtypes.bfloat16}


def of_heads(x, w):
    b, h, t, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d) @ w


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_sums_along_several_axes_take_their_operands_through_local_memory(arch):
    with strata.config(device=f"emu:{arch}"):
        heads = arguments([(2, 4, 256, 64), (256, 256)], "bfloat16")
        kernels = strata.compile(gradients(of_heads)(*heads), target="asm").kernels
    products = [k.assembly for k in kernels if multiplies_matrices(k, arch)]
    assert len(products) == 3
    assert all("ds_" in text for text in products)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_products_of_moved_axes_take_about_as_long_as_those_of_matrices(arch):
    def modelled(f, *shapes):
        tensors = arguments(shapes, "bfloat16")
        strata.reset_stats()
        f(*tensors).realize()
        return strata.stats().time_ms

    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        plain = modelled(lambda x, w: x @ w, (4096, 768), (768, 768))
        heads = modelled(of_heads, (4, 12, 1024, 64), (768, 768))
        moved = lambda x, w: (x @ w).reshape(4, 1024, 12, 64).permute(0, 2, 1, 3).contiguous()
        apart = modelled(moved, (4096, 768), (768, 768))
    assert max(heads, apart) < 1.5 * plain


PROLOGUES = {
    "norm": lambda x: F.rms_norm(x, (x.shape[-1],), None, 1e-5),
    "activation": F.silu,
    "scale": lambda x: x * 2,
    "float32": lambda x: x.cast("float32").exp().cast(x.dtype),
    "transposed": lambda x: (x + 1).T,
}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", PROLOGUES)
def test_operands_of_large_products_are_computed_once(name, arch):
    with strata.config(device=f"emu:{arch if arch != 'sm_90' else 'gfx1100'}"):
        x, w = arguments([(512, 512), (512, 512)], "bfloat16")
        *_, last = strata.compile(PROLOGUES[name](x) @ w, arch=arch, target="hip" if arch == "sm_90" else "asm").kernels
    assert multiplies_matrices(last, arch)
    assert [(dtype, elements) for _, dtype, elements in last.buffers] == [(strata.dtypes.bfloat16, 512 * 512)] * 3


@pytest.mark.parametrize("rows", [1, 4, 16])
def test_operands_that_few_rows_read_are_computed_where_they_are_read(rows):
    with strata.config(device="emu:gfx1100"):
        x, scale = arguments([(rows, 512), (512,)], "bfloat16")
        (packed,) = arguments([(512, 512)], "int8")
        assert len(strata.compile(x @ (packed.cast("bfloat16") * scale), target="asm").kernels) == 1


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_float64(name, arch, rng):
    f, shapes, _ = PROGRAMS[name]
    with strata.config(device=f"emu:{arch}", target="asm"):
        narrow = arguments(shapes, "float16", rng)
        got = [t.cast("float32").numpy() for t in results(f, narrow)]
        wide = [t.numpy() for t in results(f, [t.cast("float64") for t in narrow])]
    for x, y in zip(got, wide, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=2.0**-7 * np.abs(y).max())


def test_each_of_several_results_is_stored_in_vectors():
    """A product whose value a gradient needs stores it beside its users: neighbours of each as one access."""
    with strata.config(device="emu:gfx1100"):
        kernels = strata.compile(
            results(gradients(gelu_mlp), arguments([(256, 256), (512, 256), (512,), (256, 512)], "bfloat16")),
            arch="sm_90",
            target="hip",
        ).kernels
    several = [kernel.source for kernel in kernels if "* __restrict__ out1" in kernel.source]
    assert several
    for source in several:
        assert not re.search(r"\bout\d\[", source), "an element by itself"


@pytest.mark.parametrize("rows,columns", [(4096, 50304), (50304, 4096)])
def test_neighbouring_blocks_differ_in_the_operand_that_caches_hold(rows, columns):
    with strata.config(device="emu:gfx1100"):
        x, w = (Tensor.empty(n, 768, dtype="bfloat16").realize() for n in (rows, columns))
        (kernel,) = strata.compile(x @ w.mT, arch="sm_90", target="hip").kernels
    fast, slow, _ = kernel.grid
    assert fast <= 4096 // 64 < slow


def test_weights_that_a_block_chooses_come_by_way_of_local_memory():
    with strata.config(device="emu:gfx1100"):
        x, w = Tensor.empty(32, 64, 1024, dtype="bfloat16"), Tensor.empty(8, 1024, 704, dtype="bfloat16")
        (kernel,) = strata.compile(x @ w[Tensor.empty(32, dtype="int64")], arch="sm_90").kernels
    assert "wgmma_f32_" in kernel.source and kernel.source.count("strata_copy_async<16>") > 8
