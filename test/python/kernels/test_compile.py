"""strata.compile: sources, code objects and resources, nothing run."""

import numpy as np
import pytest
import strata
from strata import Tensor
from test_custom_kernel import ADD_ONE, SCALE


@pytest.mark.amd
def test_a_tensor():
    strata.reset_stats()
    t = (Tensor.empty(1000) * 2 + 1).exp()
    a = strata.compile(t)
    (k,) = a.kernels
    assert strata.stats().kernels == 0 and not t.is_realized
    assert "__global__" in a.source and k.name in a.source and k.source in a.source
    assert a.code_object[:4] == b"\x7fELF" and k.code_object == a.code_object
    assert "s_endpgm" in a.assembly and "v_exp_f32" in k.assembly and k.name in a.assembly
    assert len(k.grid) == 3 and len(k.block) == 3 and np.prod(k.grid) * np.prod(k.block) <= 1024  # whole waves
    assert 0 < k.vgprs <= 256 and 0 < k.sgprs <= 106 and k.lds == 0 and k.scratch == 0 and k.compile_ms >= 0
    assert k.name in repr(k) and isinstance(k.schedule, str)


def test_several_kernels_in_order():
    x = Tensor.empty(64, 64)
    a = strata.compile(((x @ x).softmax() @ x).sum())
    assert len(a.kernels) >= 2 and all(k.code_object[:4] == b"\x7fELF" for k in a.kernels)
    b = strata.compile([x + 1, x.sum(0)])
    assert len(b.kernels) == 2
    assert len(strata.compile([x + 1, x * 2]).kernels) == 1


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_one_object_has_all_kernels_and_each_runs_by_its_name(arch, target):
    x = np.arange(256, dtype=np.float32)
    made = [lambda t: t + 1, lambda t: t * 2, lambda t: t - 3, lambda t: t + 1]
    with strata.config(device=f"emu:{arch}", target=target, fusion="less"):
        artifact = strata.compile([f(Tensor.empty(256)) for f in made], arch, target)
        assert [k.name for k in artifact.kernels] == ["e_256", "e_256_n2", "e_256_n3", "e_256"]  # equal ones are one
        for f, k in zip(made, artifact.kernels):
            for image, name in ((artifact.code_object, k.name), (k.code_object, "")):
                kernel = strata.asm_kernel(image, name=name, grid=list(k.grid), block=list(k.block))
                out, _ = Tensor.empty(256).custom_kernel(Tensor(x), kernel=kernel)
                np.testing.assert_array_equal(out.numpy(), f(x))


@pytest.mark.amd
def test_kernels_that_strata_did_not_write_stay_in_objects_of_their_own():
    add_one = strata.asm_kernel(ADD_ONE, grid=2, block=64)
    own = Tensor.empty(128).custom_kernel(Tensor.empty(128), kernel=add_one)[0]
    both = strata.compile([own, Tensor.empty(64) * 2])
    with pytest.raises(strata.Unsupported, match="add_one is not Strata's own"):
        both.code_object
    assert all(k.code_object[:4] == b"\x7fELF" for k in both.kernels)


def test_equal_work_gives_equal_bytes():
    one, two = (strata.compile(Tensor.empty(333) * 5.5 + 2).code_object for _ in range(2))
    assert one == two
    with strata.config(no_cache=True):
        assert strata.compile(Tensor.empty(333) * 5.5 + 2).code_object == one


@pytest.mark.amd
def test_kernels_of_the_users():
    hip = strata.compile(strata.hip_kernel(SCALE, name="scale", grid=4, block=256), arch="gfx1100")
    (k,) = hip.kernels
    assert k.name == "scale" and list(k.grid) == [4, 1, 1] and list(k.block) == [256, 1, 1] and SCALE in hip.source
    asm = strata.compile(strata.asm_kernel(ADD_ONE, grid=2, block=64))
    assert asm.kernels[0].name == "add_one" and "global_load_b32" in asm.assembly


@pytest.mark.amd
def test_a_compiled_tensor_runs_as_a_kernel():
    artifact = strata.compile(Tensor.empty(256) * 3)
    k = artifact.kernels[0]
    kernel = strata.asm_kernel(k.code_object, grid=list(k.grid), block=list(k.block))
    x = np.arange(256, dtype=np.float32)
    out, _ = Tensor.empty(256).custom_kernel(Tensor(x), kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), 3 * x)


@pytest.mark.amd
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", ["sum", "softmax", "product", "norm"])
def test_compiled_kernels_run_with_the_buffers_that_they_say_they_take(name, target, rng):
    """Results first, a counter of the last block at the end; those of one kernel compute with what it says alone."""
    made = {
        "sum": lambda x: x.sum(),
        "softmax": lambda x: x.softmax(-1),
        "product": lambda x: x @ x.T,
        "norm": lambda x: (x - x.mean(-1, True)).square().sum(),
    }[name]
    x = rng.standard_normal((64, 4096)).astype(np.float32)
    artifact = strata.compile(made(Tensor.empty(64, 4096)), target=target)
    for k in artifact.kernels:
        kinds = [buffer.rstrip("0123456789") for buffer, _, _ in k.buffers]
        assert kinds == sorted(kinds[:-1], reverse=True) + kinds[-1:] and all(
            buffer in k.source for buffer, _, _ in k.buffers if k.source
        )
    if len(artifact.kernels) > 1:
        return
    (k,) = artifact.kernels
    taken = [
        Tensor(x.reshape(elements)) if buffer.startswith("in") else Tensor.zeros(elements, dtype=dtype)
        for buffer, dtype, elements in k.buffers
    ]
    kernel = strata.asm_kernel(k.code_object, grid=list(k.grid), block=list(k.block))
    found = taken[0].custom_kernel(
        *taken[1:], kernel=kernel, outputs=[i for i, kind in enumerate(kinds) if kind == "out"]
    )
    with strata.config(target=target):
        want = made(Tensor(x)).numpy().ravel()
    assert any(y.size == want.size and np.allclose(y.numpy(), want, rtol=1e-4, atol=1e-4) for y in found)


@pytest.mark.amd
def test_local_memory_is_counted():
    source = (
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void k(int* o) { __shared__ int a[100]; '
        "a[threadIdx.x] = o[0]; __syncthreads(); o[threadIdx.x] = a[99 - threadIdx.x]; }"
    )
    (k,) = strata.compile(strata.hip_kernel(source, name="k", grid=1, block=100)).kernels
    assert k.lds == 400


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_other_archs(arch):
    a = strata.compile((Tensor.empty(64) + 1).sum(), arch=arch)
    assert a.kernels and all(k.code_object[:4] == b"\x7fELF" for k in a.kernels)


def test_sources_are_readable():
    source = strata.compile(Tensor.empty(2000, 37).sum(1)).source
    assert max(map(len, source.splitlines())) < 200 and "for (int" in source


def test_what_cannot_be_compiled_is_said():
    x = Tensor.empty(4) + 1
    for what, named, said in [
        (lambda v: v, {}, "there is no sample for the parameter 'v' of <lambda>"),
        (None, {}, "not a NoneType"),
        ([], {}, "not a list"),
        ([1], {}, "not a list"),
        ("x", {}, "not a str"),
        (x, {"arch": ["gfx1100", 2]}, r"arch is \['gfx1100', 2\]: the name of an architecture"),
        (x, {"arch": None}, "arch is None"),
    ]:
        with pytest.raises(strata.UsageError, match=said):
            strata.compile(what, **named)


def test_text_for_another_makers_chip_needs_no_compiler_of_theirs():
    text = strata.compile(Tensor.empty(64) * 2 + 1, arch="sm_90")
    assert (
        "__global__" in text.source
        and text.kernels[0].grid == [1, 1, 1]
        and text.kernels[0].name in repr(text.kernels[0])
    )
