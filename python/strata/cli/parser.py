"""The words of the command line: what each command is called, and what it takes."""

import argparse
import importlib

from .. import _strata

ARCHS = _strata.archs()
MOST_SEEDS = 4096  # each is a launch more
ANY_ARCH = f"{', '.join(ARCHS[:-1])} or {ARCHS[-1]}"


def command(module, function=""):
    """A function of a module beside this one, by default the one of the module's name. The module is loaded at the
    first call.
    """

    def call(args):
        return getattr(importlib.import_module(f".{module}", __package__), function or module)(args)

    return call


def up_to(most, least=0):
    """The type of an option that is a number of these."""

    def number(text):
        if not (text.isascii() and text.isdigit()) or not least <= int(text[:30]) <= most:
            raise argparse.ArgumentTypeError(f"'{text[:30]}': expected a number from {least} to {most}")
        return int(text)

    return number


def limit(text):
    """The type of an option that bounds a difference."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):  # nor NaN, within which nothing is equal
        raise argparse.ArgumentTypeError(f"'{text[:30]}': expected a finite number of at least 0, such as 1e-5")
    return number


count, seed = up_to(2**31 - 1), up_to(2**64 - 1)


class Version(argparse.Action):
    def __call__(self, parser, *ignored):
        import strata

        print(f"strata {strata.__version__}")
        parser.exit()


def explaining(add):
    """The commands that say what the emulator does and what the compiler makes."""
    c = add("emu", None, "Questions about the emulated GPU.")
    e = c.add_subparsers(dest="question", required=True, metavar="question")
    c = e.add_parser(
        "coverage",
        help="Which instructions execute, by encoding format.",
        description="Which instructions execute, by encoding format.",
    )
    c.add_argument("--arch", action="append", default=[], help=f"{ANY_ARCH} (default: one of each family)")
    c.set_defaults(call=command("code", "emu_coverage"))
    c = add("explain", command("explain"), "Say which kernels compute a tensor, and why each ends where it does.")
    c.add_argument(
        "expression", nargs="?", help="Python over Tensor, dtypes and strata: 'Tensor.empty(64, 256).softmax(-1)'"
    )
    c.add_argument("--memory", action="store_true", help="say what is in memory where that is most, and why, instead")
    c.add_argument("--stages", action="store_true", help="walk row softmax from the tensor to machine code instead")
    c.add_argument(
        "--arch", default="gfx1100", choices=ARCHS, help="of --stages: whose instructions (default: gfx1100)"
    )


def comparing(add):
    """The commands of devices and targets side by side."""
    c = add(
        "compare",
        command("compare"),
        "Run a function on several devices and targets, and compare what it gives with the interpreter's. "
        "Exit status: 0 equal, 1 a mismatch, 2 a wrong call, 3 an error, 4 nothing ran beside the reference.",
    )
    c.add_argument("what", metavar="FILE.py:NAME", help="a function of tensors, or one that makes its own")
    c.add_argument(
        "--samples",
        metavar="FACTORY",
        help="a function in the file that gives the arguments, or a dict of functions compile, run and results; it is "
        "given those of device, target and arch that it names",
    )
    c.add_argument("--devices", default="", help="emu:gfx1100,interp,hip (default: the default device)")
    c.add_argument("--targets", default="hip,asm", help="of devices with machine code (default: hip,asm)")
    c.add_argument("--reference", default="interp", help="the device that is right (default: interp)")
    c.add_argument(
        "--repeat", type=up_to(2**31 - 1, 1), default=3, metavar="N", help="runs after the first (default: 3)"
    )
    c.add_argument("--rtol", type=limit, help="difference by the largest element (default: by the type)")
    c.add_argument("--atol", type=limit, default=0.0, help="difference that is none (default: 0)")
    c.add_argument("--env", action="store_true", help="also say what this installation has")
    c.add_argument("--json", action="store_true", help='print {"results": rows} instead of lines')
    c = add(
        "interp",
        command("interp"),
        "Run a graph under the interpreter: JSON as UOp.to_json() writes it, or an artifact's.",
    )
    c.add_argument("file", help="graph.json, or an artifact")
    c.add_argument(
        "--level",
        choices=["tensor", "kernel", "linear"],
        help="tensor: a graph of tensors; kernel: as it is; linear: after the passes of codegen/linear "
        "(default: by the graph)",
    )
    c.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="SPEC",
        help="one a parameter of a kernel, or a buffer of tensors, in order, as strata run takes them",
    )
    c.add_argument(
        "--save",
        action="append",
        default=[],
        metavar="N=FILE.npy",
        help="write tensor argument N of a kernel after the run, or result 0 of tensors",
    )
    c.add_argument("--grid", default="", help="workgroups: 4 or 4,2,1 (default: the graph's)")
    c.add_argument("--arch", default="gfx1100", choices=ARCHS, help="whose waves and products (default: gfx1100)")
    c = add("targets", command("targets"), "The architectures that Strata makes code for, and what each has.")
    c.add_argument("--json", action="store_true", help="print a list of objects")


def passes(add):
    """The command that runs passes on a graph."""
    c = add(
        "opt", command("opt"), "Run passes of the compiler on a kernel's graph: JSON or tree() from standard input."
    )
    c.add_argument("--list", action="store_true", help="list the passes, and what holds after each")
    c.add_argument(
        "--pass",
        dest="passes",
        metavar="A,B",
        help="passes in this order; one of lower, as the last, prints instructions",
    )
    c.add_argument("--arch", default="gfx1100", choices=ARCHS, help="the target (default: gfx1100)")
    c.add_argument(
        "--interpret", action="store_true", help="compare what the reference says of the graph before and after"
    )


def reproduction(add):
    """The command that runs artifacts again."""
    c = add("repro", command("repro"), "Run an artifact on its samples on emulators, and compare the results' bytes.")
    c.add_argument("path", help="what Artifact.save wrote: a folder, or a file .strata")
    c.add_argument("--rebuild", action="store_true", help="compile its graph.json again instead, and compare the code")


def tuning(add):
    """The command that searches for schedules."""
    c = add(
        "tune",
        command("tune"),
        "Run a Python script with the search for schedules on, and say what it found for each kernel.",
    )
    c.add_argument(
        "script", nargs="?", help="the script; tuning records are kept in the cache, where config(beam=1) finds them"
    )
    c.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets as sys.argv")
    c.add_argument("--beam", type=count, help="width of the search (default: the setting, else 2)")
    c.add_argument(
        "--seconds",
        type=float,
        help="most that the search for one kernel may take (default: the setting search_seconds)",
    )
    c.add_argument(
        "--candidates",
        type=count,
        help="most that the search for one kernel may try (default: the setting search_candidates)",
    )
    c.add_argument("--export", metavar="FILE", help="write the tuning records of the script's kernels, as JSON")
    c.add_argument(
        "--import",
        metavar="FILE",
        dest="import_file",
        help="first keep the tuning records of such a file; says which are of no use here, and why",
    )


def benchmarks(add):
    """The command that says how fast all is."""
    c = add("bench", command("checkout", "bench"), "Measure Strata on this machine; prints JSON.")
    c.add_argument(
        "only",
        nargs="*",
        help="import graph compile launch emu sum beam lowering plan kernels model search shapes train (default: "
        "all these); programs, composed ones beside the limit of a card; gpu, on a card; hip, of a build's "
        "libamdhip64",
    )
    c.add_argument(
        "--arch",
        action="append",
        default=[],
        choices=ARCHS,
        help="of lowering (default: one of each family) and of programs (default: gfx1100 and gfx942)",
    )
    c.add_argument(
        "--card",
        action="store_true",
        help="of programs: measured on a card (STRATA_DEVICE=hip), beside torch if it is there",
    )
    c.add_argument(
        "--only",
        dest="only_rows",
        metavar="NAME",
        action="append",
        default=[],
        help="of programs: those whose names contain this text in any case, as 'gpt' or 'gate x up, bfloat16'; may be "
        "repeated",
    )
    c.add_argument(
        "--table",
        action="store_true",
        help="lowering (the default), compile, kernels, lang, model, programs, search, shapes or train as a table, "
        "not as JSON",
    )
    c.add_argument(
        "--write-docs",
        action="store_true",
        help="with --table: put lang, model, programs or search into docs/benchmarks.md",
    )
    c.add_argument(
        "--truth",
        metavar="FOLDER",
        help="of model: beside the times of an MI300A that this checkout of sarchlab/mgpusim has (scripts/model_truth)",
    )
    c.add_argument("--cases", type=count, default=0, help="of shapes: how many are drawn (default: 96)")
    c.add_argument("--seed", type=seed, default=1, help="of shapes: what they are drawn by (default: 1)")
    c.add_argument("--beam", action="store_true", help="of shapes: beside what a search finds for each")
    c.add_argument("--quick", action="store_true", help="fewer repetitions")


def programs(add):
    """The command for programs that know nothing of Strata."""
    c = add("hip-run", command("hip_run"), "Run a program that was built for AMD's HIP runtime on emulated GPUs.")
    c.add_argument("--device", default="", help="emu:gfx942, ... (default: those that the program has code for)")
    c.add_argument(
        "--devices",
        type=up_to(_strata._MOST_OF_ONE_ARCH, 1),
        help="how many devices of each arch the program finds (default: 1)",
    )
    c.add_argument(
        "--check", action="store_const", const="report", help="strict mode: report what hardware would punish"
    )
    c.add_argument(
        "--check-raise",
        action="store_const",
        const="raise",
        dest="check",
        help="the same, and a launch fails at the first of it",
    )
    c.add_argument(
        "--check-races",
        action="store_true",
        help="strict mode that also finds workgroups which use the same memory in no order",
    )
    c.add_argument(
        "--profile",
        action="store_true",
        help="say at the end how long each kernel took, by the model, and what held it up",
    )
    c.add_argument(
        "--seed",
        type=seed,
        help="order in which waves and workgroups take turns; but for 0, events then find kernels to take no time, "
        "unless --profile asks for it",
    )
    c.add_argument("program", help="what is run; it finds Strata's libamdhip64 by LD_LIBRARY_PATH")
    c.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")


def assembly(add):
    """The commands for code of one kernel that do not run it."""
    c = add("asm", command("code", "assemble"), "Assemble LLVM-syntax text to a code object.")
    c.add_argument("file", help="assembly text, - for standard input")
    c.add_argument("-o", "--output", help="code object to write (default: the file's name with .co)")
    c.add_argument("--arch", default="gfx1100")
    c = add("disasm", command("code", "disassemble"), "List a code object: each kernel's resources and instructions.")
    c.add_argument("file", help="code object, - for standard input")
    c.add_argument("--arch", default="", help="take the file as bare machine code of this arch")
    c = add(
        "lint",
        command("lint"),
        "Find missing waits, hazards and wrong resources in kernels without running them; "
        "exits with 1 where it finds any.",
    )
    c.add_argument("file", help="HIP source (.hip, .cpp, .cc), assembly (.s) or code object (.co)")
    c.add_argument("--arch", default="gfx1100", help=f"of sources: {ANY_ARCH}")
    c.add_argument("--kernel", default="", help="the symbol of the only one to look at")
    c.add_argument("--json", action="store_true", help="print a list of findings instead of lines")
    c.add_argument("--option", action="append", default=[], help="compiler option for HIP source, e.g. --option=-O1")


def mutations(add):
    """The command that says what strict mode and the linter find."""
    c = add(
        "mutate",
        command("checkout", "mutate"),
        "Take one wait, barrier, distance, first value or allocation at a time away from kernels, "
        "and count what strict mode and the linter find.",
    )
    c.add_argument(
        "file",
        nargs="*",
        help="HIP source, assembly or code object; without --arg only the linter sees its mutants (default: "
        "kernels built in, with arguments)",
    )
    c.add_argument("--arch", action="append", default=[], help=f"{ANY_ARCH} (default: gfx1100 and gfx942)")
    c.add_argument(
        "--classes",
        type=command("checkout", "classes"),
        default="waits,barriers,hazards,uninitialised,bounds",
        help="those to make, of waits,barriers,hazards,uninitialised,bounds",
    )
    c.add_argument("--limit", type=count, default=0, metavar="N", help="at most N mutants of a kernel")
    c.add_argument("--seed", type=seed, default=0, help="order in which waves take turns")
    c.add_argument("--json", action="store_true", help="print each mutant as JSON instead of survivors and a table")
    c.add_argument("--kernel", default="", help="the symbol of the only one of the file")
    c.add_argument("--grid", default="1", help="workgroups: 4 or 4,2,1")
    c.add_argument("--block", default="64", help="threads of a workgroup: 256 or 16,16")
    c.add_argument("--lds", type=up_to(2**32 - 1), default=0, help="dynamic LDS bytes")
    c.add_argument(
        "--arg", action="append", default=[], metavar="SPEC", help="one a parameter, in order, as strata run takes them"
    )
    c.add_argument("--option", action="append", default=[], help="compiler option for HIP source, e.g. --option=-O1")


def launches(add):
    """The command that runs one kernel."""
    c = add("run", command("run"), "Run one kernel of a .hip, .s or .co file over arrays.")
    c.add_argument("file", help="HIP source (.hip, .cpp, .cc), assembly (.s) or code object (.co)")
    c.add_argument(
        "--kernel", default="", help="its name, such as scale or 'scale<float, 4>'; not needed when there is one"
    )
    c.add_argument("--grid", default="1", help="workgroups: 4 or 4,2,1")
    c.add_argument("--block", default="64", help="threads of a workgroup: 256 or 16,16")
    c.add_argument("--lds", type=up_to(2**32 - 1), default=0, help="dynamic LDS bytes")
    c.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="SPEC",
        help="one a parameter, in order: f32[1024]=random, i32[16,4]=arange, f16[8]=0 or a .npy file for a pointer, "
        "none for no memory; "
        "3, 0.5 or i64:7 for a number; bytes:00ff for a struct",
    )
    c.add_argument(
        "--save",
        action="append",
        default=[],
        metavar="N=FILE.npy",
        help="write tensor argument N, counted from 0, after the run",
    )
    looking(c)


def looking(c):
    """Options of `strata run` for looking at the kernel while it runs."""
    c.add_argument("--device", default="", help="emu:gfx1100, ...")
    c.add_argument(
        "--fidelity", action="store_true", help="also say which of the instructions that ran give silicon's exact bits"
    )
    c.add_argument(
        "--check",
        nargs="?",
        const="report",
        choices=["report", "raise"],
        help="strict mode: report what hardware would punish, or end at the first of it; exit status 1 if there is any",
    )
    c.add_argument(
        "--check-races",
        action="store_true",
        help="strict mode that also finds workgroups which use the same memory in no order",
    )
    c.add_argument(
        "--seeds",
        type=up_to(MOST_SEEDS),
        default=0,
        metavar="N",
        help="also run under N orders of waves and compare all memory that is written; exit status 1 if it differs",
    )
    c.add_argument(
        "--profile",
        action="store_true",
        help="also say what holds the kernel up, and before which instructions its waves stall",
    )
    c.add_argument("--trace", default="", metavar="FILE", help="write a trace for chrome://tracing and ui.perfetto.dev")
    c.add_argument(
        "--json",
        action="store_true",
        help="print nothing but the findings of --check and --seeds as JSON; "
        "with --profile an object of findings and launches",
    )
    c.add_argument("--option", action="append", default=[], help="compiler option for HIP source, e.g. --option=-O1")


def parser():
    p = argparse.ArgumentParser(prog="strata", description="Lazy tensors for AMD GPUs, with an emulated GPU built in.")
    p.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    sub = p.add_subparsers(dest="command", required=True, metavar="command")

    def add(name, call, text):
        c = sub.add_parser(name, help=text, description=text)
        c.set_defaults(call=call)
        return c

    add("info", command("info"), "Devices, toolchain and settings of this installation.")
    for commands in (
        assembly, mutations, launches, programs, explaining, comparing, passes, reproduction, tuning, benchmarks
    ):  # fmt: skip
        commands(add)
    return p
