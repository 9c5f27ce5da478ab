"""Layers without state of their own kind: linear maps, tables, dropout, sequences."""

from __future__ import annotations

import math

from .._checks import called, check_all, integer, shown
from .._strata import UsageError
from ..functional import embedding, linear
from . import init
from .functional import dropout
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._strata import Tensor
    from .._types import DTypeLike


def parameter(value: Tensor) -> Tensor:
    """A tensor in memory of its own that requires a gradient."""
    return value.contiguous().realize().requires_grad_()


class Linear(Module):
    """x (..., in_features) -> (..., out_features): x @ weight^T + bias.

    weight (out_features, in_features) and bias (out_features,) start uniform within 1 / sqrt(in_features).
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: DTypeLike = "float32") -> None:
        in_features, out_features = (
            integer("Linear", "in_features", in_features),
            integer("Linear", "out_features", out_features),
        )
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = parameter(init.uniform((out_features, in_features), -bound, bound, dtype))
        self.bias = parameter(init.uniform((out_features,), -bound, bound, dtype)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def _describes(self):
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}{'' if self.bias is not None else ', bias=False'}"


class Embedding(Module):
    """Integer ids of any shape -> shape + (embedding_dim,): rows of weight (num_embeddings, embedding_dim), which
    starts normal.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: DTypeLike = "float32") -> None:
        shape = (
            integer("Embedding", "num_embeddings", num_embeddings),
            integer("Embedding", "embedding_dim", embedding_dim),
        )
        self.weight = parameter(init.normal(shape, dtype=dtype))

    def forward(self, ids: Tensor) -> Tensor:
        return embedding(ids, self.weight)

    def _describes(self):
        return "{}, {}".format(*self.weight.shape)


class Dropout(Module):
    """In training each element becomes 0 with probability p, and the others are divided by 1 - p; else x itself."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p <= 1:
            raise UsageError(f"[Dropout] the probability {p} is not between 0 and 1")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)

    def _describes(self):
        return f"{self.p}"


class Flatten(Module):
    """(n, ...) -> (n, the rest as one axis)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class Identity(Module):
    """x itself."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Sequential(Module):
    """Calls modules and functions of one tensor one after the other."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        for layer in layers:
            if not callable(layer):
                raise UsageError(
                    f"[Sequential] {shown(layer)} is no module and no function of one tensor: pass them one by one, "
                    f"Sequential(*layers)"
                )
        self.layers = list(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = called("Sequential", layer, (x,))
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, i: int | slice) -> Any:
        return Sequential(*self.layers[i]) if isinstance(i, slice) else self.layers[i]


check_all(globals(), __name__)
