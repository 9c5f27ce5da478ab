"""How scripts build programs of HIP on a machine without ROCm: clang-19, Debian's headers and device libraries,
Strata's libamdhip64.
"""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "build" / "release" / "lib" / "hip"
BITCODE = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
# Constants of the device libraries that Debian's set stops short of: __oclc_ISA_version by arch.
ISA_VERSIONS = {"gfx942": 9402, "gfx1100": 11000, "gfx1101": 11001, "gfx1102": 11002, "gfx1103": 11003,
                "gfx1150": 11500, "gfx1151": 11501, "gfx1152": 11502,
                "gfx1200": 12000, "gfx1201": 12001}  # fmt: skip
LAYOUT = (
    "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-"
    "v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


def device_libraries(folder, arch):
    """A folder as --rocm-device-lib-path wants it: Debian's libraries, and the constants of an arch that they lack."""
    folder.mkdir(exist_ok=True)
    for library in BITCODE.glob("*.bc"):
        if not (folder / library.name).exists():
            (folder / library.name).symlink_to(library)
    constant = folder / f"oclc_isa_version_{arch.removeprefix('gfx')}.bc"
    if not constant.exists():
        text = (
            f'target datalayout = "{LAYOUT}"\ntarget triple = "amdgcn-amd-amdhsa"\n'
            "@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 "
            f"{ISA_VERSIONS[arch]}, align 4\n"
        )
        subprocess.run(
            [
                "clang-19",
                "-x",
                "ir",
                "-c",
                "-emit-llvm",
                "-nogpulib",
                "-target",
                "amdgcn-amd-amdhsa",
                "-",
                "-o",
                constant,
            ],
            input=text,
            text=True,
            check=True,
        )
    return folder


def first_error(text):
    found = re.search(r"^.*(?:error|undefined reference).*$", text, re.MULTILINE)
    return (found[0] if found else text.strip().split("\n")[-1])[-120:]


class Toolchain:
    def __init__(self, work, device):
        self.arch = device.removeprefix("emu:")
        self.libraries = device_libraries(work / "bitcode", self.arch)
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(LIBRARY), "STRATA_DEVICE": device}

    def clang(self, folder, *arguments):
        """Empty where it compiles, else the first error."""
        done = subprocess.run(
            [
                "clang++-19",
                "-x",
                "hip",
                f"--offload-arch={self.arch}",
                "--rocm-path=/usr",
                f"--rocm-device-lib-path={self.libraries}",
                "-w",
                *arguments,
            ],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        return "" if done.returncode == 0 else first_error(done.stderr)


def checkout(folder, name, work):
    """The folder that an option names, else a clone."""
    if folder:
        return Path(folder).resolve()
    subprocess.run(["git", "clone", "--depth", "1", "-q", f"https://github.com/ROCm/{name}", work / name], check=True)
    return work / name
