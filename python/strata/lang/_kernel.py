"""strata.kernel: a Python function as a kernel, traced and compiled once for each kind of arguments."""

import contextlib
import functools
import inspect
import math
import operator
import re
import types

from .. import _strata
from .._strata import CustomKernel, LaunchError, Unsupported, UsageError
from . import _indices, _state
from ._arguments import taker, takes
from ._dynamic import TensorSpec
from ._fingerprint import Fingerprint, cache_key, disk_key
from ._functions import admit, rewritten
from ._moved_places import placed, portable

_lang = _strata._lang
_FEW_BLOCKS = 2**20  # along x: what most launches have; 32 bits then hold the number of a thread
_MOST_FINGERPRINTS = 64
_MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_HERE = __file__.rpartition("/")[0]


def _size(value):
    """An integer of Python's or NumPy's; None for anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    with contextlib.suppress(TypeError):  # of an array
        return operator.index(value)


def _dimensions(value, what):
    """One to three sizes as three."""
    one = _size(value)
    if one is None and not isinstance(value, (tuple, list)):
        raise LaunchError(
            f"{what} {value!r}: give an integer of at least 1, or a tuple of up to three; lang.cdiv(n, block) divides "
            f"to one"
        )
    sizes = tuple(map(_size, value)) if one is None else (one,)
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{what} has 1 to 3 dimensions, got {len(sizes)}")
    for size in sizes:
        if size is None or size < 1:
            raise LaunchError(f"{what} {value!r}: every dimension is an integer of at least 1")
    return sizes + (1,) * (3 - len(sizes))


def _threads(name, value):
    """The sizes of a block."""
    sizes = _dimensions(value, "block")
    most = _lang.Arch(_indices.machine()).max_block
    if math.prod(sizes) > most:
        raise LaunchError(
            f"[{name}] block {value!r} has {math.prod(sizes)} threads, and a block has at most {most}: take a smaller "
            f"one, and more blocks"
        )
    return sizes


def _place(value, sizes, what):
    """A number, or up to three, as the three of a block or thread that the launch has."""
    place = (value,) if isinstance(value, int) else tuple(value)
    place += (0,) * (3 - len(place))
    if len(place) != 3 or not all(type(i) is int and 0 <= i < size for i, size in zip(place, sizes)):
        raise UsageError(f"[interpret] there is no {what} {value!r}: the launch has {sizes}")
    return place


def _objects_of(parameters):
    """Objects that are compiled in."""
    return tuple(of for parameter in parameters for of in getattr(parameter, "objects", ()))


def _count(name, value, least, most):
    """A hint of the decorator, 0 where there is none."""
    if value is None:
        return 0
    if type(value) is not int or not least <= value <= most:
        raise UsageError(f"[kernel] {name}={value!r}: an integer from {least} to {most}")
    return value


class Kernel(_lang.Calls):
    """A Python function as a kernel. A call launches it and returns the tensors that it writes."""

    def __init__(self, function, grid, block, waves=None, registers=None, fast=False):
        if not isinstance(function, types.FunctionType):
            raise UsageError(f"[kernel] decorates a Python function, not {function!r}")
        if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise UsageError(f"[kernel] {function.__name__} yields or awaits: a kernel is a plain function")
        super().__init__()
        functools.update_wrapper(self, function)
        self.function, self.grid, self.block = function, grid, block
        admit(function)
        self.hints = (_count("waves", waves, 1, 32), _count("registers", registers, 16, 512), bool(fast))
        self._names, self._takers = None, ()
        self._specialised, self._loaded = {}, {}
        self._fingerprints = {}  # by the ids of the objects that a call compiles in
        self._compiled = {}  # by cache key and route: the code of artifacts
        self._messages = {}  # of kernels that say something

    def __repr__(self):
        return f"<strata.kernel {self.__name__}>"

    def _prepare(self):
        """The parameters; at the first call, when names that annotations use are there."""
        annotations = self.function.__annotations__
        if any(isinstance(annotation, str) for annotation in annotations.values()):
            with contextlib.suppress(Exception):
                annotations = inspect.get_annotations(self.function, eval_str=True)
        names = self._parameters()
        self._takers = [taker(annotations.get(name)) for name in names]
        self._set_parameters([takes(annotations.get(name)) for name in names])
        self._names = names

    def _parameters(self):
        """Their names; a signature, which takes longer, where the function may stand for another one."""
        code = self.function.__code__
        if not self.function.__dict__ and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        parameters = inspect.signature(self.function).parameters
        for parameter in parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise UsageError(f"[kernel] {self.__name__} takes {parameter}: give a tuple to one parameter")
        return tuple(parameters)

    def _arguments(self, given, named):
        if self._names is None:
            self._prepare()
        if named or len(given) != len(self._names):
            signature = inspect.signature(self.function)
            try:
                bound = signature.bind(*given, **named)
            except TypeError as error:
                names = ", ".join(signature.parameters)
                raise TypeError(
                    f"{self.__name__}({names}) got {len(given)} arguments and the names {list(named)}: {error}"
                    if named
                    else f"{self.__name__}({names}) got {len(given)} arguments: {error}"
                ) from None
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
        return _threads(self.__name__, value) if what == "block" else _dimensions(value, what)

    def _current(self, objects=()):
        """The fingerprint of the function and of objects that are compiled in; another one where what they read has
        changed."""
        if self._fingerprints and (len(self._fingerprints) > _MOST_FINGERPRINTS or not self._is_current()):
            for old, _ in self._fingerprints.values():
                if old.is_volatile:
                    self._forget(old.digest())
            self._fingerprints = {}
        key = tuple(map(id, objects))
        if key not in self._fingerprints:
            self._fingerprints[key] = Fingerprint(self.function, *objects), objects
            known = [found for found, _ in self._fingerprints.values()]
            self._watch([w for one in known for w in one.watched], [p for one in known for p in one.probes])
        return self._fingerprints[key][0]

    def _forget(self, digest):
        """Drops kernels of a fingerprint that no other one equals."""
        for kernels in (self._specialised, self._loaded):
            for full in [full for full in kernels if full[0] == digest]:
                self._messages.pop(kernels.pop(full)[0], None)

    def _key(self, parameters, grid, block):
        """The facts of a call that decide its kernel, beside the function, the arch and the settings."""
        return (grid[0] > _FEW_BLOCKS, block, self.hints, *(parameter.key for parameter in parameters))

    def _specialise(self, given, grid, block, launches=False):
        """The compiled kernel for these arguments, and what its launch is given: at the end the sizes of the grid that
        the kernel reads. launches: one from disk serves, which has no graph; with run_only before a traced one.
        """
        parameters, launched = [], []
        for name, take, value in zip(self._names, self._takers, given):
            parameter, arguments = take(name, value)
            parameters.append(parameter)
            launched += arguments
        fingerprint = self._current(_objects_of(parameters))
        key = self._key(parameters, grid, block)
        arch = _indices.chosen_machine() or _lang.arch_of(launched)
        full = (fingerprint.digest(), *key, arch)
        known = self._specialised.get(full)
        stored = launches and not _lang.interprets(launched)
        if stored and (known is None or _lang.run_only()):
            known = self._on_disk(fingerprint, full, key, arch, launched) or known
        if known is None:
            if stored and _lang.run_only():
                raise UsageError(
                    f"[{self.__name__}] no cache has this kernel for these arguments, and with run_only nothing is "
                    f"compiled: call it once without run_only, with the same cache_dir, or with compile_only"
                )
            with _indices.Machine(arch):
                known = self._specialised[full] = self._traced(parameters, grid, block)
            if stored and _indices.RING not in known[1]:
                self._keep(fingerprint, key, arch, launched, *known)
        kernel, sizes = known
        if _indices.RING in sizes:
            from ._messages import new_ring

            return kernel, launched + [new_ring(launched) if dim == _indices.RING else grid[dim] for dim in sizes]
        if launches:
            self._add(given, grid, block, kernel, sizes)
        return kernel, launched + [grid[dim] for dim in sizes] if sizes else launched

    def _on_disk(self, fingerprint, full, key, arch, launched):
        """The kernel and the sizes that it reads, as another process compiled it."""
        full = (*full, _lang.route())
        if full not in self._loaded:
            place = disk_key(fingerprint, (self.__name__, key), arch)
            found = place and _lang.disk_get("kernels", place)
            if not found:
                return None
            sizes, _, rest = found.partition(b" ")
            places, _, code = rest.partition(b"\n")
            kernel = _lang.compiled_kernel(code, launched, placed(places, fingerprint.codes))
            if kernel is None:
                return None
            self._loaded[full] = kernel, tuple(sizes)
        return self._loaded[full]

    def _keep(self, fingerprint, key, arch, launched, kernel, sizes):
        place = disk_key(fingerprint, (self.__name__, key), arch)
        code = place and _lang.compiled_bytes(kernel, launched)
        if code:
            places = portable(_lang.places_of(kernel), fingerprint.codes)
            _lang.disk_put("kernels", place, bytes(sizes) + b" " + places + b"\n" + code)

    def _traced(self, parameters, grid, block):
        most = (_FEW_BLOCKS if grid[0] <= _FEW_BLOCKS else _MOST_BLOCKS[0], *_MOST_BLOCKS[1:])
        count = sum(parameter.slots for parameter in parameters)
        waves, registers, fast = self.hints
        with _state.Tracing(block, fast) as trace, _indices.Launch(most, block, count) as launch:
            slot, arguments = 0, []
            for parameter in parameters:
                arguments.append(parameter.traced(slot))
                slot += parameter.slots
            try:
                result = rewritten(self.function, always=True)(*arguments)
            except Exception as error:
                raise _explained(error) from error.__cause__
            _state.check_closed(self.__name__)
            if result is not None:
                raise UsageError(
                    f"[{self.__name__}] a kernel returns nothing: store its results in tensors it is given"
                )
            sink = trace.finish(self.__name__, waves, registers)
            kernel, sizes = _lang.kernel_of(sink, trace), tuple(launch.sizes)
            if launch.messages:
                self._messages[kernel] = launch.messages
            return kernel, sizes

    def _otherwise(self, *given, grid=None, block=None, stream=None, **named):
        """A call that is not known yet, or gives more by name than grid and block."""
        if stream is not None:
            with stream:
                return self(*given, grid=grid, block=block, **named)
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        kernel, launched = self._specialise(given, grid, block, launches=True)
        if _lang.compile_only():
            written = tuple(launched[at] for at in _lang.prepare(kernel, launched))
            return written[:-1] if kernel in self._messages else written  # the last one is the memory of messages
        done = kernel(*launched, grid=grid)
        return self._reported(kernel, done) if kernel in self._messages else done

    def _reported(self, kernel, done):
        """The tensors of a launch without the memory of messages, which are printed."""
        from ._messages import tell

        tell(self.__name__, self._messages[kernel], done[-1])
        return done[:-1]

    def chosen(self, *given, grid=None, block=None):
        """The compiled kernel for a call with these arguments, what its launch is given, and its grid."""
        given = self._arguments(given, {})
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        kernel, launched = self._specialise(given, grid, block, launches=_lang.run_only())
        if kernel in self._messages:
            raise Unsupported(
                f"[{self.__name__}] printf and device_assert are reported after a call: call the kernel itself"
            )
        return kernel, launched, grid

    def compiled(self, *given, grid=None, block=None, arch="", **named) -> CustomKernel:
        """The kernel for arguments of these types and shapes, which lang.TensorSpec may stand for."""
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        with _indices.Machine(arch):
            return self._specialise(given, grid, block)[0]

    def artifact(self, given, grid, block, arch):
        """The Artifact of strata.compile. An entry on disk serves both it and the launches of another process."""
        given = self._arguments(given, {})
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        with _indices.Machine(arch):
            kernel, launched = self._specialise(given, grid, block)
            arch = arch or _lang.arch_of(launched)
            parameters = [take(name, value)[0] for name, take, value in zip(self._names, self._takers, given)]
            parts = (self.__name__, self._key(parameters, grid, block))
            fingerprint = self._current(_objects_of(parameters))
            key, place = cache_key(fingerprint, parts, arch), disk_key(fingerprint, parts, arch)
            known = (key, _lang.route())
            kept = self._compiled.get(known) or (place and _lang.disk_get("kernels", place + " artifact")) or None
            artifact, code = _lang.artifact(kernel, arch, key, kept, grid)
            if code:
                self._compiled[known] = code
            if code and place and not artifact.from_cache:
                self._store(fingerprint, place, kernel, code)
        return artifact

    def _store(self, fingerprint, place, kernel, code):
        """Keeps the code of an artifact on disk, for artifacts and for launches."""
        _lang.disk_put("kernels", place + " artifact", code)
        sizes = next(sizes for traced, sizes in self._specialised.values() if traced is kernel)
        if _indices.RING not in sizes:
            places = portable(_lang.places_of(kernel), fingerprint.codes)
            _lang.disk_put("kernels", place, bytes(sizes) + b" " + places + b"\n" + code)

    def interpret(self, *given, grid=None, block=None, trace=None, arch="", **named):
        """The results of a call, as new tensors, by the reference of graphs: no code is made, no device runs it.

        A race, a read of memory that nothing wrote and an access outside of a tensor are errors that name thread and
        block. trace=(block, thread), each a number or three: a list of (node, values) of what that thread computes, in
        order.
        """
        given = self._arguments(given, named)
        grid, block = self._launch_size("grid", grid, given), self._launch_size("block", block, given)
        with _indices.Machine(arch):
            kernel, launched = self._specialise(given, grid, block)
        wave = _lang.wave_size_of(arch or _lang.arch_of(launched))
        if any(isinstance(argument, _lang.Pointer) for argument in launched):
            raise UsageError(f"[interpret] {self.__name__} computes with tensors: give one for lang.pointer")
        if any(isinstance(argument, TensorSpec) for argument in launched):
            raise UsageError(f"[interpret] {self.__name__} computes with data: give a tensor for lang.TensorSpec")
        observed = None
        if trace is not None:
            if not isinstance(trace, tuple) or len(trace) != 2:
                raise UsageError(f"[interpret] trace is (block, thread), each a number or three, not {trace!r}")
            observed = (_place(trace[0], grid, "block"), _place(trace[1], block, "thread"))
        found = _lang.interpret(kernel, grid, block, wave, launched, observed)
        if observed:
            return found
        done = tuple(tensor for _, tensor in found)
        return self._reported(kernel, done) if kernel in self._messages else done

    def graph(self, *given, grid=None, block=None, arch="", **named):
        """The traced kernel as a graph, a strata.uop.UOp, for a grid."""
        given = self._arguments(given, named)
        grid = self._launch_size("grid", grid, given)
        return _lang.graph_of(self.compiled(*given, grid=grid, block=block, arch=arch), grid)


def _place_of(traceback):
    return traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno


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
        kept = types.TracebackType(kept, *_place_of(frame))
    if isinstance(error, RecursionError) and frames:
        name = frames[-1].tb_frame.f_code.co_name
        return UsageError(
            f"{name} calls itself without an end while the kernel is traced: where the kernel decides, both ways are "
            f"traced. Write a while loop"
        ).with_traceback(types.TracebackType(None, *_place_of(frames[0])))
    if isinstance(error, NameError) and (named := re.search(r"variable '(\w+)'", str(error))):
        reason = _state.state.missing.get(named[1])
        if reason and frames:
            place = frames[-1]
            explained = UsageError(f"{named[1]} has no value in line {place.tb_lineno}: {reason}")
            return explained.with_traceback(kept)
    return error.with_traceback(kept)


def kernel(function=None, *, grid=None, block=None, waves=None, registers=None, fast=False):
    """A kernel from a Python function: @strata.kernel(grid=..., block=...).

    grid: blocks, block: threads of a block, each a number, up to three, or a function of the arguments; a call may give
    others. waves: waves that a vector unit is to hold beside each other. registers: vector registers of a lane at most;
    what needs more is spilled. fast: functions and / by the chip's own instructions where there are, as fast= of each
    function. The function runs once for each kind of arguments, on values of the kernel. `if`, `while`, `for` over
    range and other decisions by such a value become control flow of the kernel. docs/language.md
    """
    if function is None:
        return lambda f: Kernel(f, grid, block, waves, registers, fast)
    return Kernel(function, grid, block, waves, registers, fast)
