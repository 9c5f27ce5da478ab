"""NumPy's functions on tensors: those that Strata has give a Tensor, the others are computed by NumPy, on the host,
from the values.

Imported at the first call of one.
"""

import inspect

import numpy

import strata
from strata import Tensor

# NumPy's functions that are one of Strata's, with the parameters listed here; a call with others is NumPy's.
FUNCTIONS = {
    "abs": lambda x: strata.abs(x),
    "all": lambda a, axis=None, keepdims=False: a.all(axis, keepdims),
    "any": lambda a, axis=None, keepdims=False: a.any(axis, keepdims),
    "argmax": lambda a, axis=None, keepdims=False: a.argmax(axis, keepdims),
    "argmin": lambda a, axis=None, keepdims=False: a.argmin(axis, keepdims),
    "argsort": lambda a, axis=-1: a.flatten().argsort() if axis is None else a.argsort(axis),
    "astype": lambda x, dtype: x.cast(dtype),
    "bincount": lambda x, weights=None, minlength=0: strata.bincount(x, weights, minlength),
    "broadcast_to": lambda array, shape: array.expand(shape),
    "clip": lambda a, a_min=None, a_max=None: a.clip(a_min, a_max),
    "concatenate": lambda arrays, axis=0: strata.concat(arrays, axis=axis),
    "copy": lambda a: a.clone(),
    "count_nonzero": lambda a, axis=None, keepdims=False: a.count_nonzero(axis, keepdims),
    "cumprod": lambda a, axis=None, dtype=None: _flat(a, axis).cumprod(axis or 0, dtype),
    "cumsum": lambda a, axis=None, dtype=None: _flat(a, axis).cumsum(axis or 0, dtype),
    "diff": lambda a, n=1, axis=-1: strata.diff(a, n=n, axis=axis),
    "einsum": lambda subscripts, *operands: strata.einsum(subscripts, *operands),
    "expand_dims": lambda a, axis: strata.expand_dims(a, axis),
    "flip": lambda m, axis=None: m.flip(axis),
    "imag": lambda val: val.imag,
    "kron": lambda a, b: strata.kron(*_tensors(a, b)),
    "linalg.cholesky": lambda a: strata.linalg.cholesky(a),
    "linalg.det": lambda a: strata.linalg.det(a),
    "linalg.inv": lambda a: strata.linalg.inv(a),
    "linalg.norm": lambda x, ord=None, axis=None, keepdims=False: strata.norm(x, ord, axis, keepdims),
    "max": lambda a, axis=None, keepdims=False: a.max(axis, keepdims),
    "mean": lambda a, axis=None, keepdims=False: a.mean(axis, keepdims),
    "median": lambda a, axis=None, keepdims=False: strata.median(a, axis, keepdims),
    "min": lambda a, axis=None, keepdims=False: a.min(axis, keepdims),
    "moveaxis": lambda a, source, destination: a.movedim(source, destination),
    "nanmax": lambda a, axis=None, keepdims=False: strata.nanmax(a, axis, keepdims),
    "nanmean": lambda a, axis=None, keepdims=False: strata.nanmean(a, axis, keepdims),
    "nanmin": lambda a, axis=None, keepdims=False: strata.nanmin(a, axis, keepdims),
    "nansum": lambda a, axis=None, keepdims=False: strata.nansum(a, axis, keepdims),
    "ones_like": lambda a, dtype=None: a.ones_like(dtype),
    "outer": lambda a, b: strata.outer(*(x.flatten() for x in _tensors(a, b))),
    "permute_dims": lambda a, axes=None: a.T if axes is None else a.permute(axes),
    "prod": lambda a, axis=None, dtype=None, keepdims=False: a.prod(axis, keepdims, dtype),
    "quantile": lambda a, q, axis=None, keepdims=False: strata.quantile(a, q, axis, keepdims),
    "ravel": lambda a: a.flatten(),
    "real": lambda val: val.real,
    "repeat": lambda a, repeats,
    axis=None: a.repeat(repeats.tolist() if isinstance(repeats, numpy.ndarray) else repeats, axis),
    "reshape": lambda a, shape: a.reshape(shape),
    "roll": lambda a, shift, axis=None: strata.roll(a, shift, axis),
    "round": lambda a, decimals=0: a.round() if decimals == 0 else NotImplemented,
    "searchsorted": lambda a, v, side="left": strata.searchsorted(*_tensors(a, v), side=side),  # type: ignore[call-arg]
    "sort": lambda a, axis=-1: a.flatten().sort() if axis is None else a.sort(axis),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "stack": lambda arrays, axis=0: strata.stack(arrays, axis),
    "std": lambda a, axis=None, ddof=0, keepdims=False,
    correction=None: a.std(axis, correction if correction is not None else ddof, keepdims),
    "sum": lambda a, axis=None, dtype=None, keepdims=False: a.sum(axis, keepdims, dtype),
    "swapaxes": lambda a, axis1, axis2: a.transpose(axis1, axis2),
    "take": lambda a, indices, axis=None: a.take(_tensors(indices)[0], axis),
    "take_along_axis": lambda arr, indices, axis=-1: _flat(arr, axis).gather(axis or 0, _tensors(indices)[0]),
    "tensordot": lambda a, b, axes=2: strata.tensordot(*_tensors(a, b), axes=axes),
    "tile": lambda A, reps: A.tile(reps) if not isinstance(reps, int) else A.tile((1,) * (A.ndim - 1) + (reps,)),
    "transpose": lambda a, axes=None: a.T if axes is None else a.permute(axes),
    "tril": lambda m, k=0: m.tril(k) if m.ndim > 1 else NotImplemented,
    "triu": lambda m, k=0: m.triu(k) if m.ndim > 1 else NotImplemented,
    "var": lambda a, axis=None, ddof=0, keepdims=False,
    correction=None: a.var(axis, correction if correction is not None else ddof, keepdims),
    "where": lambda condition, x, y: strata.where(condition, x, y),
    "zeros_like": lambda a, dtype=None: a.zeros_like(dtype),
}  # fmt: skip
SAME = {"amax": "max", "amin": "min", "concat": "concatenate", "around": "round"}
# Universal functions of another name than Strata's.
UNIVERSAL = {"absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
             "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj",
             "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
             "rint": "round", "power": "pow"}  # fmt: skip
_NO_VALUE = numpy._NoValue


def _tensors(*values):
    return [x if isinstance(x, Tensor) else Tensor(x) for x in values]


def _flat(x, axis):
    return x.flatten() if axis is None else x


def _on_host(value):
    """With arrays for the tensors, in lists and tuples too."""
    if isinstance(value, Tensor):
        return numpy.asarray(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_on_host, value))
    return value


def _ours(f, given, named):
    """f's result, or NotImplemented where the call says more than f takes."""
    named = {
        name: value
        for name, value in named.items()
        if value is not _NO_VALUE and not (value is None and name in ("out", "where", "order", "kind"))
    }
    try:
        inspect.signature(f).bind(*given, **named)
    except TypeError:
        return NotImplemented
    first = next(iter(given), None)
    if isinstance(first, numpy.ndarray):
        given = (Tensor(first), *given[1:])
    return f(*given, **named)


def function(f, given, named):
    """__array_function__."""
    module = f.__module__.removeprefix("numpy").lstrip(".")
    name = f"{module}.{f.__name__}" if module else f.__name__
    row = FUNCTIONS.get(SAME.get(name, name))
    found = _ours(row, given, named) if row else NotImplemented
    return (
        f(*_on_host(given), **{name: _on_host(value) for name, value in named.items()})
        if found is NotImplemented
        else found
    )


def universal(f, method, given, named):
    """__array_ufunc__: f(x) and f(x, y) of a name that Strata has."""
    ours = getattr(strata, UNIVERSAL.get(f.__name__, f.__name__), None)
    if method == "__call__" and ours and not named:
        return ours(*given)
    return getattr(f, method)(*_on_host(given), **{name: _on_host(value) for name, value in named.items()})
