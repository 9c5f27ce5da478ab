"""Module: what has parameters, may hold others of its kind, and is called."""

from __future__ import annotations

import reprlib

from .._checks import check_all
from .._derivatives import no_grad
from .._strata import DType, ShapeError, Tensor, UsageError, _become as become, devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from .._types import ArrayLike, DTypeLike


def new_values(own: Mapping[str, Tensor], state: Mapping[str, ArrayLike]) -> list[tuple[Tensor, Tensor]]:
    """(tensor, the value that it is to get) of each name of a state; ShapeError, DTypeError for one that does not
    fit.
    """
    found = []
    for name, value in state.items():
        t, value = own[name], value if isinstance(value, Tensor) else Tensor(value)
        if value.shape != t.shape:
            raise ShapeError(f"[load_state_dict] {name} has shape {t.shape}, the value {value.shape}")
        found.append((t, value.detach().cast(t.dtype)))
    return found


def by_name(pairs: Iterable[tuple[str, Tensor]], what: str) -> dict[str, Tensor]:
    """A dict of them; UsageError for two of one name."""
    found = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(
                f"[{what}] two tensors are called '{name}': give an attribute or a key of a dict another name"
            )
        found[name] = value
    return found


class Module:
    """The base of layers and models. A class of your own makes its parts in __init__ and says in forward what a call
    does.

    Parts are found among the attributes: tensors, modules, and lists, tuples and dicts of them. Parameters are the
    tensors that require a gradient; the others (running statistics) are saved with them, and are no parameters.
    """

    training = True

    def forward(self, *inputs: Any, **named: Any) -> Any:
        raise UsageError(f"{type(self).__name__} has no forward(): write what a call of it does")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self.forward(*inputs, **named)

    def _parts(self):
        """(name, tensor or module), in the order of attributes; of a container each once, which may hold itself."""
        pending, seen = list(reversed(vars(self).items())), set()
        while pending:
            name, value = pending.pop()
            if isinstance(value, (Tensor, Module)):
                yield name, value
            elif id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, (list, tuple)):
                pending += reversed([(f"{name}.{i}", v) for i, v in enumerate(value)])
            elif isinstance(value, dict):
                pending += reversed([(f"{name}.{k}", v) for k, v in value.items()])

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this one, whose name is the prefix, and of all below it, each once."""
        seen, pending = set(), [(prefix, self)]
        while pending:
            name, module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            pending += reversed(
                [(f"{name}.{part}" if name else part, m) for part, m in module._parts() if isinstance(m, Module)]
            )

    def modules(self) -> list[Module]:
        return [module for _, module in self.named_modules()]

    def _tensors(self):
        seen = set()
        for prefix, module in self.named_modules():
            for name, value in module._parts():
                if isinstance(value, Tensor) and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{prefix}.{name}" if prefix else name), value

    def named_parameters(self) -> list[tuple[str, Tensor]]:
        """(dotted name, tensor) of each parameter, those that are shared once."""
        return [(name, t) for name, t in self._tensors() if t.requires_grad]

    def parameters(self) -> list[Tensor]:
        return [t for _, t in self.named_parameters()]

    def state_dict(self) -> dict[str, Tensor]:
        """Dotted name -> tensor, of parameters and everything else that is to be saved. UsageError where two have one
        name.
        """
        return by_name(self._tensors(), "state_dict")

    def load_state_dict(self, state: Mapping[str, ArrayLike], strict: bool = True) -> None:
        """Gives the tensors other values, by name. strict: every name is there, and no other; UsageError names what is
        not.

        ShapeError for a value of another shape, DTypeError for a complex one in a real tensor; nothing is changed then.
        Values are cast to the types that the tensors have.
        """
        if not hasattr(state, "items"):
            raise UsageError(f"[load_state_dict] takes a dict of tensors by name, not a {type(state).__name__}")
        own = self.state_dict()
        missing, unknown = [n for n in own if n not in state], [n for n in state if n not in own]
        if strict and (missing or unknown):
            raise UsageError(
                f"[load_state_dict] missing: {', '.join(missing) or 'nothing'}; unknown: "
                f"{', '.join(unknown) or 'nothing'}"
            )
        for tensor, value in new_values(own, {n: state[n] for n in own if n in state}):
            tensor.assign(value)

    def train(self, mode: bool = True) -> Self:
        """As for training (Dropout drops, BatchNorm uses the batch), or not; returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        return self.train(False)

    def children(self) -> list[Module]:
        """The modules right below this one, in the order of attributes."""
        return [m for _, m in self._parts() if isinstance(m, Module)]

    def apply(self, function: Callable[[Module], object]) -> Self:
        """Calls function(module) for each module below this one and then for this one; returns the module."""
        for module in reversed(self.modules()):
            function(module)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """All tensors of floats are parameters, or none is; returns the module."""
        for _, t in self._tensors():
            if t.dtype.is_float:
                t.requires_grad_(requires_grad)
        return self

    def to(self, dtype: DTypeLike | Tensor | None = None, device: str | None = None) -> Self:
        """Casts the tensors of floats to a type of floats, moves all tensors to a device; returns the module.
        to("emu:gfx942") and to(tensor) work too. Tensors stay the same objects, so that an optimiser made before goes
        on with them."""
        if isinstance(dtype, Tensor):
            return self.to(dtype.dtype, device or dtype.device)
        if isinstance(dtype, str) and dtype in devices():
            dtype, device = None, dtype
        kind = None if dtype is None else DType(dtype)
        if kind is not None and not kind.is_float:
            raise UsageError(f"[to] {kind.name} is no type of floats: parameters have gradients")
        with no_grad():
            for _, t in self._tensors():
                value = t.cast(kind) if kind is not None and t.dtype.is_float else t
                value = value.to(device) if device else value
                if value is not t:
                    become(t, value)
        return self

    def half(self) -> Self:
        return self.to("float16")

    def bfloat16(self) -> Self:
        return self.to("bfloat16")

    def float(self) -> Self:
        return self.to("float32")

    def double(self) -> Self:
        return self.to("float64")

    def __getattr__(self, name):
        if name.startswith("_"):  # protocols that Python and NumPy look for
            raise AttributeError(f"{type(self).__name__} has no '{name}'", name=name)
        from .. import _hints

        return _hints.attribute_of_module(self, name)

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.grad = None  # type: ignore[misc]  # None is the one value that it takes

    def _describes(self):
        """The text between the parentheses of its line in repr."""
        return ""

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        parts = [(name, repr(m).replace("\n", "\n  ")) for name, m in self._parts() if isinstance(m, Module)]
        if not parts:
            return f"{type(self).__name__}({self._describes()})"
        return f"{type(self).__name__}(\n" + "".join(f"  {name}: {text}\n" for name, text in parts) + ")"


check_all(globals(), __name__)
