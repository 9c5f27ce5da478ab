"""The operands and arguments of strata.compile are enough to run its kernels: over memory of these sizes, in
order, they compute what realize does."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

PROGRAMS = {
    "one kernel": lambda x, y: [x * 2 + y],
    "a sum in two stages": lambda x, y: [x.sum()],
    "a product between others": lambda x, y: [nn.functional.softmax((x + 1) @ (y * 2).T) @ y],
    "several results": lambda x, y: [x.exp(), (x @ y.T).sum(1), x.reshape(-1)],
    "an input that is the result": lambda x, y: [x],
}


def run(artifact, given):
    """The results of an artifact's kernels, launched one by one over memory of its operands."""
    memory = {}
    for name, dtype, elements in artifact.operands:
        if name.startswith("in"):
            value = given[int(name[2:])]
            assert value.numel() == elements and value.dtype == dtype
            memory[name] = value.reshape(elements)
        else:
            memory[name] = Tensor.full((elements,), 77).cast(dtype).contiguous().realize()
    for kernel, arguments in zip(artifact.kernels, artifact.arguments, strict=True):
        assert len(arguments) == len(kernel.buffers)
        of = [memory[a] if a else Tensor.zeros(1, dtype="int32").contiguous().realize() for a in arguments]
        for tensor, (_, dtype, elements) in zip(of, kernel.buffers, strict=True):
            assert tensor.dtype == dtype and tensor.numel() == elements
        call = strata.asm_kernel(kernel.code_object, name=kernel.name, grid=kernel.grid, block=kernel.block)
        call(*of)
    return {name: value.numpy() for name, value in memory.items() if name.startswith("out")}


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_artifact_tells_how_its_kernels_are_launched(program, arch):
    with strata.config(device=f"emu:{arch}", target="asm"):
        x, y = (Tensor(np.random.default_rng(i).random((48, 40), np.float32)).realize() for i in range(2))
        results = PROGRAMS[program](x, y)
        artifact = strata.compile(results)
        between = [d.itemsize * n for name, d, n in artifact.operands if name.startswith("work")]
        assert max(between, default=0) <= artifact.workspace_size <= sum(-(-n // 256) * 256 for n in between)
        got = run(artifact, [x, y])
        for i, result in enumerate(results):
            wanted = result.numpy().reshape(-1)
            found = got.get(f"out{i}", wanted)  # of a result that is an input, or in another one's memory, nothing
            np.testing.assert_array_equal(found[: wanted.size], wanted)
        assert got or program == "an input that is the result"


def test_a_kernel_of_the_users_alone_has_no_operands():
    kernel = strata.hip_kernel('extern "C" __global__ void f(float* x) { x[0] = 1; }', name="f", grid=1, block=32)
    assert strata.compile(kernel, "gfx1100").operands == []
