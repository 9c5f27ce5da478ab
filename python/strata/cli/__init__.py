"""The command line: strata info | asm | disasm | lint | mutate | run | hip-run | emu | explain | compare | interp |
targets | opt | repro | tune | bench.
"""

import os
import sys

from .parser import parser


def main(argv=None):
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # an error may quote what the terminal's encoding has not
    try:
        args = parser().parse_args(argv)
        if status := args.call(args):
            sys.exit(status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        sys.exit("strata: out of memory")
    except OSError as e:
        sys.exit(f"strata: {e}")
    except Exception as e:
        from strata import Error

        if not isinstance(e, Error):
            raise
        sys.exit(f"strata: {type(e).__name__}: {e}")
