"""strata.kernel: a Python function as a kernel, traced and compiled once for each kind of arguments."""

import functools
import inspect
import re
import types

from .. import _strata
from .._strata import CustomKernel, LaunchError, UsageError
from . import _indices, _state
from ._arguments import TensorSpec, taker
from ._functions import rewritten

_lang = _strata._lang
_FEW_BLOCKS = 2**20  # along x: what most launches have; 32 bits then hold the number of a thread
_MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_HERE = __file__.rpartition("/")[0]


def _dimensions(value, what):
    """One to three sizes as three."""
    if isinstance(value, int):
        value = (value,)
    sizes = tuple(value)
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{what} has 1 to 3 dimensions, got {len(sizes)}")
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise LaunchError(f"{what} {value!r}: every dimension is an integer of at least 1")
    return sizes + (1,) * (3 - len(sizes))


def _place(value, sizes, what):
    """A number, or up to three, as the three of a block or thread that the launch has."""
    place = (value,) if isinstance(value, int) else tuple(value)
    place += (0,) * (3 - len(place))
    if len(place) != 3 or not all(type(i) is int and 0 <= i < size for i, size in zip(place, sizes)):
        raise UsageError(f"[interpret] there is no {what} {value!r}: the launch has {sizes}")
    return place


class Kernel:
    """A Python function as a kernel. A call launches it and returns the tensors that it writes."""

    def __init__(self, function, grid, block):
        if not isinstance(function, types.FunctionType):
            raise UsageError(f"[kernel] decorates a Python function, not {function!r}")
        functools.update_wrapper(self, function)
        self.function, self.grid, self.block = function, grid, block
        self._signature = inspect.signature(function)
        self._names, self._takers = None, ()
        self._specialised = {}

    def __repr__(self):
        return f"<strata.kernel {self.__name__}>"

    def _prepare(self):
        """The parameters; at the first call, when names that annotations use are there."""
        try:
            annotations = inspect.get_annotations(self.function, eval_str=True)
        except Exception:
            annotations = inspect.get_annotations(self.function)
        takers = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise UsageError(f"[kernel] {self.__name__} takes {parameter}: give a tuple to one parameter")
            takers.append(taker(annotations.get(name)))
        self._takers, self._names = takers, tuple(self._signature.parameters)

    def _arguments(self, given, named):
        if self._names is None:
            self._prepare()
        if named or len(given) != len(self._names):
            bound = self._signature.bind(*given, **named)
            bound.apply_defaults()
            given = tuple(bound.arguments.values())
        return given

    def _launch_size(self, what, asked, given):
        value = getattr(self, what) if asked is None else asked
        if value is None:
            raise LaunchError(
                f"[{self.__name__}] no {what}: give {what}= to the call or to the decorator, a number or 1 to 3 of them"
            )
        if callable(value):
            value = value(*given)
        return _dimensions(value, what)

    def _specialise(self, given, grid, block):
        """The compiled kernel for these arguments, and what its launch is given: at the end the sizes of the grid that
        the kernel reads."""
        parameters, launched, key = [], [], [grid[0] > _FEW_BLOCKS, block]
        for name, take, value in zip(self._names, self._takers, given):
            parameter, argument = take(name, value)
            parameters.append(parameter)
            key.append(parameter.key)
            if parameter.is_given:
                launched.append(argument)
        key.append(_indices.machine())
        key = tuple(key)
        known = self._specialised.get(key)
        if known is None:
            known = self._specialised[key] = self._traced(parameters, grid, block)
        kernel, sizes = known
        return kernel, launched + [grid[dim] for dim in sizes] if sizes else launched

    def _traced(self, parameters, grid, block):
        most = (_FEW_BLOCKS if grid[0] <= _FEW_BLOCKS else _MOST_BLOCKS[0], *_MOST_BLOCKS[1:])
        count = sum(parameter.is_given for parameter in parameters)
        with _state.Tracing(block) as trace, _indices.Launch(most, block, count) as launch:
            slot, arguments = 0, []
            for parameter in parameters:
                arguments.append(parameter.traced(slot))
                slot += parameter.is_given
            try:
                result = rewritten(self.function)(*arguments)
            except Exception as error:
                raise _explained(error) from error.__cause__
            if result is not None:
                raise UsageError(
                    f"[{self.__name__}] a kernel returns nothing: store its results in tensors it is given"
                )
            return _lang.kernel_of(trace.finish(self.__name__)), tuple(launch.sizes)

    def __call__(self, *given, grid=None, block=None, stream=None, **named):
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        kernel, launched = self._specialise(given, grid, block)
        if stream is None:
            return kernel(*launched, grid=grid)
        with stream:
            return kernel(*launched, grid=grid)

    def chosen(self, *given):
        """The compiled kernel for a call with these arguments, what its launch is given, and its grid."""
        given = self._arguments(given, {})
        grid, block = self._launch_size("grid", None, given), self._launch_size("block", None, given)
        kernel, launched = self._specialise(given, grid, block)
        return kernel, launched, grid

    def compiled(self, *given, grid=None, block=None, arch="", **named) -> CustomKernel:
        """The kernel for arguments of these types and shapes, which lang.TensorSpec may stand for."""
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        with _indices.Machine(arch):
            return self._specialise(given, grid, block)[0]

    def interpret(self, *given, grid=None, block=None, trace=None, arch="", **named):
        """The results of a call, as new tensors, by the reference of graphs: no code is made, no device runs it.

        A race, a read of memory that nothing wrote and an access outside of a tensor are errors that name thread and
        block. trace=(block, thread), each a number or three: a list of (node, values) of what that thread computes, in
        order.
        """
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        with _indices.Machine(arch or _indices.machine()):
            kernel, launched = self._specialise(given, grid, block)
            wave = _lang.wave_size_of(_indices.machine())
        if any(isinstance(argument, TensorSpec) for argument in launched):
            raise UsageError(f"[interpret] {self.__name__} computes with data: give a tensor for lang.TensorSpec")
        observed = None
        if trace is not None:
            if not isinstance(trace, tuple) or len(trace) != 2:
                raise UsageError(f"[interpret] trace is (block, thread), each a number or three, not {trace!r}")
            observed = (_place(trace[0], grid, "block"), _place(trace[1], block, "thread"))
        found = _lang.interpret(_lang.graph_of(kernel), grid, block, wave, launched, observed)
        return found if observed else tuple(tensor for _, tensor in found)

    def graph(self, *given, grid=None, block=None, arch="", **named):
        """The traced kernel as a graph, a strata.uop.UOp."""
        return _lang.graph_of(self.compiled(*given, grid=grid, block=block, arch=arch, **named))


def _explained(error):
    """The error with the user's own frames alone; a name without a value says which way does not assign it."""
    frames = []
    found = error.__traceback__
    while found is not None:
        if not found.tb_frame.f_code.co_filename.startswith(_HERE):
            frames.append(found)
        found = found.tb_next
    kept = None
    for frame in reversed(frames):
        kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    if isinstance(error, NameError) and (named := re.search(r"variable '(\w+)'", str(error))):
        reason = _state.state.missing.get(named[1])
        if reason and frames:
            place = frames[-1]
            told = UsageError(f"{named[1]} has no value in line {place.tb_lineno}: {reason}")
            return told.with_traceback(kept)
    return error.with_traceback(kept)


def kernel(function=None, *, grid=None, block=None):
    """A kernel from a Python function: @strata.kernel(grid=..., block=...).

    grid: blocks, block: threads of a block, each a number, up to three, or a function of the arguments; a call may give
    others. The function runs once for each kind of arguments, on values of the kernel. `if`, `while`, `for` over range
    and other decisions by such a value become control flow of the kernel. docs/language.md
    """
    if function is None:
        return lambda f: Kernel(f, grid, block)
    return Kernel(function, grid, block)
