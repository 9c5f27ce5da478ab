"""The output of direct lowering is a code object to AMD's and LLVM's own tools."""

import ctypes
import re
import subprocess

import numpy as np
import pytest
import strata
from strata import Tensor

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
KERNELS = {
    "elementwise": lambda x: x * 2 + 1,
    "row sums": lambda x: x.sum(1),
    "sum": lambda x: x.sum(),
    "product": lambda x: x @ x,
    "predicated": lambda x: strata.cat([x[:40], x[:37].exp()]),
    "integers": lambda x: x.cast("int64") // 7,
    "double": lambda x: x.cast("float64").sin(),
}
EXECUTABLE = 8  # amd_comgr_data_kind_t


@pytest.fixture(params=KERNELS)
def make(request):
    return KERNELS[request.param]


@pytest.fixture(params=ARCHS)
def artifact(request, make):
    x = Tensor(np.ones((64, 64), np.float32)).realize()
    return request.param, strata.compile(make(x), request.param, target="asm")


def tool(name, *args):
    done = subprocess.run([f"{name}-19", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def mnemonics(text):
    """Those of a listing up to its end, without the suffixes that name an encoding."""
    code = text[: text.rindex("s_endpgm")]
    return [
        re.sub(r"_(e32|e64|dpp|sdwa)$", "", m)
        for m in re.findall(r"^\s+((?:[sv]|global|ds|scratch|buffer)_\w+)", code, re.M)
    ]


def test_llvm_reads_objects_without_a_warning_and_disassembles_what_was_written(artifact, tmp_path):
    arch, compiled = artifact
    for kernel in compiled.kernels:
        file = tmp_path / f"{kernel.name}.co"
        file.write_bytes(kernel.code_object)
        said = tool("llvm-readelf", "--all", str(file))
        assert arch in said and f"{kernel.name}.kd" in said and "amdhsa.kernels" in said
        code = tool("llvm-objdump", "-d", f"--disassemble-symbols={kernel.name}", str(file))
        assert mnemonics(code) == mnemonics(kernel.assembly)


@pytest.fixture(params=ARCHS)
def several(request):
    """Kernels with local memory, with arguments of their own, and two that would have one name."""
    x, y, z = (Tensor(np.ones((64, 64), np.float32)).realize() for _ in range(3))
    with strata.config(fusion="less"):
        return request.param, strata.compile([x.softmax(1) @ x, x.sum(), y + 1, z * 2], request.param, target="asm")


def test_llvm_reads_several_kernels_of_one_object(several, tmp_path):
    arch, compiled = several
    file = tmp_path / "all.co"
    file.write_bytes(compiled.code_object)
    said = tool("llvm-readelf", "--all", str(file))
    assert arch in said and len(compiled.kernels) >= 5
    for kernel in compiled.kernels:
        assert f"{kernel.name}.kd" in said
        code = tool("llvm-objdump", "-d", f"--disassemble-symbols={kernel.name}", str(file))
        assert mnemonics(code) == mnemonics(kernel.assembly)


@pytest.fixture(scope="module")
def comgr():
    return ctypes.CDLL("libamd_comgr.so.2")


class Comgr:
    """A code object in AMD's code object manager."""

    def __init__(self, library, image):
        self.library, self.data = library, ctypes.c_uint64()
        self.call("create_data", EXECUTABLE, ctypes.byref(self.data))
        self.call("set_data", self.data, ctypes.c_size_t(len(image)), image)

    def call(self, name, *args):
        assert getattr(self.library, f"amd_comgr_{name}")(*args) == 0, name

    def node(self, name, *args):
        found = (ctypes.c_uint64 * 3)()  # room for any handle
        self.call(name, *args, ctypes.byref(found))
        return ctypes.c_uint64(found[0])

    def text(self, name, of):
        size = ctypes.c_size_t()
        self.call(name, of, ctypes.byref(size), None)
        value = ctypes.create_string_buffer(size.value)
        self.call(name, of, ctypes.byref(size), value)
        return value.value.decode()

    def items(self, node):
        size = ctypes.c_size_t()
        self.call("get_metadata_list_size", node, ctypes.byref(size))
        return [self.node("index_list_metadata", node, ctypes.c_size_t(i)) for i in range(size.value)]

    def field(self, node, key):
        return self.node("metadata_lookup", node, key.encode())


def test_amd_reads_the_metadata(comgr, artifact):
    arch, compiled = artifact
    for kernel in compiled.kernels:
        there = Comgr(comgr, kernel.code_object)
        metadata = there.node("get_data_metadata", there.data)
        assert there.text("get_metadata_string", there.field(metadata, "amdhsa.target")) == f"amdgcn-amd-amdhsa--{arch}"
        (one,) = there.items(there.field(metadata, "amdhsa.kernels"))
        assert there.text("get_metadata_string", there.field(one, ".name")) == kernel.name
        assert there.text("get_metadata_string", there.field(one, ".symbol")) == f"{kernel.name}.kd"
        arguments = there.items(there.field(one, ".args"))
        assert len(arguments) >= 2
        for argument in arguments:
            assert there.text("get_metadata_string", there.field(argument, ".value_kind")) == "global_buffer"


def test_amd_reads_the_metadata_of_several_kernels(comgr, several):
    _, compiled = several
    there = Comgr(comgr, compiled.code_object)
    found = there.items(there.field(there.node("get_data_metadata", there.data), "amdhsa.kernels"))
    assert [there.text("get_metadata_string", there.field(one, ".name")) for one in found] == list(
        dict.fromkeys(k.name for k in compiled.kernels)
    )
    for one, kernel in zip(found, compiled.kernels):
        for key, value in (
            (".group_segment_fixed_size", kernel.lds),
            (".vgpr_count", kernel.vgprs),
            (".max_flat_workgroup_size", np.prod(kernel.block)),
        ):
            assert int(there.text("get_metadata_string", there.field(one, key))) == value
