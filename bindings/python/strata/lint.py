"""strata lint: what is wrong with the kernels of a file, without running them."""

import json
import sys
from pathlib import Path

import strata

from .run import source_text


def image(args, arch):
    """The code object of a file."""
    suffix = Path(args.file).suffix
    if suffix in (".hip", ".cpp", ".cc", ".cxx", ".cu"):
        return strata._strata._hip_code_object(strata.hip_kernel(path=args.file, options=args.option), arch)
    if suffix in (".s", ".S", ".asm"):
        return strata.asm.assemble(source_text(args.file), arch, args.file)
    return Path(args.file).read_bytes()


def lint(args):
    """Exits with 0 where nothing was found, 1 with findings, 2 where the file cannot be read as code."""
    try:
        found = strata.asm.lint(image(args, args.arch), args.kernel)
    except (strata.Error, OSError) as e:
        print(f"strata: {e}" if isinstance(e, OSError) else f"strata: {type(e).__name__}: {e}", file=sys.stderr)
        sys.exit(2)
    if args.json:
        lines = [{key: value for key, value in finding.items() if key != "text"} for finding in found]
        print(json.dumps(lines, indent=2))
    else:
        print("".join(f"{finding['text']}\n" for finding in found), end="")
    sys.exit(1 if found else 0)
