"""Differentiable functions with arguments away from kinks: rows of test_gradients_every.py, with torch's function where
it has one.
"""

import math

import numpy as np
import strata
from strata import Tensor, functional, linalg, nn

try:
    import torch
except ImportError:
    torch = None

RNG = np.random.default_rng(8)


def apart(*shape, low=-1.4, high=1.3):
    """Values in random order of which no two are near each other, nor near 0 or 1."""
    x = np.linspace(low, high, math.prod(shape)) + 1e-3
    return RNG.permutation(x).reshape(shape)


X, POSITIVE = apart(2, 3, 4), apart(2, 3, 4, low=0.3, high=2.0)
FEW, FEW_POSITIVE = apart(8), apart(8, low=0.3, high=2.0)
A, B, V = apart(3, 4), apart(4, 2), apart(4)
SQUARE, SPD = apart(2, 3, 3) + 3 * np.eye(3), (lambda m: m @ m.swapaxes(-1, -2) + np.eye(3))(apart(2, 3, 3))
I = Tensor([2, 0, 2, -1])  # noqa: E741
HOLES = np.where(np.arange(24).reshape(2, 3, 4) % 5 == 1, 1.0, 0.0)


def of(name, *arguments, **named):
    return lambda *tensors: getattr(strata, name)(*tensors, *arguments, **named)


def theirs(name, *arguments, **named):
    return lambda *tensors: getattr(torch, name)(*tensors, *arguments, **named)


# name -> (function of tensors, arrays, the same of torch's tensors or None: no such function there)
ROWS = {}


def row(name, function, arrays, same=None, label=""):
    ROWS[name + label] = (name, function, arrays, same)


for name in (
    "abs square exp sin cos tan tanh erf exp2 floor ceil trunc round sinh cosh atan asinh expm1 sigmoid relu sign "
    "positive"
).split():
    row(name, of(name), [FEW], theirs(name))
for name in "reciprocal sqrt rsqrt log log2 log10 log1p".split():
    row(name, of(name), [FEW_POSITIVE], theirs(name))
for name, low, high in (("asin", -0.9, 0.9), ("acos", -0.9, 0.9), ("atanh", -0.9, 0.9), ("acosh", 1.2, 3)):
    row(name, of(name), [apart(8, low=low, high=high)], theirs(name))
(
    row("neg", of("neg"), [FEW], theirs("neg")),
    row("negative", of("negative"), [FEW], theirs("neg")),
    row("conj", of("conj"), [FEW]),
)
(
    row("softplus", of("softplus"), [FEW], lambda x: torch.nn.functional.softplus(x)),
    row("silu", of("silu"), [FEW], lambda x: torch.nn.functional.silu(x)),
    row("gelu", of("gelu"), [FEW], lambda x: torch.nn.functional.gelu(x)),
    row("gelu_tanh", of("gelu_tanh"), [FEW], lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
)
for name, other in {
    "add": "add",
    "sub": "sub",
    "subtract": "sub",
    "mul": "mul",
    "multiply": "mul",
    "div": "div",
    "divide": "div",
    "remainder": "remainder",
    "pow": "pow",
    "atan2": "atan2",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "copysign": "copysign",
    "maximum": "maximum",
    "minimum": "minimum",
    "floor_divide": None,
}.items():
    row(name, of(name), [apart(3, 1, 4, low=1.1, high=1.9), apart(2, 1, low=2.1, high=2.9)], other and theirs(other))
for name in ("atan2", "hypot", "copysign"):
    row(name, of(name), [FEW, FEW[::-1].copy() + 0.07], theirs(name), " of both signs")
row("pow", lambda x: x**3 + x**-1, [FEW_POSITIVE], lambda x: x**3 + x**-1, " of numbers")

# At 0, at the places beside it, and where two arguments are alike: smooth functions that are put together of branches.
ZERO = np.array([0.0, -0.0, 1e-3, -1e-3, 0.7, 3.0])
for name in "sinh cosh atan asinh asin atanh tan tanh expm1 log1p erf sigmoid silu softplus gelu gelu_tanh exp".split():
    row(name, of(name), [ZERO[: 5 if name in ("asin", "atanh", "tan") else 6]], None, " about 0")
for name, y in (("atan2", [1, 1, 2, -1, 0.7, 3.0]), ("hypot", [1, 1, 2, -1, 0.7, 3.0]), ("logaddexp", ZERO)):
    (
        row(name, of(name), [ZERO, np.array(y)], None, " about 0"),
        row(name, of(name), [np.array(y) + 0.25, -np.array(y) - 0.25], None, " of equal sizes"),
    )

# Movement and choice.
for name, arguments, same in [
    ("reshape", ((6, 4),), theirs("reshape", (6, 4))), ("permute_dims", ((2, 0, 1),), theirs("permute", (2, 0, 1))),
    ("transpose", (), lambda x: x.mT), ("matrix_transpose", (), lambda x: x.mT),
    ("moveaxis", (0, 2), theirs("moveaxis", 0, 2)), ("movedim", (0, 2), theirs("movedim", 0, 2)),
    ("broadcast_to", ((2, 2, 3, 4),), theirs("broadcast_to", (2, 2, 3, 4))),
    ("shrink", ([(0, 1), (1, 3), (2, 4)],), lambda x: x[:1, 1:3, 2:]), ("flip", ((0, 2),), theirs("flip", (0, 2))),
    ("roll", (1, 1), theirs("roll", 1, 1)), ("unsqueeze", (1,), theirs("unsqueeze", 1)),
    ("flatten", (), theirs("flatten")), ("unflatten", (2, [2, 2]), theirs("unflatten", 2, (2, 2))),
    ("tile", ((2, 1, 3),), theirs("tile", (2, 1, 3))), ("repeat", (2,), theirs("repeat_interleave", 2)),
    ("contiguous", (), lambda x: x * 1), ("tril", (), theirs("tril")), ("triu", (), theirs("triu")),
    ("expand_dims", (), theirs("unsqueeze", 0)), ("real", (), None),
    ("diagonal", (), lambda x: torch.diagonal(x, 0, -2, -1)), ("unfold", (2, 2, 1), lambda x: x.unfold(2, 2, 1)),
    ("interpolate", ((6,),), None),
]:  # fmt: skip
    row(name, of(name, *arguments), [X], same)
(
    row("squeeze", lambda x: strata.squeeze(x.reshape(2, 1, 12)), [X]),
    row("chunk", lambda x: strata.chunk(x, 2, 2)[1], [X], lambda x: x.chunk(2, 2)[1]),
    row("unstack", lambda x: strata.unstack(x, axis=1)[1], [X], lambda x: x.unbind(1)[1]),
)
(
    row("pad", lambda x: strata.pad(x, [(1, 2), (0, 0), (3, 0)], value=2.0), [X]),
    row("pad", lambda x: strata.pad(x, [(0, 1), (2, 2), (1, 3)], "reflect"), [X], None, " reflect"),
    row(
        "cat", lambda x, y: strata.cat([x, y, x * x], 1), [X, X[:, :1].copy()], lambda x, y: torch.cat([x, y, x * x], 1)
    ),
)
(
    row("concat", lambda x: strata.concat([x, x * x], axis=None), [X]),
    row("stack", lambda x: strata.stack([x, x.exp()], 1), [X], lambda x: torch.stack([x, x.exp()], 1)),
    row("broadcast_arrays", lambda x, y: strata.broadcast_arrays(x, y)[1] * x, [X, V]),
    row("meshgrid", lambda x, y: strata.meshgrid(x, y)[0] * strata.meshgrid(x, y)[1], [V, A[0]]),
)
(
    row("clip", of("clip", -0.4, 0.45), [X], theirs("clip", -0.4, 0.45)),
    row(
        "where",
        lambda x, y: strata.where(x > 0.1, x * y, y.sin()),
        [X, X[::-1].copy()],
        lambda x, y: torch.where(x > 0.1, x * y, y.sin()),
    ),
    row(
        "masked_fill",
        lambda x: strata.masked_fill(x, Tensor(HOLES), 2),
        [X],
        lambda x: x.masked_fill(torch.tensor(HOLES) > 0, 2),
    ),
)
row("astype", lambda x: strata.astype(x, "float64") * x, [X]), row("cast", lambda x: strata.cast(x, "float64") * x, [X])
(
    row("take", lambda x: strata.take(x, I, axis=1), [A.T.copy()], lambda x: x[:, torch.tensor([2, 0, 2, 2])]),
    row(
        "gather",
        lambda x: strata.gather(x, 0, Tensor([[0, 1, 1, 2], [1, 1, 1, 0]])),
        [A],
        lambda x: x.gather(0, torch.tensor([[0, 1, 1, 2], [1, 1, 1, 0]])),
    ),
)
(
    row("take_along_axis", lambda x: strata.take_along_axis(x, Tensor([[0, 3, 3], [1, 1, 0], [2, 1, 0]])), [A]),
    row("scatter", lambda x, v: strata.scatter(x, 1, Tensor([[1, 1], [0, 3], [2, 1]]), v), [A, apart(3, 2)]),
)
(
    row(
        "scatter_add",
        lambda x, v: strata.scatter_add(x, 1, Tensor([[1, 1], [0, 3], [2, 1]]), v),
        [A, apart(3, 2)],
        lambda x, v: x.scatter_add(1, torch.tensor([[1, 1], [0, 3], [2, 1]]), v),
    ),
    row(
        "index_add",
        lambda x, v: strata.index_add(x, 1, Tensor([1, 1]), v),
        [A, apart(3, 2)],
        lambda x, v: x.index_add(1, torch.tensor([1, 1]), v),
    ),
)

# Over axes and along them.
for axis in (None, 1, (0, 2)):
    for name, other in {
        "sum": "sum",
        "prod": None,
        "max": "amax",
        "min": "amin",
        "mean": "mean",
        "logsumexp": "logsumexp",
    }.items():
        row(
            name,
            of(name, axis),
            [POSITIVE],
            other and (theirs(other, axis) if axis is not None else theirs(other, (0, 1, 2))),
            f" of {axis}",
        )
    for name in ("var", "std"):
        row(name, of(name, axis, 1), [POSITIVE], theirs(name, axis, correction=1), f" of {axis}")
    for name in ("median", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"):
        row(
            name,
            of(name, axis),
            [POSITIVE],
            theirs(name, axis) if name in ("nansum", "nanmean") else None,
            f" of {axis}",
        )
row("quantile", of("quantile", 0.3, 1), [POSITIVE], lambda x: torch.quantile(x, 0.3, 1))
for axis in (0, -1):
    for name in ("softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
        row(
            name,
            of(name, axis=axis),
            [POSITIVE],
            (lambda x, n=name, a=axis: getattr(torch, n)(x, a)[0])
            if name in ("cummax", "cummin")
            else theirs(name, axis),
            f" along {axis}",
        )
for name in ("cumulative_sum", "cumulative_prod"):
    row(name, of(name, axis=1, include_initial=True), [POSITIVE])
for zeros in ([1], [0, 2], [3]):
    row(
        "cumprod",
        of("cumprod", axis=1),
        [np.where(np.isin(np.arange(4), zeros), 0, POSITIVE[0])],
        theirs("cumprod", 1),
        f" with zeros at {zeros}",
    )
(
    row("diff", of("diff", n=2), [X], theirs("diff", 2)),
    row("sort", of("sort", 1), [X], lambda x: x.sort(1)[0]),
    row("topk", lambda x: strata.topk(x, 2)[0], [X], lambda x: x.topk(2)[0]),
    row("kthvalue", lambda x: strata.kthvalue(x, 2, 1)[0], [X], lambda x: x.kthvalue(2, 1)[0]),
)
(
    row("histogram", lambda w: strata.histogram(Tensor(V), 3, weights=w)[0], [apart(4)]),
    row("bincount", lambda w: strata.bincount(Tensor([0, 2, 2, 1]), w), [apart(4)]),
)

# Products.
(
    row("matmul", of("matmul"), [apart(2, 3, 4), B], theirs("matmul")),
    row("matmul", of("matmul"), [V, B], theirs("matmul"), " of a vector"),
    row("tensordot", of("tensordot", axes=1), [A, B], theirs("tensordot", 1)),
    row("vecdot", of("vecdot"), [A, V], lambda a, b: torch.linalg.vecdot(a, b)),
    row("kron", of("kron"), [A, B], theirs("kron")),
)
(
    row("einsum", lambda a, b: strata.einsum("ij,jk->ki", a, b), [A, B], lambda a, b: torch.einsum("ij,jk->ki", a, b)),
    row(
        "einsum", lambda a: strata.einsum("ii->i", a), [SQUARE[0]], lambda a: torch.einsum("ii->i", a), " of a diagonal"
    ),
    row("outer", of("outer"), [V, A[0]], theirs("outer")),
    row("trace", of("trace"), [SQUARE[0]], theirs("trace")),
)
row("cross", of("cross"), [A.T.copy(), A.T[::-1].copy()], lambda a, b: torch.linalg.cross(a, b))
for p in (1, 2, 3, math.inf):
    row("cdist", of("cdist", p), [A, A[::-1] * 1.37 + 0.21], theirs("cdist", p), f" of {p}")
    row("norm", of("norm", p, 1), [X], lambda x, p=p: torch.linalg.vector_norm(x, p, 1), f" of {p}")
for name, f, arrays in [
    ("det", linalg.det, [SQUARE]),
    ("inv", linalg.inv, [SQUARE]),
    ("slogdet", lambda x: linalg.slogdet(x)[1], [SQUARE]),
    ("solve", linalg.solve, [SQUARE[0], apart(3, 2)]),
    ("matrix_power", lambda x: linalg.matrix_power(x, 3), [SQUARE]),
]:
    row(
        name,
        f,
        arrays,
        lambda *a, n=name: (
            torch.linalg.slogdet(*a)[1]
            if n == "slogdet"
            else torch.linalg.matrix_power(*a, 3)
            if n == "matrix_power"
            else getattr(torch.linalg, n)(*a)
        ),
    )
(
    row(
        "cholesky",
        lambda x: linalg.cholesky((x + x.mT) * 0.5),
        [SPD],
        lambda x: torch.linalg.cholesky((x + x.mT) * 0.5),
    ),
    row("vector_norm", lambda x: linalg.vector_norm(x, axis=0), [X], lambda x: torch.linalg.vector_norm(x, dim=0)),
    row("matrix_norm", linalg.matrix_norm, [X], lambda x: torch.linalg.matrix_norm(x)),
)
TALL, WIDE = apart(2, 4, 3), apart(2, 3, 4)
symmetric = lambda x: (x + x.mT) * 0.5  # noqa: E731
(
    row("eigvalsh", lambda x: linalg.eigvalsh(symmetric(x)), [SPD], lambda x: torch.linalg.eigvalsh((x + x.mT) * 0.5)),
    row(
        "eigh",
        lambda x: linalg.eigh(symmetric(x)).eigenvectors.square(),
        [SPD],
        lambda x: torch.linalg.eigh((x + x.mT) * 0.5)[1].square(),
    ),
)
(
    row(
        "eigh",
        lambda x: (lambda v, u: u.square() * v.unsqueeze(-1))(*linalg.eigh(symmetric(x))),
        [SPD],
        None,
        " of both",
    ),
    row("eigvalsh", lambda x: linalg.eigvalsh(symmetric(x)).square().sum(-1), [np.eye(3) * 2], None, " of equal ones"),
)
for name, matrix in (("tall", TALL), ("wide", WIDE), ("square", SQUARE)):
    (
        row("svdvals", linalg.svdvals, [matrix], lambda x: torch.linalg.svdvals(x), f" of {name}"),
        row("pinv", linalg.pinv, [matrix], lambda x: torch.linalg.pinv(x), f" of {name}"),
    )
    row(
        "svd",
        lambda x: (lambda u, s, v: (u.square() @ v.square()) * s.sum(-1).reshape(-1, 1, 1))(
            *linalg.svd(x, full_matrices=False)
        ),
        [matrix],
        lambda x: (lambda u, s, v: (u.square() @ v.square()) * s.sum(-1).reshape(-1, 1, 1))(
            *torch.linalg.svd(x, full_matrices=False)
        ),
        f" of {name}",
    )
(
    row("svd", lambda x: linalg.svd(x).U.square(), [SQUARE], None, " in full"),
    row("svdvals", lambda x: linalg.svdvals(x).square().sum(-1), [np.eye(3) * 2], None, " of equal ones"),
)
for order in ("nuc", 2, -2):
    row(
        "matrix_norm",
        lambda x, order=order: linalg.matrix_norm(x, ord=order),
        [TALL],
        lambda x, order=order: torch.linalg.matrix_norm(x, order),
        f" {order}",
    )

# Complex numbers on the way.
parts = lambda z: z.real.square() + z.imag * 2  # noqa: E731
row(
    "complex",
    lambda x, y: parts(strata.complex(x, y).exp() * strata.complex(y, x)),
    [X, X[::-1].copy()],
    lambda x, y: (lambda z: z.real.square() + z.imag * 2)(torch.complex(x, y).exp() * torch.complex(y, x)),
)
(
    row(
        "imag",
        lambda x, y: strata.imag(strata.complex(x, y).sin()),
        [X, X[::-1].copy()],
        lambda x, y: torch.complex(x, y).sin().imag,
    ),
    row(
        "angle",
        lambda x, y: strata.angle(strata.complex(x, y)),
        [X, POSITIVE],
        lambda x, y: torch.complex(x, y).angle(),
    ),
)
for name in ("fft", "ifft", "rfft", "fftn", "ifftn", "rfftn", "ihfft"):
    row(
        name,
        lambda x, n=name: parts(getattr(strata.fft, n)(x)),
        [A],
        lambda x, n=name: (lambda z: z.real.square() + z.imag * 2)(getattr(torch.fft, n)(x)),
    )
for name in ("irfft", "hfft", "irfftn"):
    row(
        name,
        lambda x, y, n=name: getattr(strata.fft, n)(strata.complex(x, y)),
        [A, A[::-1].copy()],
        lambda x, y, n=name: getattr(torch.fft, n)(torch.complex(x, y)),
    )
(
    row("fftshift", strata.fft.fftshift, [A], lambda x: torch.fft.fftshift(x)),
    row("ifftshift", strata.fft.ifftshift, [A], lambda x: torch.fft.ifftshift(x)),
)

# Parts of layers.
F = torch.nn.functional if torch else None
IMAGE, KERNEL = apart(1, 4, 5, 4), apart(4, 2, 3, 2)
(
    row(
        "conv",
        lambda x, w, b: functional.conv(x, w, b, (2, 1), 1, (1, 2), 2),
        [IMAGE, KERNEL, V],
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), 1, (1, 2), 2),
    ),
    row(
        "conv_transpose",
        lambda x, w, b: functional.conv_transpose(x, w, b, 2, 1, 1, 1, 2),
        [IMAGE, KERNEL, apart(4)],
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2, 1),
    ),
)
(
    row("max_pool", lambda x: functional.max_pool(x, (2, 2), 1, 1), [IMAGE], lambda x: F.max_pool2d(x, 2, 1, 1)),
    row("avg_pool", lambda x: functional.avg_pool(x, (2, 2), 1, 1), [IMAGE], lambda x: F.avg_pool2d(x, 2, 1, 1)),
    row("windows", lambda x: functional.windows(x, (2, 2)), [A]),
)
(
    row("linear", functional.linear, [A, apart(2, 4), apart(2)], lambda *a: F.linear(*a)),
    row(
        "layernorm",
        lambda x, w, b: functional.layernorm(x, 1, w, b),
        [A, V, V[::-1].copy()],
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
    ),
    row("rmsnorm", functional.rmsnorm, [A, V], lambda x, w: F.rms_norm(x, (4,), w, 1e-6)),
)
(
    row(
        "embedding",
        lambda w: functional.embedding(Tensor([[1, 0], [1, 1]]), w),
        [A],
        lambda w: F.embedding(torch.tensor([[1, 0], [1, 1]]), w),
    ),
    row(
        "cross_entropy",
        lambda x: functional.cross_entropy(x, Tensor([2, 0, 3])),
        [A],
        lambda x: F.cross_entropy(x, torch.tensor([2, 0, 3])),
    ),
)
row(
    "scaled_dot_product_attention",
    lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, causal=True),
    [apart(2, 5, 4) for _ in range(3)],
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
)

# Activations and losses, which have tests of their own, about 0.
TARGET = np.where(np.arange(6) % 2, 1.0, 0.0)
for name in ("Softplus", "LogSigmoid", "Mish", "SiLU", "GELU"):
    row(name, getattr(nn, name)(), [ZERO], torch and getattr(torch.nn, name)(), " about 0")
for name in ("binary_cross_entropy_with_logits", "focal", "soft_margin", "log_cosh"):
    row(name, lambda x, f=getattr(nn.losses, name): f(x, Tensor(TARGET)), [ZERO], None, " about 0")
