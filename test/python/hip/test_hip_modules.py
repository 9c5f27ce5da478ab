"""Modules of the drop-in libamdhip64 that have a kernel of the same name, from many threads: each launches its own,
while others load and unload.
"""

import sys

from strata.cli.hip_run import library
from test_hip_programs import BITCODE, pytestmark, run  # noqa: F401

CALLS = """
import ctypes, sys, threading
hip = ctypes.CDLL(sys.argv[1])
images = [open(file, "rb").read() for file in sys.argv[2:]]
byref, null = ctypes.byref, ctypes.c_void_p()
wrong = []

def expect(code, what, wanted=0):
    if code != wanted:
        wrong.append((what, code))

def load(image):
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    expect(hip.hipModuleLoadData(byref(module), image), "load")
    expect(hip.hipModuleGetFunction(byref(kernel), module, b"k"), "function")
    return module, kernel

def launch(kernel, out, wanted=0):
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    expect(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, null, arguments, None), "launch", wanted)

def thread(number):
    module, kernel = load(images[number % 2])
    out, word = ctypes.c_void_p(), ctypes.c_int()
    expect(hip.hipMalloc(byref(out), ctypes.c_size_t(4)), "malloc")
    for turn in range(20):
        other = load(images[(number + turn) % 2])
        launch(kernel, out)
        expect(hip.hipMemcpy(byref(word), out, ctypes.c_size_t(4), 2), "copy")
        expect(word.value, "value", number % 2 + 1)
        expect(hip.hipModuleUnload(other[0]), "unload")
        launch(other[1], out, 400)  # hipErrorInvalidHandle: its module is gone
    expect(hip.hipModuleUnload(module), "unload")
    expect(hip.hipModuleUnload(module), "unload twice", 500)  # hipErrorNotFound
    expect(hip.hipFree(out), "free")

threads = [threading.Thread(target=thread, args=(number,)) for number in range(6)]
for one in threads: one.start()
for one in threads: one.join()
print(len(wrong), wrong[:4])
"""


def test_kernels_of_the_same_name_stay_apart_while_modules_come_and_go(tmp_path):
    files = [tmp_path / f"{value}.co" for value in (1, 2)]
    for value, file in enumerate(files, 1):
        source = tmp_path / f"{value}.hip"
        source.write_text(
            f'#include <hip/hip_runtime.h>\nextern "C" __global__ void k(int* out) {{ *out = {value}; }}\n'
        )
        done = run(
            [
                "clang++-19",
                "-x",
                "hip",
                "--cuda-device-only",
                "--no-gpu-bundle-output",
                "--offload-arch=gfx90a",
                "--rocm-path=/usr",
                f"--rocm-device-lib-path={BITCODE}",
                "-O1",
                source,
                "-o",
                file,
            ]
        )
        assert done.returncode == 0, done.stderr
    done = run([sys.executable, "-c", CALLS, library() / "libamdhip64.so.7", *files], STRATA_DEVICE="emu:gfx90a")
    assert (done.returncode, done.stdout) == (0, "0 []\n"), done.stdout + done.stderr
