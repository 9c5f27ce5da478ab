"""Optimisers: what a step makes of parameters and their gradients, computed together in one go.

    step = optim.AdamW(model.parameters(), lr=optim.cosine(3e-4, steps=1000, warmup=50))
    loss.backward()
    step()

A learning rate is a number, or a function of the number of steps made before: constant, linear, cosine, exponential,
step_decay.
"""

from __future__ import annotations

import math
import sys

from . import _jit, _names, _strata
from ._checks import check_all, integer, real, shown
from ._renamed import renamed_attribute, renamed_function
from ._strata import DTypeError, Tensor, UsageError, dtypes
from .nn.module import new_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._types import ArrayLike, LearningRate, Parameters


# Rates.


def _warmed(lr, warmup):
    integer("warmup", "the number of steps", warmup)
    return lambda step: lr(step - warmup) if step >= warmup else lr(0) * (step + 1) / (warmup + 1)


def constant(lr: float, warmup: int = 0) -> Callable[[int], float]:
    """After `warmup` steps, over which it grows evenly, always the same."""
    real("constant", "lr", lr, 0)
    return _warmed(lambda step: lr, warmup)


def _check_way(name, lr, steps, end):
    real(name, "lr", lr, 0), real(name, "end", end, 0), integer(name, "steps", steps, 1)


def linear(lr: float, steps: int, end: float = 0.0, warmup: int = 0) -> Callable[[int], float]:
    """From `lr` to `end` over `steps` steps, 1 or more, then `end`."""
    _check_way("linear", lr, steps, end)
    return _warmed(lambda step: lr + (end - lr) * min(step / steps, 1), warmup)


def cosine(lr: float, steps: int, end: float = 0.0, warmup: int = 0) -> Callable[[int], float]:
    """From `lr` to `end` over `steps` steps, 1 or more, along half a cosine (Loshchilov and Hutter 2017)."""
    _check_way("cosine", lr, steps, end)
    return _warmed(lambda step: end + (lr - end) * (1 + math.cos(math.pi * min(step / steps, 1))) / 2, warmup)


def exponential(lr: float, gamma: float, warmup: int = 0) -> Callable[[int], float]:
    """Times `gamma` at each step."""
    real("exponential", "lr", lr, 0), real("exponential", "gamma", gamma, 0)
    return _warmed(lambda step: lr * gamma**step, warmup)


def step_decay(lr: float, step_size: int, gamma: float = 0.1, warmup: int = 0) -> Callable[[int], float]:
    """Times `gamma` every `step_size` steps."""
    real("step_decay", "lr", lr, 0), real("step_decay", "gamma", gamma, 0)
    integer("step_decay", "step_size", step_size, 1)
    return _warmed(lambda step: lr * gamma ** (step // step_size), warmup)


stairs = renamed_function("stairs", step_decay)


def clip_grad_norm(parameters: Parameters, max_norm: float) -> Tensor:
    """Scales the gradients so that their common norm is at most `max_norm`; returns the norm before, a Tensor."""
    real("clip_grad_norm", "max_norm", max_norm, 0)
    grads = [(p, p.grad) for p in _tensors("clip_grad_norm", parameters) if p.grad is not None]
    if not grads:
        raise UsageError("[clip_grad_norm] no parameter has a gradient: call backward() first")
    norm = sum(g.cast("float32").square().sum() for _, g in grads).sqrt()
    scale = (max_norm / (norm + 1e-6)).minimum(1.0)
    for p, g in grads:
        p.grad = (g * scale).cast(p.dtype)
    return norm


def clip_grad_value(parameters: Parameters, max_value: float) -> None:
    """Keeps each element of the gradients within [-max_value, max_value]."""
    real("clip_grad_value", "max_value", max_value, 0)
    for p in _tensors("clip_grad_value", parameters):
        if p.grad is not None:
            p.grad = p.grad.clamp(-max_value, max_value)


def _tensors(name, parameters):
    """Those of a list, or the only one."""
    found = (
        [parameters]
        if isinstance(parameters, Tensor)
        else list(parameters)
        if hasattr(type(parameters), "__iter__")
        else []
    )
    for i, p in enumerate(found):
        if not isinstance(p, Tensor):
            raise UsageError(
                f"[{name}] parameter {i} is a {type(p).__name__}: pass a list of tensors, "
                f"as module.parameters() gives it"
            )
    if not found:
        raise UsageError(f"[{name}] there are no parameters: pass a list of tensors, as module.parameters() gives it")
    return found


# Optimisers.


class Optimizer:
    """The base of all optimizers. A class says which state tensors it keeps for each parameter (`slots`) and how a step
    updates one (`update`). `numbers` names the numbers beside the learning rate."""

    slots: tuple[str, ...] = ()
    rate = renamed_attribute("rate", "lr")

    def __init__(self, parameters: Parameters, lr: LearningRate) -> None:
        self.parameters = _tensors(type(self).__name__, parameters)
        for i, p in enumerate(self.parameters):
            if not p.requires_grad:
                raise UsageError(f"[{type(self).__name__}] parameter {i} requires no gradient: requires_grad_() first")
            if (first := next(j for j, q in enumerate(self.parameters) if q is p)) != i:
                raise UsageError(f"[{type(self).__name__}] parameter {i} is parameter {first} again: give each once")
        self._check_rate(lr)
        self.lr, self.steps = lr, 0
        self.state = [
            {name: p.detach().zeros_like(dtype=self._wide(p)).contiguous() for name in self.slots}
            for p in self.parameters
        ]
        _strata.realize([t for state in self.state for t in state.values()])

    def _check_rate(self, lr):
        if isinstance(lr, (int, float)) and lr < 0:
            raise UsageError(
                f"[{type(self).__name__}] lr is {lr}, negative: steps go against the gradient by themselves"
            )
        return lr if callable(lr) else real(type(self).__name__, "lr", lr, 0)

    def _check(self, **numbers):
        """Each is finite and 0 or more."""
        for name, value in numbers.items():
            real(type(self).__name__, name, value, 0)

    @staticmethod
    def _wide(p):
        return "float32" if p.dtype.itemsize < 4 else p.dtype.name

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *numbers: Tensor) -> Tensor:
        """The new value; puts what it keeps into state. lr and the numbers are tensors of shape (), of value's type."""
        raise NotImplementedError

    def numbers(self) -> list[float]:
        """The arguments of update after the learning rate in this step, which is number self.steps, from 1 on."""
        return []

    def _count(self):
        lr = self._check_rate(self.lr(self.steps) if callable(self.lr) else self.lr)
        if callable(lr):
            raise UsageError(
                f"[{type(self).__name__}] lr of step {self.steps} is {shown(lr)}: the function gives a number"
            )
        self.steps += 1
        return [float(lr), *self.numbers()]

    def __call__(self, scale: Tensor | None = None, when: Tensor | None = None) -> None:
        """Makes a step from the gradients that are there, and takes them away; parameters without one stay.

        scale: a tensor of shape () that gradients are multiplied with. when: a bool tensor of shape (); where it is
        false all stays as it is, but for the count of steps.
        """
        for name, given in (("scale", scale), ("when", when)):
            if given is not None and not (isinstance(given, Tensor) and given.shape == ()):
                raise UsageError(f"[{type(self).__name__}] {name} is {shown(given)}: a tensor of shape ()")
        if when is not None and when.dtype != dtypes.bool:
            raise DTypeError(f"[{type(self).__name__}] when is of {when.dtype.name}: compare it, so that it is a bool")
        with_grad = [(p, state) for p, state in zip(self.parameters, self.state) if p.grad is not None]
        if not with_grad:
            raise UsageError(f"[{type(self).__name__}] no parameter has a gradient: call backward() before a step")
        widest = "float64" if any(self._wide(p) == "float64" for p, _ in with_grad) else "float32"
        given = _jit.fed(self._count, self, ["steps"], widest, self.parameters[0].device)
        numbers = {wide: list(given.cast(wide)) for wide in {self._wide(p) for p, _ in with_grad}}
        changed = []
        for p, state in with_grad:
            changed += self._assign(p, state, numbers[self._wide(p)], scale, when)
        losses: Any = _strata._take_losses()  # what they share with their gradients is computed once
        _strata.realize(changed, losses)

    def _assign(self, p, state, numbers, scale, when):
        """Gives p and its state their new values, takes its gradient away, and returns them. Nothing else holds the
        old values then, so that the new ones may take their memory."""
        wide, slots = self._wide(p), dict(state)
        value, grad = p.detach().cast(wide), p.grad.cast(wide)
        new = self.update(value, grad if scale is None else grad * scale.cast(wide), slots, *numbers)
        if when is not None:
            new, slots = when.where(new, value), {name: when.where(t, state[name]) for name, t in slots.items()}
        p.grad = None
        return [p.assign(new.cast(p.dtype)), *[t.assign(slots[name]) for name, t in state.items()]]

    step = __call__

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None

    def state_dict(self) -> dict[str, Tensor | int]:
        """Name -> tensor or number: what another of its kind goes on from."""
        return {
            "steps": self.steps,
            **{f"{i}.{name}": t for i, state in enumerate(self.state) for name, t in state.items()},
        }

    def load_state_dict(self, state: Mapping[str, ArrayLike]) -> None:
        """Goes on from what state_dict() of another of its kind gave. UsageError for other names, ShapeError and
        DTypeError for values that do not fit; nothing is changed then."""
        own, steps = _checked_names(self.state_dict(), state), state["steps"]
        steps = integer(
            "load_state_dict", "steps", steps.item() if isinstance(steps, Tensor) and steps.size == 1 else steps
        )
        del own["steps"]
        new = new_values(own, {name: state[name] for name in own})
        self.steps = steps
        for tensor, value in new:
            tensor.assign(value)


def _checked_names(own, state):
    if not hasattr(state, "keys"):
        raise UsageError(
            f"[load_state_dict] takes a dict by name, as state_dict() gives it, not a {type(state).__name__}"
        )
    if own.keys() != set(state.keys()):
        raise UsageError(
            f"[load_state_dict] of other names: {', '.join(sorted(map(str, own.keys() ^ set(state.keys()))))}"
        )
    return own


class SGD(Optimizer):
    """value - lr * (grad + weight_decay * value), with momentum m = momentum * m + that; nesterov looks a step
    ahead.
    """

    def __init__(
        self,
        parameters: Parameters,
        lr: LearningRate = 1e-2,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        self._check(momentum=momentum, weight_decay=weight_decay)
        self.momentum, self.nesterov, self.weight_decay = momentum, nesterov, weight_decay
        self.slots = ("momentum",) if momentum else ()
        super().__init__(parameters, lr)

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *numbers: Tensor) -> Tensor:
        if self.weight_decay:
            grad = grad + value * self.weight_decay
        if self.momentum:
            state["momentum"] = m = state["momentum"] * self.momentum + grad
            grad = grad + m * self.momentum if self.nesterov else m
        return value - grad * lr


class Adam(Optimizer):
    """Steps by the mean of gradients over the root of the mean of their squares, both corrected for their start at 0.

    Kingma and Ba 2015, algorithm 1. weight_decay times the value is added to the gradient.
    """

    slots = ("mean", "square")

    def __init__(
        self,
        parameters: Parameters,
        lr: LearningRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self._check(eps=eps, weight_decay=weight_decay)
        if (
            not isinstance(betas, (tuple, list))
            or len(betas) != 2
            or not all(isinstance(b, (int, float)) and 0 <= b < 1 for b in betas)
        ):
            raise UsageError(f"[{type(self).__name__}] betas are {shown(betas)}: two numbers, 0 or more and below 1")
        self.betas, self.eps, self.weight_decay = tuple(betas), eps, weight_decay
        super().__init__(parameters, lr)

    def numbers(self) -> list[float]:
        return [1 - beta**self.steps for beta in self.betas]

    def _direction(self, grad, state, first, second):
        for name, beta, what in (("mean", self.betas[0], grad), ("square", self.betas[1], grad.square())):
            state[name] = state[name] * beta + what * (1 - beta)
        return (state["mean"] / first) / ((state["square"] / second).sqrt() + self.eps)

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *corrections: Tensor) -> Tensor:
        return (
            value
            - self._direction(grad + value * self.weight_decay if self.weight_decay else grad, state, *corrections) * lr
        )


class AdamW(Adam):
    """Adam whose decay goes past the gradient's means: value * (1 - lr * weight_decay) (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        parameters: Parameters,
        lr: LearningRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *corrections: Tensor) -> Tensor:
        return value * (1 - lr * self.weight_decay) - self._direction(grad, state, *corrections) * lr


class Lamb(AdamW):
    """AdamW whose steps are as long, beside the parameter's norm, for each tensor (You et al. 2020, algorithm 2)."""

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *corrections: Tensor) -> Tensor:
        step = self._direction(grad, state, *corrections) + value * self.weight_decay
        length, of_step = value.square().sum().sqrt(), step.square().sum().sqrt()
        trust = ((length > 0) & (of_step > 0)).where(length / of_step.maximum(1e-30), 1.0)
        return value - step * (trust * lr)


class Muon(Optimizer):
    """Momentum, made nearly orthogonal by five Newton-Schulz steps, for matrices (Jordan et al. 2024); others by SGD's
    rule.
    """

    slots = ("momentum",)

    def __init__(
        self, parameters: Parameters, lr: LearningRate = 2e-2, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        self._check(momentum=momentum, weight_decay=weight_decay)
        self.momentum, self.weight_decay = momentum, weight_decay
        super().__init__(parameters, lr)

    def update(self, value: Tensor, grad: Tensor, state: dict[str, Tensor], lr: Tensor, *numbers: Tensor) -> Tensor:
        state["momentum"] = m = state["momentum"] * self.momentum + grad
        step = grad + m * self.momentum
        if value.ndim >= 2 and value.size:
            rows = value.shape[0]
            columns = value.size // rows
            step = self._orthogonal(step.reshape(rows, columns)).reshape(value.shape) * math.sqrt(
                max(1, rows / columns)
            )
        return value * (1 - lr * self.weight_decay) - step * lr

    @staticmethod
    def _orthogonal(x):
        """Singular values near 1: x <- a x + (b A + c A^2) x with A = x x^T, of the smaller side."""
        tall = x.shape[0] > x.shape[1]
        x = (x.T if tall else x) / (x.square().sum().sqrt() + 1e-7)
        for _ in range(5):
            square = x @ x.T
            x = x * 3.4445 + (square * -4.7750 + (square @ square) * 2.0315) @ x
        return x.T if tall else x


class LossScaler:
    """Mixed precision: a loss is multiplied, so that gradients of narrow types do not vanish, and the step divides
    (Micikevicius et al. 2018).

        scaler(loss).backward()
        scaler.step(step)

    A step whose gradients are not all finite is skipped, and the scale is multiplied by `backoff_factor`. After
    `growth_interval` steps in a row that were finite it is multiplied by `growth_factor`. scale and good, the steps in
    a row, are tensors of shape ().
    """

    growth = renamed_attribute("growth", "growth_factor")
    backoff = renamed_attribute("backoff", "backoff_factor")
    every = renamed_attribute("every", "growth_interval")

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        name = "LossScaler"
        real(name, "init_scale", init_scale, 0, 2.0**127, closed=False)
        real(name, "growth_factor", growth_factor, 1, closed=False)
        real(name, "backoff_factor", backoff_factor, 0, 1, closed=False)
        self.growth_factor, self.backoff_factor = growth_factor, backoff_factor
        self.growth_interval = integer(name, "growth_interval", growth_interval, 1)
        self.scale = Tensor(float(init_scale), dtype="float32").contiguous().realize()
        self.good = Tensor(0, dtype="int32").contiguous().realize()

    def __call__(self, loss: Tensor) -> Tensor:
        """The loss times the scale."""
        if not isinstance(loss, Tensor) or not loss.dtype.is_float:
            raise UsageError(f"[LossScaler] the loss is {shown(loss)}: a tensor of floats")
        return loss * self.scale.cast(loss.dtype)

    def step(self, optimizer: Optimizer) -> Tensor:
        """Makes a step of the optimizer, or leaves it out; returns a bool tensor that says whether it was made."""
        if not isinstance(optimizer, Optimizer):
            raise UsageError(
                f"[LossScaler.step] takes an optimiser, not a {type(optimizer).__name__}: scaler.step(step)"
            )
        grads = [p.grad for p in optimizer.parameters if p.grad is not None]
        if not grads:
            raise UsageError("[LossScaler] no parameter has a gradient: call backward() before a step")
        finite = grads[0].isfinite().all()
        for g in grads[1:]:
            finite = finite & g.isfinite().all()
        finite = finite.realize()
        optimizer(scale=1 / self.scale, when=finite)
        good = finite.where(self.good + 1, 0).cast("int32")
        grows = good >= self.growth_interval
        grown = grows.where(self.scale * self.growth_factor, self.scale)
        self.scale.assign(finite.where(grown, self.scale * self.backoff_factor))
        self.good.assign(grows.where(0, good).cast("int32"))
        _strata.realize([self.scale, self.good])
        return finite

    def state_dict(self) -> dict[str, Tensor]:
        return {"scale": self.scale, "good": self.good}

    def load_state_dict(self, state: Mapping[str, ArrayLike]) -> None:
        """As an optimiser's."""
        own = _checked_names(self.state_dict(), state)
        for tensor, value in new_values(own, {name: state[name] for name in own}):
            tensor.assign(value)


check_all(globals(), __name__)
__getattr__ = _names("strata.optim", sys.modules[__name__], "OPTIM")
