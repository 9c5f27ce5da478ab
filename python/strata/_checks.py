"""Checks of arguments of layers, losses and optimisers: what is wrong is said with the value and with what is taken.

checked(function) adds nothing to a call that works. Where one fails with an error of Python's own, its arguments are
looked at by name.
"""

import contextlib
import functools
import math
import numbers
import operator
import os
import types
from collections.abc import Iterable, Mapping

from ._strata import ArgumentError, Error, Tensor, UsageError, dtypes

_PYTHONS = (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, UnboundLocalError)


def integer(where, name, value, least=0):
    """The value as an int."""
    with contextlib.suppress(TypeError):
        if not isinstance(value, (bool, Tensor)) and (number := operator.index(value)) >= least:
            return number
    raise UsageError(f"[{where}] {name} is {shown(value)}: an integer" + f", {least} or more" * (least > -math.inf))


def real(where, name, value, above=-math.inf, below=math.inf, closed=True):
    """The value, a finite number within [above, below]; within (above, below) where it is not closed."""
    within = (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and above <= value <= below
    )
    if not within or not closed and value in (above, below):
        ends = f", {'at least' if closed else 'above'} {above:g}" * (
            above > -math.inf
        ) + f", {'at most' if closed else 'below'} {below:g}" * (below < math.inf)
        raise UsageError(f"[{where}] {name} is {shown(value)}: a finite number{ends}")
    return value


def _is_index(value):
    with contextlib.suppress(TypeError):
        return not isinstance(value, (bool, Tensor)) and operator.index(value) is not None
    return False


def _is_real(value):
    return isinstance(value, numbers.Real)


def _is_axes(value):
    return value is None or _is_index(value) or isinstance(value, (tuple, list))


_TENSOR = (lambda v: isinstance(v, Tensor), "a Tensor")
_REAL = (_is_real, "a number")
_INTEGER = (_is_index, "an integer")
_SIZES = (lambda v: v is None or _is_real(v) or isinstance(v, (tuple, list)), "a number, or one for each axis")
_SHAPE = (lambda v: _is_index(v) or isinstance(v, (tuple, list)) and all(map(_is_index, v)), "a shape, such as (2, 3)")
_STATE = (lambda v: isinstance(v, Mapping), "a dict of tensors by name, as state_dict() gives it")
_ROWS = {
    **dict.fromkeys("x x1 x2 a b logits log_probabilities log_probs anchor positive negative input input1 input2 ids "
                    "indices labels query key value loss theta grid tensor target targets variance".split(), _TENSOR),
    **dict.fromkeys("weight bias mask memory attn_mask running_mean running_var".split(),
                    (lambda v: v is None or isinstance(v, Tensor), "a Tensor")),
    **dict.fromkeys("in_features out_features in_channels out_channels num_embeddings embedding_dim embed_dim "
                    "input_size hidden_size num_heads num_kv_heads num_features num_channels width groups num_groups "
                    "channels blank n upscale_factor downscale_factor".split(), _INTEGER),
    **dict.fromkeys("window stride padding dilation output_padding output_size kernel_size size scale_factor".split(),
                    _SIZES),
    **dict.fromkeys("shape normalized_shape".split(), _SHAPE),
    **dict.fromkeys("axis dim axes".split(), (_is_axes, "an axis, an integer from 0 on or below 0 from the end")),
    **dict.fromkeys("eps delta beta margin gamma momentum p alpha slope negative_slope label_smoothing gain std mean "
                    "low high lower upper min_val max_val threshold lambd tau norm_type end factor max_norm max_value "
                    "weight_decay base".split(), _REAL),
    **dict.fromkeys("reduction mode approximate padding_mode".split(), (lambda v: isinstance(v, str), "a word")),
    **dict.fromkeys("input_lengths target_lengths".split(),
                    (lambda v: isinstance(v, (list, tuple, Tensor)), "a list of integers")),
    "pad": (lambda v: isinstance(v, (list, tuple)), "a list of integers"),
    "dtype": (lambda v: isinstance(v, str) and v in {t.name for t in dtypes.all} or not isinstance(v,
        (str, int, float, list, dict)), "a type, such as 'float32'"),
    "parameters": (lambda v: isinstance(v, Iterable) and not isinstance(v, (str, bytes, Mapping)),
                   "a list of tensors, as module.parameters() gives it"),
    "optimizer": (lambda v: callable(v) and hasattr(v, "parameters"), "an optimiser of strata.optim"),
    "state": (lambda v: v is None or isinstance(v, (Mapping, Tensor, tuple)), _STATE[1]),
    "path": (lambda v: isinstance(v, (str, bytes, os.PathLike)), "the name of a file"),
    "layers": (lambda v: all(map(callable, v)), "modules or functions of one tensor"),
}  # fmt: skip


def shown(value):
    from ._hints import _short

    return _short.repr(value)


def called(where, function, given, named=types.MappingProxyType({})):
    """The result of a user's function. Where it takes other arguments than those, ArgumentError says which."""
    try:
        return function(*given, **named)
    except TypeError as e:
        if not isinstance(e, Error):
            _say_arguments(where, function, given, named)
        raise


def _say_arguments(where, function, given, named):
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of what is not written in Python
        return
    try:
        signature.bind(*given, **named)
    except TypeError as e:
        count = f"{len(given)} argument{'s' * (len(given) != 1)}{''.join(f', {name}=' for name in named)}"
        raise ArgumentError(
            f"[{where}] calls {getattr(function, '__name__', shown(function))}{signature} with {count}: {e}"
        ) from None


def _explain(function, name, given, named, error, is_total):
    """Raises what is wrong with the arguments; returns where nothing is seen."""
    import inspect  # which takes longer to import than most of the package

    signature = inspect.signature(function)
    plain = f"[{name}] takes {str(signature).replace('self, ', '', 1).replace('(self)', '()')}"
    try:
        bound = signature.bind(*given, **named).arguments
    except TypeError as e:
        shape = (
            "; a shape is one argument, such as (2, 3)"
            if "too many positional" in str(e) and "shape" in signature.parameters
            else ""
        )
        raise ArgumentError(f"{plain}: {e}{shape}") from None
    for argument, value in bound.items():
        fits, words = _ROWS.get(argument, (None, None))
        usual = signature.parameters[argument].default
        if fits and not fits(value) and value is not usual and not isinstance(usual, bool):
            raise ArgumentError(f"{plain}: {argument} is {shown(value)}, not {words}") from None
    if is_total:
        raise ArgumentError(
            f"{plain}, got ({', '.join(f'{k}={shown(v)}' for k, v in bound.items())}), "
            f"of which it cannot make a result: {error}"
        ) from error


def _meant(function, named):
    """The named arguments of a call by the function's own names, where some are torch's or the last version's; else
    None.
    """
    import inspect

    from ._hints import by_own_names

    own = inspect.signature(function).parameters
    return by_own_names(function.__qualname__.removesuffix(".__init__"), own, named)


def checked(function, of_object=False, name=None, is_total=False):
    """The function, whose errors of Python's own say which argument is to blame. is_total: it calls nothing of the
    user's, so that all of them are errors of its arguments."""

    @functools.wraps(function)
    def call(*given, **named):
        try:
            return function(*given, **named)
        except _PYTHONS as e:
            if isinstance(e, Error):
                raise
            if (
                isinstance(e, TypeError)
                and named.get("requires_grad") is True
                and "device" in (function.__kwdefaults__ or ())
            ):
                return call(*given, **{k: v for k, v in named.items() if k != "requires_grad"}).requires_grad_()
            if isinstance(e, TypeError) and (meant := _meant(function, named)) is not None:
                return call(*given, **meant)
            _explain(
                function,
                type(given[0]).__name__ if of_object and given else name or function.__name__,
                given,
                named,
                e,
                is_total,
            )
            raise

    call.is_checked = True
    return call


def show(namespace):
    """dir() of a module gives what is public: the names of __all__, and the modules below it."""
    below = namespace["__name__"] + "."

    def is_shown(name, value):
        is_below = isinstance(value, types.ModuleType) and value.__name__.startswith(below)
        return name in namespace["__all__"] or name.startswith("__") or (is_below and not name.startswith("_"))

    namespace["__dir__"] = lambda: sorted(name for name, value in namespace.items() if is_shown(name, value))


def check_all(namespace, module, is_total=False):
    """Wraps the public functions of a module in checks, and the construction and calls of its classes. Lists their
    names in __all__ where there is none. With a dot at its end: of the modules below.
    """
    public = []
    for name, value in [*namespace.items()]:
        of = getattr(value, "__module__", None)
        if not isinstance(of, str) or not (of.startswith(module) if module.endswith(".") else of == module):
            continue
        if not name.startswith("_") and isinstance(value, (types.FunctionType, type)):
            public.append(name)
        if isinstance(value, types.FunctionType) and not name.startswith("_") and not hasattr(value, "is_checked"):
            namespace[name] = checked(value, is_total=is_total)
        elif isinstance(value, type):
            for method in ("__init__", "forward", "load_state_dict", "step"):
                if isinstance(own := vars(value).get(method), types.FunctionType) and not hasattr(own, "is_checked"):
                    setattr(value, method, checked(own, of_object=True))
    namespace.setdefault("__all__", public)
    show(namespace)
