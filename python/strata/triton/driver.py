"""Triton's driver on an emulated device: the target, the limits, loaded code, and times, which are modelled."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import strata

from .launch import Function, Launcher, resources


def of_triton(name: str) -> Any:
    """A module of the installed triton. Raises ImportError."""
    return importlib.import_module(f"triton.{name}")


class Event:
    """A point in modelled time."""

    def __init__(self, enable_timing: bool = True) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        strata.synchronize()
        self.at = strata.stats().time_ms

    def synchronize(self) -> None:
        strata.synchronize()

    def elapsed_time(self, later: "Event") -> float:
        """Milliseconds until `later`."""
        return later.at - self.at


class Interface:
    """The part of torch.cuda that Triton's own tools use."""

    Event = Event

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def synchronize(device: Any = None) -> None:
        strata.synchronize()


class Utilities:
    """Loads code objects, and knows the device's limits."""

    def __init__(self, device: str, check: str | None) -> None:
        self._device, self._check = device, check

    def load_binary(self, name: str, image: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """(module, function, vector registers, spilled words, most threads)"""
        function = Function(name, image, shared, self._device, self._check)
        return (function, function, *resources(image, name), strata.device_properties(self._device)["max_block"])

    def unload_module(self, module: Any) -> None:
        """Programs are evicted by how long they lie unused."""

    def get_device_properties(self, device: int) -> dict[str, Any]:
        known = strata.device_properties(self._device)
        return {
            "arch": known["arch"],
            "warpSize": known["warp_size"],
            "max_shared_mem": known["lds_per_block"],
            "multiprocessor_count": known["units"],
            "cooperativeLaunch": 0,
        }


class Driver:
    """Triton's driver interface (triton.backends.driver.DriverBase) on one emulated device."""

    launcher_cls = Launcher

    def __init__(self, device: str, check: str | None) -> None:
        self.device = device
        self.utils = Utilities(device, check)

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self) -> Any:
        known = strata.device_properties(self.device)
        return of_triton("backends.compiler").GPUTarget("hip", known["arch"], known["warp_size"])

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        if device != 0:
            raise strata.UsageError(f"[strata.triton] device {device}: {self.device} is the one device, number 0")

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_interface(self) -> type[Interface]:
        return Interface

    def get_active_torch_device(self) -> Any:
        return importlib.import_module("torch").device("cpu")

    def map_python_to_cpp_type(self, kind: str) -> str:
        return str(of_triton("backends.amd.driver").ty_to_cpp(kind))

    def get_benchmarker(self) -> Callable[..., Any]:
        return do_bench

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: Any) -> None:
        """Modelled launches begin with what the launches before left in the caches."""

    def assemble_tensormap_to_arg(self, infos: Any, args: Any) -> Any:
        return args


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """triton.testing.do_bench in modelled time, in milliseconds: one run before it and one that counts.

    Modelled time is the same in each run and on each machine, so that each quantile is that time.
    """
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise strata.UsageError(f"[do_bench] return_mode={return_mode!r}: expected min, max, mean, median or all")
    before, after = Event(), Event()
    fn()
    before.record()
    fn()
    after.record()
    time = before.elapsed_time(after)
    if quantiles is not None:
        return [time] * len(quantiles) if len(quantiles) != 1 else time
    return [time] if return_mode == "all" else time
