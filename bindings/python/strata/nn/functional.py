"""What torch.nn.functional calls it, with its arguments in its order: for those who port a model.

    import strata.nn.functional as F
    y = F.max_pool2d(F.relu(F.conv2d(x, weight, bias, padding=1)), 2)

Each is one of strata's own, which strata.functional, strata.nn and the methods of tensors have for any number of axes. `inplace` and
`ceil_mode` are not there: operations do not change tensors.
"""

from .. import _namespace, functional as _own
from .._strata import ShapeError, Tensor, UsageError
from . import activations, losses
from .activations import softplus  # noqa: F401
from .losses import binary_cross_entropy, binary_cross_entropy_with_logits, kl_div  # noqa: F401

embedding, interpolate, one_hot = _own.embedding, _namespace.interpolate, Tensor.one_hot
linear, scaled_dot_product_attention = _own.linear, _own.scaled_dot_product_attention
relu, silu, sigmoid, tanh = Tensor.relu, Tensor.silu, Tensor.sigmoid, Tensor.tanh


def _conv_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _own.conv_transpose(x, weight, bias, stride, padding, output_padding, dilation, groups)


def _pool(kind, axes):
    def pool(x, kernel_size, stride=None, padding=0, **more):
        window = (kernel_size,) * axes if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(window) != axes:
            raise UsageError(f"[{kind}{axes}d] a window of {len(window)} axes: one number, or {axes}")
        return getattr(_own, kind)(x, window, stride, padding, **more)

    return pool


def _of(kind, axes, function):
    """It as a function of (n, channels, sizes) or (channels, sizes) for so many sizes."""

    def same_axes(x, *given, **named):
        if x.ndim not in (axes + 1, axes + 2):
            raise ShapeError(f"[{kind}{axes}d] shape {x.shape}: it takes (n, channels, {axes} sizes), or one of them without n")
        return function(x, *given, **named) if x.ndim == axes + 2 else function(x.unsqueeze(0), *given, **named).squeeze(0)

    same_axes.__name__ = same_axes.__qualname__ = f"{kind}{axes}d"
    same_axes.__doc__ = f"strata.functional.{kind} of (n, channels, {axes} sizes), by torch's arguments."
    return same_axes


for _axes in (1, 2, 3):
    _kinds = {"conv": _own.conv, "conv_transpose": _conv_transpose, "max_pool": _pool("max_pool", _axes), "avg_pool": _pool("avg_pool", _axes)}
    globals().update({f"{_kind}{_axes}d": _of(_kind, _axes, _function) for _kind, _function in _kinds.items()})


def dropout(x, p=0.5, training=True):
    """Each element 0 with probability p, the others divided by 1 - p; x itself where not in training."""
    if not 0 <= p <= 1:
        raise UsageError(f"[dropout] the probability {p} is not between 0 and 1")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    kept = Tensor.rand(x.shape, device=x.device) >= p
    return kept.where(x / (1 - p), 0)


def softmax(x, dim=-1):
    return x.softmax(dim)


def log_softmax(x, dim=-1):
    return x.log_softmax(dim)


def gelu(x, approximate="none"):
    return x.gelu_tanh() if approximate == "tanh" else x.gelu()


def leaky_relu(x, negative_slope=0.01):
    return activations.LeakyReLU(slope=negative_slope)(x)


def elu(x, alpha=1.0):
    return activations.ELU(alpha=alpha)(x)


def glu(x, dim=-1):
    return activations.GLU(axis=dim)(x)


def logsigmoid(x):
    return -softplus(-x)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if x.shape[-len(shape) :] != shape:
        raise ShapeError(f"[layer_norm] of {shape} for a tensor of shape {x.shape}")
    return _own.layernorm(x, len(shape), weight, bias, eps)


def normalize(x, p=2.0, dim=1, eps=1e-12):
    """x over its p-norm along an axis, which is not taken below eps."""
    from ..linalg import vector_norm

    return x / vector_norm(x, axis=dim, keepdims=True, ord=p).maximum(eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    return losses.cosine_similarity(x1, x2, dim, eps)


def cross_entropy(x, target, reduction="mean", label_smoothing=0.0):
    return losses.cross_entropy(x, target, label_smoothing, reduction)


def nll_loss(x, target, reduction="mean"):
    return losses.nll(x, target, reduction)


def mse_loss(x, target, reduction="mean"):
    return losses.mse(x, target, reduction)


def l1_loss(x, target, reduction="mean"):
    return losses.l1(x, target, reduction)


def smooth_l1_loss(x, target, reduction="mean", beta=1.0):
    return losses.smooth_l1(x, target, beta, reduction)


def huber_loss(x, target, reduction="mean", delta=1.0):
    return losses.huber(x, target, delta, reduction)


def pad(x, pad, mode="constant", value=0.0):
    """By pairs for the last axes, the last one first."""
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise UsageError(f"[pad] {len(pad)} numbers for {x.ndim} axes: a pair an axis, from the last one on")
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -2, -2)]
    return _namespace.pad(x, pairs, mode, value)
