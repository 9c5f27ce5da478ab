"""strata run: one kernel of a file over arrays given on the command line."""

import re
from pathlib import Path

import numpy as np

import strata

from .kernels import device_arch

SHORT = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "bool": "bool",
         **{f"{k[0]}{n}": f"{k}{n}" for k in ("int", "uint") for n in (8, 16, 32, 64)}}
SPEC = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d,x ]+)\](=(?P<fill>.+))?$")


def sizes(text):
    try:
        return tuple(int(n) for n in re.split(r"[,x]", text))
    except ValueError:
        raise strata.UsageError(f"'{text}': expected numbers such as 256 or 16,16") from None


def array(spec):
    """The tensor that a --arg describes."""
    if spec.endswith(".npy"):
        return strata.Tensor(np.load(spec))
    m = SPEC.match(spec)
    if not m or m["type"] not in SHORT:
        raise strata.UsageError(f"--arg {spec}: expected TYPE[SHAPE]=FILL such as f32[1024]=random; types: {', '.join(SHORT)}")
    shape, fill = sizes(m["shape"]), m["fill"] or "0"
    count, rng = int(np.prod(shape)), np.random.default_rng(0)
    if fill == "random":
        values = rng.standard_normal(count) if "f" in m["type"] else rng.integers(0, 100, count)
    elif fill == "arange":
        values = np.arange(count)
    else:
        try:
            values = np.full(count, float(fill))
        except ValueError:
            raise strata.UsageError(f"--arg {spec}: fill with random, arange or a number") from None
    return strata.Tensor(values.astype("float64").reshape(shape)).cast(SHORT[m["type"]])


def kernel(args):
    launch = {"grid": sizes(args.grid), "block": sizes(args.block), "lds": args.lds}
    suffix = Path(args.file).suffix
    if suffix in (".hip", ".cpp", ".cu"):
        text = Path(args.file).read_text()
        name = args.kernel or only_global(text, args.file)
        return strata.hip_kernel(text, name=name, options=args.option, **launch)
    if suffix in (".s", ".S", ".asm"):
        image = strata.asm.assemble(Path(args.file).read_text(), device_arch(), args.file)
    else:
        image = Path(args.file).read_bytes()
    return strata.asm_kernel(image, name=args.kernel, **launch)


def only_global(text, file):
    names = re.findall(r'extern\s+"C"\s+__global__[^(]*?(\w+)\s*\(', text)
    if len(names) != 1:
        raise strata.UsageError(f"{file} has {len(names)} extern \"C\" __global__ functions: say which with --kernel")
    return names[0]


def print_fidelity(uses):
    ran = [u for u in uses if u.executed]
    total = sum(u.executed for u in ran)
    inexact = [u for u in ran if u.level != "exact"]
    exact = total - sum(u.executed for u in inexact)
    print(f"fidelity: {exact} of the {total} instructions that ran give silicon's exact bits" + (":" if inexact else ""))
    for u in inexact:
        band = f"within the documented {u.documented_ulp:g} ulp ({u.source})" if u.level == "ulp" else f"approximate, {u.source}"
        print(f"  {u.executed:6d} x {u.mnemonic}: {band}{'; here ' + u.here if u.here else ''}")
    if rest := [u.mnemonic for u in uses if not u.executed]:
        print("  in the code, but not run:", ", ".join(rest))


def run_kernel(args):
    if not args.arg:
        raise strata.UsageError("give each parameter of the kernel with --arg, the output first")
    with strata.config(emu_fidelity=args.fidelity, **({"device": args.device} if args.device else {})):
        tensors = [array(spec).contiguous().realize() for spec in args.arg]
        k = kernel(args)
        strata.reset_stats()
        results = tensors[0].custom_kernel(*tensors[1:], kernel=k)
        strata.realize(list(results))
        launch = strata.stats().launches[-1]
    print(f"{launch.name}: grid {tuple(launch.grid)} block {tuple(launch.block)}, {launch.time_ms:.4f} ms modelled, "
          f"{launch.wall_ms:.2f} ms emulator, {launch.wave_instructions} wave instructions")
    for n, (spec, t) in enumerate(zip(args.arg, results)):
        values = (t if t.dtype.numpy_name else t.cast("float32")).numpy()
        print(f"{n}: {spec}: {np.array2string(values.ravel()[:8], precision=6, separator=', ')}{' ...' if values.size > 8 else ''}")
    if args.fidelity:
        print_fidelity(launch.instructions)
    for target in args.save:
        which, _, file = target.partition("=")
        if not which.isdigit() or int(which) >= len(results) or not file:
            raise strata.UsageError(f"--save {target}: expected N=FILE.npy with N below {len(results)}")
        np.save(file, results[int(which)].numpy())
