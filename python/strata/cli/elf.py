"""A program that hip-run is asked to start: where it is, and why it would not find Strata's libraries."""

import os
import re
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path

import strata

from .._files import open_regular

MACHINES = {
    3: "x86",
    21: "PowerPC",
    40: "ARM",
    62: "x86-64",
    183: "AArch64",
    224: "AMD's GPUs",
    243: "RISC-V",
    258: "LoongArch",
}
GPU = 224
OBJECT, CORE = 1, 4  # of e_type
LOAD, DYNAMIC, INTERPRETER = 1, 2, 3  # of p_type
NEEDED, STRINGS, STRING_BYTES, RPATH, FLAGS_1 = 1, 5, 10, 15, 0x6FFFFFFB  # of d_tag
PIE = 0x08000000
OURS = re.compile(r"lib(amdhip64|hiprtc)\.so")
# Functions by which a program gets at HIP without linking it.
OTHER_WAYS = (
    b"dlopen",
    b"dlmopen",
    b"system",
    b"popen",
    b"posix_spawn",
    b"posix_spawnp",
    b"execl",
    b"execle",
    b"execlp",
    b"execv",
    b"execve",
    b"execvp",
    b"execvpe",
)


class Elf:
    """The facts in the headers of a program. Errors: a file that is none, or that this machine does not run."""

    def __init__(self, path, library):
        self.path, self.file = path, open_regular(path)
        with self.file:
            self.size = os.fstat(self.file.fileno()).st_size
            self.bits, order, self.type, self.machine = self.identity()
            with open(library, "rb") as ours:
                self.check_machine(*struct.unpack("<4xBB12xH", ours.read(20)), order)
            at, count = struct.unpack("<32xQ16xH6x", self.at(0, 64))
            self.segments = [
                struct.unpack("<I4xQQ8xQ16x", self.at(at + 56 * i, 56)) for i in range(count)
            ]  # type, offset, address, bytes
            end = max((offset + size for _, offset, _, size in self.segments), default=0)
            if end > self.size:
                self.cut_off(end)
            self.read_dynamic()

    def refuse(self, why):
        raise strata.UsageError(f"{self.path} {why}")

    def cut_off(self, end):
        self.refuse(f"is cut off: it has {self.size} bytes, and by its header at least {end}; copy or build it again")

    def at(self, offset, size):
        if offset + size > self.size:
            self.cut_off(offset + size)
        self.file.seek(offset)
        return self.file.read(size)

    def identity(self):
        """Bits of an address, byte order, kind of file, machine."""
        if self.file.read(4) != b"\x7fELF":
            what = (
                "is empty"
                if not self.size
                else "is neither a program (an ELF file) nor a script whose first line begins with #!"
            )
            source = Path(self.path).suffix in (".hip", ".cpp", ".cc", ".cu")
            self.refuse(
                what + (": it seems to be a source; compile it with hipcc or clang++-19 -x hip first" if source else "")
            )
        bits, order = self.at(4, 2)
        kind, machine = struct.unpack("<HH" if order == 1 else ">HH", self.at(16, 4))
        return bits, order, kind, machine

    def check_machine(self, bits, order, machine, its_order):
        if self.machine == GPU:
            self.refuse("holds code for a GPU and no program; strata run runs a kernel of it")
        if (self.bits, its_order, self.machine) != (bits, order, machine):

            def name(bits, machine):
                return f"{MACHINES.get(machine, f'the machine of number {machine}')} of {32 * bits} bits"

            self.refuse(
                f"is for {name(self.bits, self.machine)}, Strata's library for {name(bits, machine)}; "
                f"build it for this machine"
            )
        if self.type in (OBJECT, CORE):
            self.refuse(
                "is an object file; link it first"
                if self.type == OBJECT
                else "is what a program left that crashed (a core file)"
            )

    def first(self, kind):
        return next((self.at(offset, size) for what, offset, _, size in self.segments if what == kind), b"")

    def read_dynamic(self):
        self.interpreter = self.first(INTERPRETER).rstrip(b"\0").decode(errors="replace")
        table = self.first(DYNAMIC)
        entries = [struct.unpack_from("<QQ", table, i) for i in range(0, len(table) // 16 * 16, 16)]
        value = dict(reversed(entries))
        address = value.get(STRINGS, 0)
        offset = next(
            (
                offset + address - start
                for what, offset, start, size in self.segments
                if what == LOAD and start <= address < start + size
            ),
            0,
        )
        self.strings = self.at(offset, value.get(STRING_BYTES, 0))
        text = lambda at: self.strings[at:].partition(b"\0")[0].decode(errors="replace")  # noqa: E731
        self.needed = [text(at) for tag, at in entries if tag == NEEDED]
        self.rpath = text(value[RPATH]) if RPATH in value else ""
        self.shared_library = bool(table) and not value.get(FLAGS_1, 0) & PIE and not self.interpreter


def find(name):
    """Its path. Errors: nothing there that could be started."""
    path = shutil.which(name)
    if path:
        return path
    here = Path(name)
    if not here.exists():
        raise strata.UsageError(
            f"{name}: there is no such {'file' if os.sep in name else 'program, neither in PATH nor in this folder'}"
        )
    if here.is_dir():
        raise strata.UsageError(f"{name} is a folder; name the program in it")
    if not here.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH):
        raise strata.UsageError(f"{name} is not executable; chmod +x {name}")
    if os.sep not in name:
        raise strata.UsageError(f"{name} is not in PATH; that of this folder is ./{name}")
    raise strata.UsageError(f"{name} is not executable for this user, or on a file system that is mounted with noexec")


def loaded(elf, environment):
    """The file that its loader finds for each library, by name; "" for the first that it does not find, where it
    ends."""
    done = subprocess.run(
        [elf.interpreter, "--list", elf.path],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
    )
    missing = re.search(r"shared librar(?:ies:|y) (\S+): ", done.stderr)
    if missing:
        return {missing[1]: ""}
    rows = re.findall(r"^\t(\S+)(?: => (\S+))? \(0x\w+\)$", done.stdout, re.MULTILINE)
    return {name: path or name for name, path in rows}


def check_libraries(elf, found, folder):
    """Errors: it would run with another libamdhip64 or libhiprtc than those in the folder, or with none."""
    for name, path in found.items():
        stem = OURS.match(os.path.basename(name))
        if not stem:
            continue
        if not path:
            offered = ", ".join(sorted(file.name for file in folder.glob(f"{stem[0]}.*")))
            elf.refuse(f"is linked with {name}, and Strata's is {offered}; build it against HIP 5, 6 or 7")
        if os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder):
            continue
        if os.sep in name:
            why = (
                f"which it names with its folder; "
                f"patchelf --replace-needed {name} {stem[0]}.{major(folder, stem[0])} {elf.path}"
            )
        elif elf.rpath:
            why = (
                f"since its RPATH ({elf.rpath}) goes before LD_LIBRARY_PATH; "
                f"patchelf --remove-rpath {elf.path}, or link it with -Wl,--enable-new-dtags"
            )
        else:
            why = (
                "since LD_PRELOAD or the RPATH of a library that it loads goes before LD_LIBRARY_PATH; "
                "unset it there (patchelf --remove-rpath LIBRARY)"
            )
        elf.refuse(f"would run with {path} instead of Strata's, {why}")


def major(folder, stem):
    return max(int(file.suffix[1:]) for file in folder.glob(f"{stem}.*"))


def check_program(path, environment, folder):
    """Errors: what keeps the program from running on Strata's libraries, which are in a folder that the environment
    names.
    """
    try:
        with open_regular(path) as file:
            line = file.readline(256)
    except PermissionError:
        return  # may be started without being read
    if line.startswith(b"#!"):
        interpreter = os.fsdecode(line[2:].split()[0]) if line[2:].split() else ""
        if not os.path.exists(interpreter):
            raise strata.UsageError(
                f"{path} is a script of {interpreter or 'nothing'}, which does not exist; mend its first line"
            )
        return
    elf = Elf(path, folder / "libamdhip64.so.7")
    if elf.shared_library:
        elf.refuse("is a shared library; name the program that uses it")
    if not elf.interpreter:
        elf.refuse(
            "is linked statically, so that no other libamdhip64 can take the place of its own; link it without -static"
        )
    if not os.path.exists(elf.interpreter):
        elf.refuse(
            f"wants the loader {elf.interpreter}, which is not on this machine; build it here, "
            f"or install the C library that has it"
        )
    found = loaded(elf, environment)
    check_libraries(elf, found, folder)
    if not any(OURS.match(os.path.basename(name)) for name in [*found, *elf.needed]) and not any(
        name + b"\0" in elf.strings for name in OTHER_WAYS
    ):
        print(
            f"strata: warning: {path} links no libamdhip64, and calls nothing that loads one or starts a program: "
            f"none of it runs on an emulated GPU",
            file=sys.stderr,
        )
