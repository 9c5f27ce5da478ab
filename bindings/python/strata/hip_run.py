"""strata hip-run: a program that was built for AMD's HIP runtime, on emulated devices."""

import os
import shutil
from pathlib import Path

import strata

from . import _strata


def library():
    """The folder that holds Strata's libamdhip64, of the build tree."""
    here = Path(_strata.__file__).resolve().parent
    folder = here.parents[1] / "lib" / "hip"
    if not (folder / "libamdhip64.so.7").exists():
        raise strata.DeviceError(f"Strata's libamdhip64 is not in {folder}: a wheel has none, in a checkout build the target strata_hip")
    return folder


def environment(args):
    env = dict(os.environ)
    env["LD_LIBRARY_PATH"] = ":".join([str(library()), *filter(None, [env.get("LD_LIBRARY_PATH")])])
    wanted = {"STRATA_DEVICE": args.device, "STRATA_CHECK": args.check, "STRATA_CHECK_RACES": "1" if args.check_races else None,
              "STRATA_EMU_SEED": None if args.seed is None else str(args.seed), "HIP_STRATA_PROFILE": "1" if args.profile else None,
              "HIP_STRATA_DEVICES": None if args.devices is None else str(args.devices)}
    return env | {name: value for name, value in wanted.items() if value}


def hip_run(args):
    if args.device and args.device not in strata.devices():
        raise strata.DeviceError(f"--device {args.device}: there are {', '.join(d for d in strata.devices() if d.startswith('emu:'))}")
    program = shutil.which(args.program)
    if not program:
        raise strata.UsageError(f"{args.program} is no program that can be run; one of this folder is ./{Path(args.program).name}")
    os.execve(program, [args.program, *args.arguments], environment(args))
