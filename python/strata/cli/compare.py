"""strata compare: one function on several devices and targets, against the device that interprets graphs."""

import hashlib
import importlib.util
import inspect
import json
import statistics
import sys
import time
from pathlib import Path

import strata

from .. import _strata
from . import compared

KEYS = ("compile", "run", "results")
KNOWS = ("device", "target", "arch")


class Plan:
    """The file, and the names in it."""

    def __init__(self, args):
        path, _, name = args.what.rpartition(":")
        if not path or not name.isidentifier():
            raise strata.UsageError(f"'{args.what}': expected FILE.py:NAME, a function in a file")
        self.path, self.name, self.samples = Path(path), name, args.samples
        if not self.path.is_file():
            raise strata.UsageError(f"there is no file {path}")
        self.loads = 0

    def load(self):
        """The file's module, run again: its tensors are then on the device of this row."""
        self.loads += 1
        spec = importlib.util.spec_from_file_location(f"strata_compared_{self.loads}", self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, str(self.path.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(self.path.parent))
        return module

    def named(self, module, name):
        found = getattr(module, name, None)
        if not callable(found):
            there = ", ".join(n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__)
            raise strata.UsageError(f"{self.path} has no function '{name}'; it has: {there or 'none'}")
        return found


def parameters(function):
    try:
        return inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()


def needs_arguments(function):
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters(function))


def accepting(function, *given):
    """A call with as many of these as the function has parameters."""
    count = len([p for p in parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])
    return function(*given[:count])


def copied(value, device):
    """The argument on a device, in memory of its own."""
    if not isinstance(value, strata.Tensor):
        return value
    bits = compared.bits_of(value)
    made = strata.Tensor(bits, device=device)
    return (made if value.dtype.numpy_name else made.bitcast(value.dtype)).realize()


class Samples:
    """The arguments of each call: of a factory that asks for no device, made once and copied to each."""

    def __init__(self, plan, reference):
        self.plan, self.shared = plan, None
        module = plan.load()
        self.function = plan.named(module, plan.name)
        self.factory = plan.samples and plan.named(module, plan.samples)
        self.known = [p.name for p in parameters(self.factory)] if self.factory else []
        if unknown := [name for name in self.known if name not in KNOWS]:
            raise strata.UsageError(f"{plan.samples} asks for '{unknown[0]}': a factory is given {', '.join(KNOWS)}")
        self.reference = reference

    def harness(self, module, device, target, arch):
        """(compile, run, results) of a row; run() makes its arguments before it is timed."""
        given = {"device": device, "target": target, "arch": arch}
        function = self.plan.named(module, self.plan.name)
        if not self.factory:
            return None, lambda: (function, (), {}), None
        factory = self.plan.named(module, self.plan.samples)
        made = self.shared
        if made is None:
            made = factory(**{name: given[name] for name in self.known})
        if isinstance(made, dict) and made and set(made) <= set(KEYS):
            if "run" not in made:
                raise strata.UsageError(f"{self.plan.samples} gives no 'run'")
            return made.get("compile"), lambda: (made["run"], None, {}), made.get("results")
        if not self.known:
            self.shared = made
        return None, lambda: (function, *arguments(made, device)), None


def arguments(made, device):
    if isinstance(made, dict):
        return (), {name: copied(value, device) for name, value in made.items()}
    listed = made if isinstance(made, (tuple, list)) else (made,)
    return tuple(copied(value, device) for value in listed), {}


def artifact_of(tensors, arch, target):
    """(what the compiler makes of lazy results, its time); none where nothing is left to compile."""
    start = time.perf_counter()
    try:
        made = strata.compile(tensors, arch=arch, target=target)
        code = made.code_object
    except strata.Error:
        return None, None, 0.0
    spent = (time.perf_counter() - start) * 1e3
    kernels = [kernel.name for kernel in made.kernels]
    return {"kernels": kernels, "sha256": hashlib.sha256(code).hexdigest(), "bytes": len(code)}, made.from_cache, spent


def once(row, prepare, handle, results, cold):
    """Runs the function; gives its results by name, and its time in ms: the modelled one where time is modelled."""
    function, given, named = prepare()
    strata.reset_stats()
    start = time.perf_counter()
    value = accepting(function, handle) if given is None else function(*given, **named)
    value = accepting(results, value, handle) if results else value
    found = compared.flattened(value)
    if not found and given:  # a function without a result: what it leaves in its arguments
        names = [p.name for p in parameters(function)]
        found = {
            (names[i] if i < len(names) else str(i)): t for i, t in enumerate(given) if isinstance(t, strata.Tensor)
        }
    tensors = [t for t in found.values() if isinstance(t, strata.Tensor)]
    spent = 0.0
    if cold and row["target"]:
        row["artifact"], row["from_cache"], spent = artifact_of(tensors, row["arch"], row["target"])
    if tensors:
        strata.realize(*tensors)
    stats = strata.stats()
    wall = (time.perf_counter() - start) * 1e3
    row["modelled"] = stats.modelled
    if cold:
        row["compile_ms"] = spent + stats.compile_ms
    return found, stats.time_ms if stats.modelled and not cold else wall


def fill(row, samples, repeat):
    """Runs a row; gives its results as values, or None."""
    with strata.config(device=row["device"], **({"target": row["target"]} if row["target"] else {})):
        strata.manual_seed(0)
        module = samples.plan.load()
        compiled, prepare, results = samples.harness(module, row["device"], row["target"], row["arch"])
        handle = None
        if compiled:
            start = time.perf_counter()
            handle = compiled()
            spent = (time.perf_counter() - start) * 1e3
        found, row["cold_ms"] = once(row, prepare, handle, results, True)
        if compiled:
            row["compile_ms"] += spent
        values = [compared.Value(name, value) for name, value in found.items()]
        times = [once(row, prepare, handle, results, False)[1] for _ in range(repeat)]
        if times:
            row["warm_ms"], row["warm_median_ms"] = times[0], statistics.median(times)
        return values


def failed(row, status, reason, error=None):
    row["status"], row["reason"] = status, reason
    if error is not None:
        row["error"] = {"type": type(error).__name__, "message": str(error)}


def opened(row):
    """True if the row's device is there, and a compiler for its target."""
    try:
        row["arch"] = strata.device_properties(row["device"])["arch"]
    except strata.Unsupported as e:
        return failed(row, "skipped", "not_executable", e)
    except strata.DeviceError as e:
        return failed(row, "skipped", "no_device", e)
    if row["target"] == "asm" and row["arch"].startswith("sm_"):
        return failed(row, "skipped", "unsupported")
    if row["target"] == "hip" and not row["arch"].startswith("sm_") and not _strata._hip_compiler()[0]:
        return failed(row, "skipped", "no_compiler")
    return True


def filled(row, samples, repeat):
    """The row's values, or None with the reason in the row."""
    if not opened(row):
        return None
    if not samples.factory and needs_arguments(samples.function):
        return failed(row, "skipped", "no_samples")
    try:
        return fill(row, samples, repeat)
    except strata.Unsupported as e:
        failed(row, "skipped", "unsupported", e)
    except (Exception, SystemExit) as e:  # of a function that may be any
        failed(row, "error", None, e)


def interprets(device):
    return device.partition(":")[0] == "interp"


def empty_row(device, target):
    row = dict.fromkeys(
        "device target arch status reason error compile_ms from_cache cold_ms warm_ms warm_median_ms modelled "
        "artifact outputs".split()
    )
    row.update(device=device, target=target, outputs=[])
    return row


def rows_of(args):
    """The reference first, then each device with each target."""
    devices = [name for name in args.devices.split(",") if name] if args.devices else [strata.default_device()]
    targets = [name for name in args.targets.split(",") if name]
    if unknown := [name for name in targets if name not in ("hip", "asm")]:
        raise strata.UsageError(f"--targets {unknown[0]}: expected hip, asm or both")
    rows = [empty_row(args.reference, None if interprets(args.reference) else targets[0])]
    for device in devices:
        rows += [empty_row(device, target) for target in ([None] if interprets(device) else targets)]
    first = (rows[0]["device"], rows[0]["target"])
    return rows[:1] + [row for row in rows[1:] if (row["device"], row["target"]) != first]


def judged(row, values, reference, limits):
    """Fills in how the row's values differ from the reference's."""
    row["outputs"], equal, why = compared.compare(values, reference, limits)
    row["status"] = "ok" if equal else "mismatch"
    if why:
        row["error"] = {"type": "Mismatch", "message": why}


def exit_status(rows):
    states = [row["status"] for row in rows]
    if "mismatch" in states:
        return 1
    if "error" in states:
        return 3
    return 0 if "ok" in states[1:] else 4


def environment():
    found, where = _strata._hip_compiler()
    return {
        "strata": strata.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "devices": strata.devices(),
        "hip_compiler": found,
        "llvm": _strata.llvm_available(),
        "settings": {name: value for name, value, origin, _ in _strata._describe_settings() if origin != "default"},
    }


def line(row):
    where = " ".join(filter(None, (row["device"], row["target"])))
    text = f"{where:24s} {row['arch'] or '-':8s} {row['status']:9s}"
    if row["reason"]:
        text += f" {row['reason']}"
    if row["error"]:
        text += f" {row['error']['type']}: {row['error']['message'].partition(chr(10))[0]}"
    if row["status"] in ("ok", "mismatch"):
        text += f" {row['cold_ms']:.1f} ms"
        for out in row["outputs"]:
            text += f"; {out['name']} {out['dtype']}{out['shape']}"
            if out["max_abs"] is not None:
                text += f" differs by {float(out['max_abs']):.3g} ({out['max_ulp']} ulp) at {out['where']}"
    return text


def run(rows, samples, args, limits):
    """Runs the rows, the reference first, and judges each by it."""
    reference = None
    for number, row in enumerate(rows):
        values = filled(row, samples, args.repeat)
        if number == 0:
            reference = values
        if values is None:
            continue
        if reference is None:
            failed(row, "error", None, LookupError(f"the reference {args.reference} did not run"))
        else:
            judged(row, values, reference, limits)


def compare(args):
    """The exit status."""
    try:
        plan, rows = Plan(args), rows_of(args)
        limits = compared.Limits(args.rtol, args.atol)
        with strata.config(device=rows[0]["device"] if opened(empty_row(args.reference, None)) else ""):
            samples = Samples(plan, args.reference)
    except (strata.UsageError, OSError, SyntaxError) as e:
        print(f"strata: {e}", file=sys.stderr)
        return 2
    except (Exception, SystemExit) as e:  # of a file that may be any
        for row in rows:
            failed(row, "error", None, e)
    else:
        run(rows, samples, args, limits)
    if args.json:
        whole = {"results": rows}
        if args.env:
            whole["environment"] = environment()
        print(json.dumps(whole, indent=2))
    else:
        if args.env:
            for name, value in environment().items():
                print(f"{name}: {value}")
        for row in rows:
            print(line(row))
    return exit_status(rows)
