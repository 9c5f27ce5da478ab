"""GRU and LSTM over (n, steps, input_size), one layer; gates and their order are PyTorch's."""

from __future__ import annotations

import math

from .. import _strata
from .._checks import check_all, integer
from .._narrow import rounded_once
from .._strata import ShapeError, Tensor, UsageError
from ..functional import linear
from . import init
from .layers import parameter
from .module import Module


class _Recurrent(Module):
    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, dtype="float32"):
        input_size, self.hidden_size = (
            integer(type(self).__name__, "input_size", input_size),
            integer(type(self).__name__, "hidden_size", hidden_size, 1),
        )
        bound = 1 / math.sqrt(hidden_size)

        def start(*shape):
            return parameter(init.uniform(shape, -bound, bound, dtype))

        self.weight_input, self.weight_state = (
            start(self.gates * hidden_size, input_size),
            start(self.gates * hidden_size, hidden_size),
        )
        self.bias_input, self.bias_state = (
            (start(self.gates * hidden_size), start(self.gates * hidden_size)) if bias else (None, None)
        )

    def _run(self, x, state, step):
        if x.ndim != 3 or x.shape[2] != self.weight_input.shape[1]:
            raise ShapeError(
                f"[{type(self).__name__}] shape {x.shape}: it takes (n, steps, {self.weight_input.shape[1]})"
            )
        if not x.shape[1]:
            raise ShapeError(f"[{type(self).__name__}] shape {x.shape} has no steps: there is nothing to give back")
        for t in state:
            if t.shape != (x.shape[0], self.hidden_size):
                raise ShapeError(
                    f"[{type(self).__name__}] a state of shape {t.shape}, not {(x.shape[0], self.hidden_size)}"
                )
        inputs = linear(x, self.weight_input, self.bias_input)
        outputs = []
        for t in range(x.shape[1]):
            state = step(
                inputs[:, t].split(self.hidden_size, 1),
                linear(state[0], self.weight_state, self.bias_state).split(self.hidden_size, 1),
                state,
            )
            outputs.append(state[0])
        return _strata.stack(outputs, 1), state

    def _zero(self, x):
        if x.ndim != 3:
            raise ShapeError(
                f"[{type(self).__name__}] shape {x.shape}: it takes (n, steps, {self.weight_input.shape[1]})"
            )
        return Tensor.zeros((x.shape[0], self.hidden_size), dtype=x.dtype)


class GRU(_Recurrent):
    """x (n, steps, input_size) [, state (n, hidden_size)] -> (outputs (n, steps, hidden_size), the last state) (Cho et
    al. 2014).
    """

    gates = 3

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        @rounded_once
        def step(given, kept, state):
            reset, update = (given[0] + kept[0]).sigmoid(), (given[1] + kept[1]).sigmoid()
            new = (given[2] + reset * kept[2]).tanh()
            return (new + update * (state[0] - new),)

        outputs, last = self._run(x, (self._zero(x) if state is None else state,), step)
        return outputs, last[0]


class LSTM(_Recurrent):
    """x (n, steps, input_size) [, (h, c), each (n, hidden_size)] -> (outputs (n, steps, hidden_size), (h, c))
    (Hochreiter and Schmidhuber 1997).
    """

    gates = 4

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        @rounded_once
        def step(given, kept, state):
            take, keep, new, show = (g + k for g, k in zip(given, kept))
            cell = keep.sigmoid() * state[1] + take.sigmoid() * new.tanh()
            return show.sigmoid() * cell.tanh(), cell

        if state is not None and not (isinstance(state, (tuple, list)) and len(state) == 2):
            raise UsageError("[LSTM] the state is a pair (h, c), as a call gives it back")
        return self._run(x, (self._zero(x), self._zero(x)) if state is None else tuple(state), step)


check_all(globals(), __name__)
