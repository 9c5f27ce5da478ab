"""strata lint: what is wrong with the kernels of a file, without running them."""

import json
import sys

import strata

from .run import code_object, hip_kernel, is_hip


def image(file, options, arch):
    """The code object of a file, with all of its kernels."""
    if is_hip(file):
        return strata._strata._hip_code_object(hip_kernel(file, options), arch)
    return code_object(file, arch)


def lint(args):
    """Exits with 0 where nothing was found, 1 with findings, 2 where the file cannot be read as code."""
    try:
        found = strata.asm.lint(image(args.file, args.option, args.arch), args.kernel)
    except (strata.Error, OSError) as e:
        print(f"strata: {e}" if isinstance(e, OSError) else f"strata: {type(e).__name__}: {e}", file=sys.stderr)
        sys.exit(2)
    if args.json:
        lines = [{key: value for key, value in finding.items() if key != "text"} for finding in found]
        print(json.dumps(lines, indent=2))
    else:
        print("".join(f"{finding['text']}\n" for finding in found), end="")
    sys.exit(1 if found else 0)
