"""Calls of artifacts: samples, constants, numbers, users' kernels, and what is wrong with a call."""

import threading

import numpy as np
import pytest
import strata
from strata import Spec, Tensor, nn
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
SCALE = """
extern "C" __global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor;
}"""


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def on(arch):
    return strata.config(device=f"emu:{arch}", target="asm")


@pytest.mark.parametrize("arch", ARCHS)
def test_tensors_that_a_function_reads_are_constants(arch, tmp_path):
    with on(arch):
        layer = nn.Linear(40, 24)
        shift = Tensor(random(24)).realize() * 2  # not computed yet
        a = strata.compile(lambda x: layer(x) + shift, Spec((16, 40)), arch=arch)
        x = random(16, 40)
        wanted = x @ layer.weight.numpy().T + layer.bias.numpy() + random(24) * 2
        a.save(tmp_path / "a")
        loaded = strata.Artifact.load(tmp_path / "a")
        for artifact in (a, loaded):
            np.testing.assert_allclose(artifact(Tensor(x)).numpy(), wanted, rtol=1e-4, atol=1e-5)
        assert [row["elements"] for row in loaded._described["constants"]] == [40 * 24, 24, 24]


@pytest.mark.parametrize("arch", ARCHS)
def test_numpy_numbers_come_with_each_call_and_pythons_stay(arch, tmp_path):
    def f(x, scale, y, count, offset):
        return x * scale + y * count + offset

    a = strata.compile(f, Spec(33), np.float32(2), Spec(33), np.int32(3), 0.5, arch=[arch], target="asm")
    a.save(tmp_path / "f.strata")
    loaded = strata.Artifact.load(tmp_path / "f.strata")
    x, y = random(33), random(33) + 1
    assert [(o.name, o.shape) for o in loaded.inputs] == [("x", (33,)), ("scale", None), ("y", (33,)), ("count", None)]
    with on(arch):
        for artifact in (a, loaded):
            for scale, count in ((2.0, 3), (-1.25, np.int32(7))):
                got = artifact(Tensor(x), scale, Tensor(y), count).numpy()
                np.testing.assert_allclose(got, x * np.float32(scale) + y * int(count) + 0.5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("returns", [tuple, list, dict])
def test_results_come_as_the_function_gave_them(returns, tmp_path):
    def f(x):
        some = [x + 1, x.sum(), x]
        return {"next": some[0], "total": some[1], "same": some[2]} if returns is dict else returns(some)

    strata.compile(f, Spec((3, 4)), arch="gfx1100", target="asm").save(tmp_path / "a")
    with on("gfx1100"):
        got = strata.Artifact.load(tmp_path / "a")(Tensor(random(3, 4)))
        assert type(got) is returns
        if returns is dict:
            assert list(got) == ["next", "total", "same"]
            got = list(got.values())
        np.testing.assert_allclose(got[0].numpy(), random(3, 4) + 1)
        np.testing.assert_allclose(got[1].numpy(), random(3, 4).sum(), rtol=1e-5)
        np.testing.assert_array_equal(got[2].numpy(), random(3, 4))


def test_strides_are_those_of_memory():
    a = strata.compile(lambda x: x * 2, Spec((4, 6), "float32", strides=(1, 4)), arch="gfx1100", target="asm")
    assert a.inputs[0].strides == (1, 4) and a.outputs[0].strides == (6, 1)
    with on("gfx1100"):
        for x in (Tensor(random(4, 6)), Tensor(random(6, 4)).T):
            np.testing.assert_array_equal(a(x).numpy(), x.numpy() * 2)


@pytest.mark.parametrize("dtype", [d.name for d in strata.dtypes.all])
def test_every_type_is_an_operand(dtype, tmp_path):
    a = strata.compile(lambda x: x.flip(0), Spec(10, dtype), arch="gfx942", target="asm")
    a.save(tmp_path / "a")
    with on("gfx942"):
        x = Tensor(np.arange(10) % 2).cast(dtype)
        got = strata.Artifact.load(tmp_path / "a")(x)
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.cast("int32").numpy(), (np.arange(10) % 2)[::-1])


@pytest.mark.parametrize("arch", ARCHS)
def test_tensors_are_a_function_of_the_memory_that_they_read(arch, tmp_path):
    with on(arch):
        x, y = Tensor(random(64)).realize(), Tensor(random(64) + 1).realize()
        strata.compile([x * y, (x + y).sum()], arch=[arch]).save(tmp_path / "a")
        a = strata.Artifact.load(tmp_path / "a")
        assert [operand.name for operand in a.inputs] == ["in0", "in1"]
        product, total = a(y, y)
        np.testing.assert_allclose(product.numpy(), (random(64) + 1) ** 2, rtol=1e-6)
        np.testing.assert_allclose(total.numpy(), 2 * (random(64) + 1).sum(), rtol=1e-5)


@pytest.mark.skipif("hip" not in TARGETS, reason="there is no compiler")
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_hip_kernel_runs_from_an_artifact(arch, tmp_path):
    kernel = strata.hip_kernel(SCALE, name="scale", grid=2, block=64)
    with strata.config(device=f"emu:{arch}"):
        alone = strata.compile(kernel, Spec(100), Spec(100), 3.0, 100, arch=[arch])

        def within(x):
            return Tensor.empty(100).custom_kernel(x + 1, 2.0, 100, kernel=kernel)[0].sum()

        for made, wanted in (
            (alone, random(100) * 3),
            (strata.compile(within, Spec(100)), (random(100) * 2 + 2).sum()),
        ):
            made.save(tmp_path / "a")
            loaded = strata.Artifact.load(tmp_path / "a")
            given = [Tensor.zeros(100), Tensor(random(100))][2 - len(loaded.inputs) :]
            got = loaded(*given)
            np.testing.assert_allclose((got[0] if isinstance(got, tuple) else got).numpy(), wanted, rtol=1e-5)
            assert all((t.numpy() == 0).all() for t in given[:-1])  # what is given stays


def test_threads_share_one(tmp_path):
    a = strata.compile(lambda x: (x @ x).softmax(-1).sum(0), Spec((48, 48)), arch="gfx1100", target="asm")
    a.save(tmp_path / "a")
    a = strata.Artifact.load(tmp_path / "a")
    inputs = [random(48, 48) + i for i in range(8)]
    found = [None] * 8

    def call(i):
        with on("gfx1100"):
            for _ in range(5):
                found[i] = a(Tensor(inputs[i])).numpy()

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with on("gfx1100"):
        for i, x in enumerate(inputs):
            np.testing.assert_array_equal(found[i], a(Tensor(x)).numpy())


def test_a_call_that_does_not_fit_says_what_does():
    a = strata.compile(lambda x, n: x * n, Spec((2, 3)), np.int32(1), name="f", arch="gfx1100", target="asm")
    with on("gfx1100"):
        for given, error, match in [
            ((), strata.UsageError, "'f' takes 2 arguments, 0 were given; x, n are missing"),
            ((Tensor.ones(2, 3),), strata.UsageError, "n is missing"),
            ((Tensor.ones(3, 2), 1), strata.ShapeError, r"'x' has shape \(3, 2\), and 'f' was compiled for \(2, 3\)"),
            ((Tensor.ones(2, 3).cast("int32"), 1), strata.DTypeError, "'x' is of int32, and 'f' was compiled for"),
            ((3, 1), strata.UsageError, "'x' is 3: a tensor of float32"),
            ((Tensor.ones(2, 3), "1"), strata.UsageError, "'n' is '1': a number"),
            ((Tensor.ones(2, 3), 1 << 40), strata.Error, "1099511627776"),
        ]:
            with pytest.raises(error, match=match):
                a(*given)
    with on("gfx90a"), pytest.raises(strata.DeviceError, match="has code for gfx1100, and the device emu:gfx90a is"):
        a(Tensor.ones(2, 3), 1)


def test_a_function_that_cannot_be_compiled_says_why():
    def needs(x, weight):
        return x @ weight

    for function, samples, match in [
        (needs, (Spec(3),), "no sample for the parameter 'weight' of needs"),
        (needs, (Spec(3), Spec(3), Spec(3)), "takes 2 samples, 3 were given"),
        (needs, (Spec(3), [1]), r"the sample of 'weight' is \[1\]"),
        (lambda x: 3, (Spec(3),), "returns 3: a compiled function returns a tensor"),
        (lambda x: x * x.sum().item(), (Spec(3),), "reads the values of 'x' while it is compiled"),
        (lambda x: x + Tensor.empty(3), (Spec(3),), "reads memory that nothing was put in"),
        (lambda out0: out0 + 1, (Spec(3),), "an argument and a result of one name: out0"),
    ]:
        with pytest.raises(strata.UsageError, match=match):
            strata.compile(function, *samples, arch="gfx1100", target="asm")
    for wrong in [(-1,), ("n",), (2.5,)]:
        with pytest.raises(strata.UsageError, match="sizes are integers"):
            Spec(wrong)
    with pytest.raises(strata.UsageError, match="do not reach each element once"):
        Spec((4, 4), strides=(8, 1))


def test_a_kernel_alone_is_compiled_but_not_called():
    kernel = strata.asm_kernel("s_endpgm", args=["x"], arch="gfx1100", grid=1, block=32)
    a = strata.compile(kernel, "gfx1100")
    assert a.inputs == () and a.outputs == ()
    with pytest.raises(strata.UsageError, match="a kernel alone has no operands"):
        a()


def test_a_call_within_a_captured_function_is_refused():
    a = strata.compile(lambda x: x + 1, Spec(4), arch="gfx1100", target="asm")
    with on("gfx1100"), pytest.raises(strata.UsageError, match="an artifact is called"):
        strata.jit(lambda x: a(x))(Tensor.ones(4))
