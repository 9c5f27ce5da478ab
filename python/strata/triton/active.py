"""Strata as the driver of an installed triton."""

import gc
from collections.abc import Callable
from typing import Any, Literal

import strata

from .driver import Driver, do_bench, of_triton
from .memory import Given

_before: list[Callable[[], None]] = []  # undo what activate() did, last first
_depth = 0  # calls that run within one another: triton.autotune calls the function that it tunes


def _with_memory(run: Callable[..., Any], device: str) -> Callable[..., Any]:
    """`run` of a Triton function, with arrays and tensors as memory of the device."""

    def run_with_memory(self: Any, *args: Any, **named: Any) -> Any:
        global _depth
        if _depth:
            return run(self, *args, **named)
        given = Given(args, named, device)
        _depth += 1
        try:
            return run(self, *given.args, **given.named)
        finally:
            _depth -= 1
            given.copies.copy_back()

    return run_with_memory


def _set(of: Any, name: str, value: Any) -> None:
    before = getattr(of, name)
    _before.append(lambda: setattr(of, name, before))
    setattr(of, name, value)


def activate(device: str | None = None, check: Literal["report", "raise"] | None = None) -> None:
    """Makes Strata the driver of the installed triton: @triton.jit functions run on an emulated GPU.

    device: "emu:gfx942", ...; where none is given the default device if it is emulated. check: strict mode of these
    launches, "report" or "raise"; without it the setting `check` decides.

    A launch `function[grid](...)` takes tensors of Strata on that device, which it changes in place. NumPy arrays and
    torch tensors on the CPU are copied there and back. triton.autotune and triton.testing.do_bench compare modelled
    times. Raises DeviceError for a device that is not emulated, and for a missing triton.
    """
    try:
        autotuner, jit = of_triton("runtime.autotuner"), of_triton("runtime.jit")
        driver, testing = of_triton("runtime.driver").driver, of_triton("testing")
    except ImportError as error:
        raise strata.DeviceError(f"[strata.triton] no triton to drive ({error}): pip install triton") from error
    chosen = device or strata.default_device()
    emulated = [name for name in strata.devices() if name.startswith("emu:")]
    if chosen not in emulated:
        raise strata.DeviceError(
            f"[strata.triton] '{chosen}' is not emulated: there are {', '.join(emulated)}; "
            f"on a card use Triton's own driver"
        )
    if check not in (None, "report", "raise"):
        raise strata.UsageError(f"[strata.triton] check={check!r}: expected 'report', 'raise' or None")
    deactivate()
    _forget_compiled()
    active = driver._active
    _before.append(lambda: setattr(driver, "_active", active))
    driver.set_active(Driver(chosen, check))
    _set(testing, "do_bench", do_bench)
    for kind in (jit.JITFunction, autotuner.Autotuner, autotuner.Heuristics):
        _set(kind, "run", _with_memory(kind.run, chosen))


def _forget_compiled() -> None:
    """Functions keep what they compiled by the number of the device, which is 0 for each of ours. Code that was loaded
    is loaded again by the next driver."""
    function, compiled = of_triton("runtime.jit").JITFunction, of_triton("compiler.compiler").CompiledKernel
    for found in gc.get_objects():
        if isinstance(found, function):
            found.device_caches.clear()
        elif isinstance(found, compiled):
            found.module = found._run = None


def deactivate() -> None:
    """Gives triton back the driver that it had before activate()."""
    if not _before:
        return
    _forget_compiled()
    while _before:
        _before.pop()()
