"""The functions that a program of program_rows.py takes from its first argument `o`, by library: Strata, and torch on a
card. The same operations on NumPy arrays are in float64.py."""


class Strata:
    """written: bytes that assign and write put into operands."""

    def __init__(self):
        import strata
        from strata.nn import functional as F

        self.strata, self.F, self.written = strata, F, 0

    def silu(self, x):
        return x.silu()

    def gelu(self, x):
        return self.F.gelu(x, approximate="tanh")

    def relu(self, x):
        return x.relu()

    def float32(self, x):
        return x.cast("float32")

    def like(self, x, other):
        """x in the type of the other one."""
        return x.cast(other.dtype)

    def softmax(self, x):
        return x.softmax(-1)

    def rmsnorm(self, x, weight):
        return self.strata.nn.rmsnorm(x, weight)

    def layernorm(self, x, weight, bias):
        return self.strata.nn.layernorm(x, 1, weight, bias)

    def attention(self, q, k, v, causal=False, window=0):
        """Heads of the keys repeat over those of the queries; window: of how many keys a query sees the last."""
        mask = None
        if window:
            i, j = self.strata.arange(q.shape[-2]).reshape(-1, 1), self.strata.arange(k.shape[-2])
            mask = (j <= i) & (j > i - window)
        return self.strata.nn.scaled_dot_product_attention(q, k, v, mask=mask, causal=causal)

    def conv2d(self, x, w, stride=1, padding=0, groups=1):
        return self.F.conv2d(x, w, stride=stride, padding=padding, groups=groups)

    def conv1d(self, x, w):
        return self.F.conv1d(x, w, padding=1)

    def cross_entropy(self, logits, ids):
        return self.strata.nn.cross_entropy(logits, ids)

    def embedding(self, ids, weight):
        return self.strata.nn.embedding(ids, weight)

    def cat(self, parts, axis):
        return self.strata.concat(parts, axis=axis)

    def sort(self, x):
        return x.sort(-1)

    def topk(self, x, k):
        return x.topk(k)[0]

    def unique(self, x):
        return self.strata.unique_values(x)

    def histogram(self, ids, classes):
        return self.strata.Tensor.zeros(classes).index_add(0, ids, self.strata.Tensor.ones(ids.shape[0]))

    def write(self, cache, place, value):
        """The cache with the value at a place of its axis 2, in place."""
        self.written += value.nbytes
        cache[:, :, place : place + value.shape[2]] = value
        return cache

    def assign(self, tensor, value):
        self.written += tensor.nbytes
        return tensor.assign(value)

    def gradients(self, loss, leaves):
        return self.strata.gradients(loss, leaves)


class Torch:
    def __init__(self):
        import torch

        self.torch, self.F = torch, torch.nn.functional

    def silu(self, x):
        return self.F.silu(x)

    def gelu(self, x):
        return self.F.gelu(x, approximate="tanh")

    def relu(self, x):
        return self.F.relu(x)

    def float32(self, x):
        return x.float()

    def like(self, x, other):
        return x.to(other.dtype)

    def softmax(self, x):
        return x.softmax(-1)

    def rmsnorm(self, x, weight):
        return self.F.rms_norm(x, x.shape[-1:], weight, eps=1e-6)

    def layernorm(self, x, weight, bias):
        return self.F.layer_norm(x, x.shape[-1:], weight, bias)

    def attention(self, q, k, v, causal=False, window=0):
        mask = None
        if window:
            i, j = (self.torch.arange(t.shape[-2], device=q.device) for t in (q, k))
            mask = (j <= i[:, None]) & (j > i[:, None] - window)
        return self.F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and not window)

    def conv2d(self, x, w, stride=1, padding=0, groups=1):
        return self.F.conv2d(x, w, stride=stride, padding=padding, groups=groups)

    def conv1d(self, x, w):
        return self.F.conv1d(x, w, padding=1)

    def cross_entropy(self, logits, ids):
        return self.F.cross_entropy(logits.float(), ids)

    def embedding(self, ids, weight):
        return self.F.embedding(ids, weight)

    def cat(self, parts, axis):
        return self.torch.cat(parts, axis)

    def sort(self, x):
        return x.sort(-1).values

    def topk(self, x, k):
        return x.topk(k).values

    def unique(self, x):
        return x.unique()

    def histogram(self, ids, classes):
        return self.torch.bincount(ids, minlength=classes).float()

    def write(self, cache, place, value):
        cache[:, :, place : place + value.shape[2]] = value
        return cache

    def assign(self, tensor, value):
        with self.torch.no_grad():
            return tensor.copy_(value)

    def gradients(self, loss, leaves):
        return list(self.torch.autograd.grad(loss, leaves))
