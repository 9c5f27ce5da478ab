"""Writes code objects of Triton's compiler into test/python/emulator/triton, where CI runs them without a triton.

    TRITON_DISABLE_LINE_INFO=1 PYTHONPATH=build/release/python build/triton/bin/python test/triton/freeze.py

(after test/run --triton, which makes build/triton). Line tables would hold this machine's folders: they are left out.
"""

import json
import os
from pathlib import Path

import triton
import triton_kernels as t
import triton_programs as p

F32, F16, I32 = "*fp32", "*fp16", "*i32"
# Name: function, types, constants. test_triton_objects.py has the launches.
KERNELS = {
    "softmax": (t.softmax, {"x": F32, "o": F32, "n": "i32"}, {"B": 512}),
    "product": (
        p.grouped,
        {"a": F16, "b": F16, "c": F32, "M": "i32", "N": "i32", "K": "i32"},
        {"B": 32, "G": 2},
    ),
    "attention": (t.attention, {"q": F16, "k": F16, "v": F16, "o": F32}, {"D": 64, "B": 32}),
    "recurrence": (p.recurrence, {"a": F32, "b": F32, "o": F32}, {"B": 512}),
    "atomics": (p.atomics, {"x": I32, "o": I32}, {"B": 256}),
    "sort": (t.sort, {"x": I32, "o": I32}, {"B": 512}),
}
WAVES = {"gfx1100": 32, "gfx1201": 32, "gfx942": 64}


def main():
    if os.environ.get("TRITON_DISABLE_LINE_INFO") != "1":
        raise SystemExit("freeze.py: set TRITON_DISABLE_LINE_INFO=1, so that no file of this machine is named")
    folder = Path(__file__).parents[1] / "python/emulator/triton"
    folder.mkdir(exist_ok=True)
    index = {"triton": triton.__version__, "kernels": {}}
    for name, (function, types, constants) in KERNELS.items():
        for arch, wave in WAVES.items():
            image, kernel, lds, block = t.compiled(function, types, constants, arch, wave)
            (folder / f"{name}.{arch}.co").write_bytes(image)
            index["kernels"][f"{name}.{arch}"] = {"name": kernel, "lds": lds, "block": block}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
