"""strata.autotune: the fastest of some configs of a kernel, found once for each key and kept on disk."""

import inspect
import json

from .. import _strata
from .._strata import DType, Tensor, UsageError
from ._dynamic import Dynamic, TensorSpec
from ._fingerprint import Fingerprint
from ._kernel import Kernel

_lang = _strata._lang
_RUNS = 3  # of a config where time is measured; modelled time is the same in each
# How far results of configs may be apart, relative to the largest of them, by the bytes of a number.
_TOLERANCE = {1: 0.25, 2: 0.02, 4: 1e-4, 8: 1e-9}

chosen: dict = {}  # by key: (record) of what this process searched, for files of `strata tune --export`


class Config:
    """Arguments of a kernel by name, as one choice of autotune: Config(tile=(64, 64, 16), block=128).

    grid and block are those of the launch.
    """

    def __init__(self, *, grid=None, block=None, **arguments):
        self.grid, self.block, self.arguments = grid, block, arguments

    def __repr__(self):
        launch = {k: v for k, v in (("grid", self.grid), ("block", self.block)) if v is not None}
        return f"Config({', '.join(f'{k}={v!r}' for k, v in {**self.arguments, **launch}.items())})"

    def __eq__(self, other):
        return isinstance(other, Config) and vars(self) == vars(other)

    def __hash__(self):
        return hash(repr(self))


def _of_value(value):
    """The part of an argument that decides: of tensors shape and type."""
    if isinstance(value, (Tensor, TensorSpec, Dynamic)):
        return (*value.shape, value.dtype.name)
    if isinstance(value, DType):
        return value.name
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return (*value.shape, str(value.dtype))
    return value


def _tensor_of(value):
    return value.tensor if isinstance(value, Dynamic) else value if isinstance(value, Tensor) else None


def _with_tensor(value, tensor):
    return Dynamic(tensor, value.leading, value.divisibility) if isinstance(value, Dynamic) else tensor


def _agree(found, wanted):
    """Whether a result is the first config's, but for the order of its sums."""
    import numpy as np

    if not wanted.dtype.is_float:
        return bool(np.array_equal(found.numpy(), wanted.numpy()))
    a, b = (t.cast("float64").numpy() for t in (found, wanted))
    finite = b[np.isfinite(b)]
    most = _TOLERANCE[wanted.dtype.itemsize] * (np.abs(finite).max() if finite.size else 1)
    return bool(np.allclose(a, b, rtol=0, atol=most, equal_nan=True))


class Tuned:
    """A kernel whose configs are chosen by time. best: the config of each key."""

    def __init__(self, kernel, configs, key, prune, reset_to_zero, restore_value, default, artifact, measure):
        if not isinstance(kernel, Kernel):
            raise UsageError("[autotune] stands above @strata.kernel: it chooses among configs of a kernel")
        self.kernel, self.configs, self.prune, self.default = kernel, tuple(configs), prune, default
        self.file, self.measure, self.best = artifact, measure, {}
        self.__name__, self.__doc__ = kernel.__name__, kernel.__doc__
        names = tuple(inspect.signature(kernel.function).parameters)
        if not self.configs or not all(isinstance(c, Config) for c in self.configs):
            raise UsageError(f"[autotune] {self.__name__}: configs are strata.Config(...), one at least")
        given = set(self.configs[0].arguments)
        for config in self.configs:
            if config.arguments.keys() != given:
                raise UsageError(
                    f"[autotune] {self.__name__}: {config!r} gives other arguments than {self.configs[0]!r}"
                )
        self.key = tuple(key) if key is not None else tuple(n for n in names if n not in given)
        self.reset_to_zero, self.restore_value = tuple(reset_to_zero), tuple(restore_value)
        for what, of in (("configs", given), ("key", self.key), ("reset_to_zero", self.reset_to_zero),
                         ("restore_value", self.restore_value)):  # fmt: skip
            for name in of:
                if name not in names:
                    raise UsageError(f"[autotune] {what}: {self.__name__} has no parameter {name}; it has: "
                                     f"{', '.join(names)}")  # fmt: skip
        self._signature, self._given = inspect.signature(kernel.function), given

    def __repr__(self):
        return f"<strata.autotune of {self.__name__}, {len(self.configs)} configs>"

    def _bound(self, given, named):
        """The arguments of a call by name, but for those that configs give."""
        twice = self._given & named.keys()
        if twice:
            raise UsageError(f"[autotune] {self.__name__}: {', '.join(sorted(twice))} is what the configs give")
        bound = self._signature.bind_partial(*given, **named)
        for name, parameter in self._signature.parameters.items():
            if name not in bound.arguments and name not in self._given and parameter.default is not parameter.empty:
                bound.arguments[name] = parameter.default
        missing = [n for n in self._signature.parameters if n not in bound.arguments and n not in self._given]
        if missing:
            raise TypeError(f"missing a required argument: {missing[0]!r}")
        return dict(bound.arguments)

    def _with(self, config, arguments, grid, block):
        """The arguments of the kernel by a config, and the sizes of its launch."""
        known = {**arguments, **config.arguments}
        ordered = [known[name] for name in self._signature.parameters]
        sizes = {
            "grid": config.grid if grid is None else grid,
            "block": config.block if block is None else block,
        }
        return ordered, sizes

    def _call(self, config, arguments, grid, block, stream=None):
        ordered, sizes = self._with(config, arguments, grid, block)
        return self.kernel(*ordered, **sizes, stream=stream)

    def _config(self, arguments, grid, block):
        key = tuple(_of_value(arguments[name]) for name in self.key)
        config = self.best.get(key)
        if config is None:
            config = self._choice(key, arguments, grid, block)
            if not _lang.compile_only():
                self.best[key] = config
        return config

    def __call__(self, *given, grid=None, block=None, stream=None, **named):
        arguments = self._bound(given, named)
        return self._call(self._config(arguments, grid, block), arguments, grid, block, stream)

    def _chosen(self, given, named, grid=None, block=None):
        """The same as arguments of the kernel's own methods."""
        arguments = self._bound(given, named)
        return self._with(self._config(arguments, grid, block), arguments, grid, block)

    def chosen(self, *given):
        ordered, sizes = self._chosen(given, {})
        return self.kernel.chosen(*ordered, **sizes)

    def artifact(self, given, grid, block, arch):
        ordered, sizes = self._chosen(given, {}, grid, block)
        return self.kernel.artifact(ordered, **sizes, arch=arch)

    def compiled(self, *given, grid=None, block=None, arch="", **named):
        """The kernel by the config for these arguments, as Kernel.compiled."""
        ordered, sizes = self._chosen(given, named, grid, block)
        return self.kernel.compiled(*ordered, **sizes, arch=arch)

    def graph(self, *given, grid=None, block=None, arch="", **named):
        """The traced kernel by the config for these arguments, as Kernel.graph."""
        ordered, sizes = self._chosen(given, named, grid, block)
        return self.kernel.graph(*ordered, **sizes, arch=arch)

    def interpret(self, *given, grid=None, block=None, trace=None, arch="", **named):
        """The results of a call by the config for these arguments, as Kernel.interpret."""
        ordered, sizes = self._chosen(given, named, grid, block)
        return self.kernel.interpret(*ordered, **sizes, trace=trace, arch=arch)

    def _choice(self, key, arguments, grid, block):
        place = self._place(key, arguments)
        known = self._of_cache(place) or self._of_artifact(place)
        if known is None and self.default is not None:
            known = self.default(arguments) if callable(self.default) else self.default
            if known is not None and not isinstance(known, Config):
                raise UsageError(f"[autotune] default gives a strata.Config, or None to search, not {known!r}")
        return known or self._search(place, arguments, grid, block)

    def _place(self, key, arguments):
        """Under which a choice is known: by the kernel, the configs, the key and the machine."""
        found = Fingerprint(self.kernel.function, tuple(map(repr, self.configs)), key)
        tensors = [t for t in map(_tensor_of, arguments.values()) if t is not None]
        name = f"{self.__name__} {_lang.arch_of(tensors)} {_lang.model_of(tensors)} {found.digest()}"
        return name if found.is_portable else None

    def _config_at(self, record):
        """The config that a record names, where it still is one of them."""
        at = record.get("index")
        if type(at) is int and 0 <= at < len(self.configs) and record.get("config") == repr(self.configs[at]):
            return self.configs[at]
        return None

    def _of_cache(self, place):
        text = place and _lang.disk_get("configs", place)
        return self._config_at(json.loads(text)) if text else None

    def _of_artifact(self, place):
        if self.file is None or place is None:
            return None
        try:
            with open(self.file) as file:
                records = json.load(file)["configs"]
            found = next((r for r in records if r["place"] == place), None)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"[autotune] artifact {self.file}: no file of `strata tune --export` with configs: {error}"
            ) from None
        return self._config_at(found) if found else None

    def _worth_a_try(self, arguments):
        if self.prune is None:
            return self.configs
        configs = tuple(self.prune(list(self.configs), dict(arguments)))
        if not configs or not all(c in self.configs for c in configs):
            raise UsageError(f"[autotune] prune gives some of the configs of {self.__name__}, not {configs!r}")
        return configs

    def _search(self, place, arguments, grid, block):
        configs = self._worth_a_try(arguments)
        if len(configs) == 1:
            return configs[0]
        if _lang.run_only():
            raise UsageError(
                f"[autotune] no cache has a config of {self.__name__} for these arguments, and with run_only none is "
                f"searched: call it once without run_only, or give default= or artifact="
            )
        if any(isinstance(value, TensorSpec) for value in arguments.values()):
            raise UsageError(
                f"[autotune] a search among the configs of {self.__name__} runs them: give tensors for "
                f"lang.TensorSpec, or default="
            )
        best, wanted, failed = None, None, []
        for config in configs:
            try:
                results, run = self._tried(config, arguments, grid, block)
            except Exception as error:  # of its compilation or launch, or of the author's own asserts
                failed.append((config, f"{type(error).__name__}: {error}"))
                continue
            if _lang.compile_only():
                best = best or (0, config)
                continue
            if wanted is None:
                wanted = results
            elif len(results) != len(wanted) or not all(map(_agree, results, wanted)):
                failed.append((config, "its results are not those of the first config"))
                continue
            try:
                ms = self._time(run, config)
            except _strata.Error as error:
                failed.append((config, str(error)))
                continue
            if best is None or ms < best[0]:
                best = ms, config
        if best is None:
            why = "\n".join(f"  {config!r}: {error.splitlines()[0]}" for config, error in failed)
            raise UsageError(f"[autotune] no config of {self.__name__} works:\n{why}")
        return self._kept(place, best) if place and not _lang.compile_only() else best[1]

    def _kept(self, place, best):
        """The fastest config, which later processes and files of `strata tune --export` know."""
        index = self.configs.index(best[1])
        record = {"place": place, "kernel": self.__name__, "index": index, "config": repr(best[1]), "ms": best[0]}
        chosen[place] = record
        _lang.disk_put("configs", place, json.dumps(record).encode())
        return best[1]

    def _tried(self, config, arguments, grid, block):
        """The results of a config on copies of the tensors, and a function that runs it again on them."""
        first = {n: t for n, t in ((n, _tensor_of(v)) for n, v in arguments.items()) if t is not None}
        copies = {name: tensor.clone().realize() for name, tensor in first.items()}
        own = {n: _with_tensor(v, copies[n]) if n in copies else v for n, v in arguments.items()}

        def prepare():
            for name in self.reset_to_zero:
                copies[name].assign(copies[name].zeros_like()).realize()
            for name in self.restore_value:
                copies[name].assign(first[name].clone()).realize()

        def run():
            prepare()
            _strata.reset_stats()
            written = self._call(config, own, grid, block)
            return written, _strata.stats().time_ms

        for name in self.reset_to_zero:
            copies[name].assign(copies[name].zeros_like()).realize()
        results = [tensor.clone().realize() for tensor in self._call(config, own, grid, block)]
        return results, run

    def _time(self, run, config):
        if self.measure is not None:
            ms = self.measure(lambda: run()[0], config)
            if not isinstance(ms, (int, float)):
                raise UsageError(f"[autotune] measure(run, config) gives milliseconds, not {ms!r}")
            return ms
        count = 1 if _strata.stats().modelled else _RUNS
        return min(run()[1] for _ in range(count))


def autotune(
    configs,
    *,
    key=None,
    prune=None,
    reset_to_zero=(),
    restore_value=(),
    default=None,
    artifact=None,
    measure=None,
):
    """Above @strata.kernel: the fastest of some strata.Config of a kernel, for each key.

    key: names of the parameters that decide, of tensors by shape and type; by default all that no config gives. A call
    with a new key looks in the cache, then in `artifact`, a file of `strata tune --export`. Then comes `default`, a
    Config or a function of the arguments. Else it runs all configs on copies of the tensors. Those that
    fail or disagree with the first lose, ties go to the first. prune(configs, arguments): the configs worth a try.
    reset_to_zero, restore_value: names of tensors that the kernel adds to, before each run. measure(run, config): its
    time in ms. best: the config of each key.
    """

    def tuned(kernel):
        return Tuned(kernel, configs, key, prune, reset_to_zero, restore_value, default, artifact, measure)

    return tuned
