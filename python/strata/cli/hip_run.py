"""strata hip-run: a program that was built for AMD's HIP runtime, on emulated devices."""

import os
import signal
from pathlib import Path

import strata

from .. import _strata
from . import elf


def library():
    """The folder that holds Strata's libamdhip64, of the build tree."""
    here = Path(_strata.__file__).resolve().parent
    folder = here.parents[1] / "lib" / "hip"
    if not (folder / "libamdhip64.so.7").exists():
        raise strata.DeviceError(
            f"Strata's libamdhip64 is not in {folder}: a wheel has none; in a checkout "
            f"scripts/setup release strata_hip strata_hiprtc builds it"
        )
    return folder


def environment(args):
    env = dict(os.environ)
    env["LD_LIBRARY_PATH"] = ":".join([str(library()), *filter(None, [env.get("LD_LIBRARY_PATH")])])
    wanted = {
        "STRATA_DEVICE": args.device,
        "STRATA_CHECK": args.check,
        "STRATA_CHECK_RACES": "1" if args.check_races else None,
        "STRATA_EMU_SEED": None if args.seed is None else str(args.seed),
        "HIP_STRATA_PROFILE": "1" if args.profile else None,
        "HIP_STRATA_DEVICES": None if args.devices is None else str(args.devices),
    }
    if (
        args.seed and not args.profile
    ):  # workgroups whose time is modelled take their turns in one order, whatever the seed
        env.setdefault("STRATA_EMU_TIMED", "0")
    return env | {name: value for name, value in wanted.items() if value}


def hip_run(args):
    emulated = [name for name in strata.devices() if name.startswith("emu:")]
    if args.device and args.device not in emulated:
        raise strata.DeviceError(f"--device {args.device}: there are {', '.join(emulated)}")
    program, env = elf.find(args.program), environment(args)
    elf.check_program(program, env, library())
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and what is ignored stays so in the program
        signal.signal(ignored, signal.SIG_DFL)
    os.execve(program, [args.program, *args.arguments], env)
