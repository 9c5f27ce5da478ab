"""strata run: one kernel of a file over arrays given on the command line."""

import contextlib
import json
import math
import os
import re
import sys
from pathlib import Path

import numpy as np

import strata
from strata import emulator

from .._files import open_regular, read_regular
from .._strata import _MOST_AXES
from .._written import written
from ..kernels.custom import device_arch

SHORT = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "bool": "bool",
    **{f"{k[0]}{n}": f"{k}{n}" for k in ("int", "uint") for n in (8, 16, 32, 64)},
}
SPEC = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d,x ]+)\](=(?P<fill>.+))?$")


def sizes(text):
    try:
        return tuple(int(n) for n in re.split(r"[,x]", text))
    except ValueError:
        raise strata.UsageError(f"'{text}': expected numbers such as 256 or 16,16") from None


def number(spec, kind, text):
    """TYPE:NUMBER, a number that has this type whatever the kernel's parameter is."""
    try:
        value = float(text) if "f" in kind else int(text, 0)
        name = SHORT[kind]
        return np.dtype(name).type(value) if name != "bfloat16" else value
    except (ValueError, OverflowError):
        raise strata.UsageError(f"--arg {spec}: {text} is no {SHORT[kind]}") from None


def load(spec):
    try:
        with open_regular(spec) as file:
            return strata.Tensor(np.load(file, allow_pickle=False))
    except (ValueError, EOFError) as e:
        raise strata.UsageError(f"--arg {spec}: no array of numbers in NumPy's .npy format ({e})") from None


def array(spec, kind, shape, fill):
    """TYPE[SHAPE]=FILL."""
    shape, rng = sizes(shape), np.random.default_rng(0)
    if len(shape) > _MOST_AXES or max(shape) >> 63:
        raise strata.UsageError(f"--arg {spec[:80]}: tensors have {_MOST_AXES} axes at most, of sizes below 2^63")
    count = math.prod(shape)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if min(shape) < 1 or 8 * count > memory:
        raise strata.UsageError(
            f"--arg {spec}: {count} elements; at least one, and no more than fit this machine's {memory >> 30} GiB as "
            f"float64"
        )
    if fill == "random":
        values = rng.standard_normal(count) if "f" in kind else rng.integers(0, 100, count)
    elif fill == "arange":
        values = np.arange(count)
    else:
        try:
            values = np.full(count, float(fill))
        except ValueError:
            raise strata.UsageError(f"--arg {spec}: fill with random, arange or a number") from None
    return strata.Tensor(values.astype("float64").reshape(shape)).cast(SHORT[kind])


def argument(spec):
    """The argument that --arg describes: a tensor, a number, the bytes of a struct or no memory."""
    if spec.endswith(".npy"):
        return load(spec)
    if spec == "none":
        return None
    kind, colon, value = spec.partition(":")
    if colon and kind == "bytes":
        try:
            return bytes.fromhex(value)
        except ValueError:
            raise strata.UsageError(f"--arg {spec}: expected hexadecimal digits, two a byte") from None
    if colon and kind in SHORT:
        return number(spec, kind, value)
    if (m := SPEC.match(spec)) and m["type"] in SHORT:
        return array(spec, m["type"], m["shape"], m["fill"] or "0")
    for convert in (lambda text: int(text, 0), float):
        try:
            return convert(spec)
        except ValueError:
            pass
    raise strata.UsageError(
        f"--arg {spec}: expected TYPE[SHAPE]=FILL such as f32[1024]=random, a .npy file, a number such as 3 or i64:3, "
        f"bytes:00ff for a struct, or none; types: {', '.join(SHORT)}"
    )


def source_text(file):
    data = read_regular(file)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def is_hip(file):
    return Path(file).suffix in (".hip", ".cpp", ".cc", ".cxx", ".cu")


def hip_kernel(file, options, **launch):
    return strata.hip_kernel(path=file, options=[os.fsencode(option) for option in options], **launch)


def code_object(file, arch):
    """The code object of assembly, or the file itself."""
    if Path(file).suffix in (".s", ".S", ".asm"):
        return strata.asm.assemble(source_text(file), arch, file)
    return read_regular(file)


def kernel(args):
    launch = {"name": os.fsencode(args.kernel), "grid": sizes(args.grid), "block": sizes(args.block), "lds": args.lds}
    if is_hip(args.file):
        return hip_kernel(args.file, args.option, **launch)
    return strata.asm_kernel(code_object(args.file, device_arch()), **launch)


def saves(args, values):
    """(argument, file) of each --save."""
    out = []
    for target in args.save:
        which, _, file = target.partition("=")
        if which not in map(str, range(len(values))) or not isinstance(values[int(which)], strata.Tensor) or not file:
            raise strata.UsageError(
                f"--save {target}: expected N=FILE.npy, where --arg number N, counted from 0, is a tensor"
            )
        if not Path(file).absolute().parent.is_dir():
            raise strata.UsageError(f"--save {target}: there is no folder {Path(file).absolute().parent}")
        out.append((int(which), file))
    return out


def as_numpy(tensor):
    return (tensor if tensor.dtype.numpy_name else tensor.cast("float32")).numpy()


def print_fidelity(uses):
    ran = [u for u in uses if u.executed]
    total = sum(u.executed for u in ran)
    inexact = [u for u in ran if u.level not in ("exact", "silicon")]
    exact = total - sum(u.executed for u in inexact)
    print(
        f"fidelity: {exact} of the {total} instructions that ran give silicon's exact bits" + (":" if inexact else "")
    )
    for u in inexact:
        band = (
            f"within the documented {u.documented_ulp:g} ulp ({u.source})"
            if u.level == "ulp"
            else f"approximate, {u.source}"
        )
        print(f"  {u.executed:6d} x {u.mnemonic}: {band}{'; here ' + u.here if u.here else ''}")
    if rest := [u.mnemonic for u in uses if not u.executed]:
        print("  in the code, but not run:", ", ".join(rest))


def print_launch(args, values):
    launch = strata.stats().launches[-1]
    print(
        f"{launch.name}: grid {tuple(launch.grid)} block {tuple(launch.block)}, {launch.time_ms:.4f} ms modelled, "
        f"{launch.wall_ms:.2f} ms emulator, {launch.wave_instructions} wave instructions"
    )
    for n, (spec, t) in enumerate(zip(args.arg, values)):
        if isinstance(t, strata.Tensor):
            result = as_numpy(t)
            print(
                f"{n}: {spec}: {np.array2string(result.ravel()[:8], precision=6, separator=', ')}"
                f"{' ...' if result.size > 8 else ''}"
            )
    if args.fidelity:
        print_fidelity(launch.instructions)


def reports(args, k, values):
    """The findings of --seeds and --check; the launch of --check is the one whose results are shown."""
    unstable = emulator.stable(k, *values, seeds=args.seeds) if args.seeds else None
    if unstable and not args.json:
        print(f"strict mode: {unstable}", file=sys.stderr)
    error, profile = (
        None,
        strata.profile(trace=args.trace or None) if args.profile or args.trace else contextlib.nullcontext(),
    )
    try:
        with (
            emulator.check(
                args.check or ("report" if args.check_races else strata.settings()["check"]), races=args.check_races
            ) as report,
            profile,
        ):
            k(*values)
    except strata.Error as e:  # what was found before it is printed first
        error = e
    if not args.json and not isinstance(error, strata.CheckError):
        for finding in report.findings:
            print(f"strict mode: {finding}", file=sys.stderr)
    return [report, *([unstable] if unstable else [])], profile, error


def run(args):
    """The exit status: 1 when strict mode finds something."""
    with strata.config(emu_fidelity=args.fidelity, **({"device": args.device} if args.device else {})):
        values = [argument(spec) for spec in args.arg]
        wanted = saves(args, values)
        k = kernel(args)
        for value in values:  # what fills them is no launch of the kernel
            if isinstance(value, strata.Tensor):
                value.realize()
        strata.reset_stats()
        found, profile, error = reports(args, k, values)
        if args.json:
            findings = [one for report in found for one in json.loads(report.to_json())]
            print(
                json.dumps({"findings": findings, "launches": profile.launches} if args.profile else findings, indent=2)
            )
        if error:
            raise error
        if not args.json:
            print_launch(args, values)
            if args.profile:
                print(profile, end="")
        for n, file in wanted:
            with written(file if file.endswith(".npy") else f"{file}.npy") as out:
                np.save(out, as_numpy(values[n]))
        return int(any(found))
