#!/usr/bin/env python3
"""Writes facts of LLVM 19 and of the instruction tables: each <family>.def of asm/isa, the typed methods of asm/dsl.

    rows      what llvm-mc-19 disassembles: all columns of <family>.def up to the modifiers, and the names of buffer
      formats
    facts     what LLVM's own tables know: the columns from the counters on (needs LLVM's headers)
    methods   asm/dsl/<family>_methods.inc and <family>_dual.inc, from <family>.def

Without a name: all three, in this order.
"""

import argparse
import sys

import facts
import methods
import rows
import tables

PARTS = {"rows": rows.files, "facts": facts.files, "methods": methods.files}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS))
    parser.add_argument("--family", choices=tables.families(), help="that family only")
    parser.add_argument(
        "--verify", action="store_true", help="compare with the checked-in files instead of writing them"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    wrong = []
    for family in [options.family] if options.family else tables.families():
        for part in options.parts or PARTS:
            for path, text in PARTS[part](family).items():
                if not options.verify:
                    path.write_text(text)
                elif not path.exists() or path.read_text() != text:
                    wrong.append(
                        f"{path.name} is not what asm/isa/generate/generate.py {part} --family {family} writes"
                    )
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
