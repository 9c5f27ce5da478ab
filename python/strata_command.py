"""The entry point of the `strata` command. It is no part of the package: an interrupt while the package loads finds it
in force.
"""

import signal


def main():
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process without a traceback
    from strata.cli import main

    signal.signal(signal.SIGINT, handler)
    main()
