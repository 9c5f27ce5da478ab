"""The device interp: graphs and kernels without a compiler."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang, uop

RNG = np.random.default_rng(7)
X = RNG.standard_normal((5, 12)).astype("float32")
Y = RNG.standard_normal((12, 7)).astype("float32")


def here(array):
    return Tensor(array, device="interp")


FUNCTIONS = {
    "elementwise": (lambda x, y: (x + 1).exp() * 2 + 1, lambda x, y: np.exp(x + 1) * 2 + 1),
    "product": (lambda x, y: x @ y, lambda x, y: x @ y),
    "softmax": (
        lambda x, y: x.softmax(-1),
        lambda x, y: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
    ),
    "sort": (lambda x, y: x.sort(-1), lambda x, y: np.sort(x, -1)),
    "cumsum": (lambda x, y: x.cumsum(1), lambda x, y: np.cumsum(x, 1)),
    "flip and permute": (lambda x, y: x.flip(0).permute(1, 0)[2:5], lambda x, y: x[::-1].T[2:5]),
    "pad": (lambda x, y: x.pad(((1, 2), (0, 3))), lambda x, y: np.pad(x, ((1, 2), (0, 3)))),
    "maximum of an axis": (lambda x, y: x.max(0), lambda x, y: x.max(0)),
    "argmax": (lambda x, y: x.argmax(1), lambda x, y: x.argmax(1)),
    "variance": (lambda x, y: x.var(1), lambda x, y: x.var(1)),
    "integers": (lambda x, y: (x * 100).cast("int8") >> 1, lambda x, y: (x * 100).clip(-128, 127).astype("int8") >> 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interp_gives_what_numpy_gives(name):
    function, reference = FUNCTIONS[name]
    got = function(here(X), here(Y)).numpy()
    want = reference(X.astype("float64"), Y.astype("float64"))
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


def test_interp_is_a_device_and_not_the_default_one():
    assert "interp" in strata.devices() and strata.default_device() != "interp"
    assert here(X).device == "interp"
    assert strata.device_properties("interp:gfx942")["warp_size"] == 64


def test_gradients_and_training_run_on_interp():
    with strata.config(device="interp"):
        w = Tensor(Y[:, :1])
        grad = strata.grad(lambda w: ((Tensor(X) @ w) ** 2).sum())(w)
        want = 2 * X.T @ (X @ Y[:, :1])
        np.testing.assert_allclose(grad.numpy(), want, rtol=1e-5)


def test_a_captured_function_gives_other_results_for_other_arguments():
    @strata.jit
    def f(x, y):
        return (x * 2).sum(), x.sort(-1) + y

    for step in range(5):
        x, y = X + step, X * step
        total, ordered = f(here(x), here(y))
        np.testing.assert_allclose(total.item(), 2 * x.sum(), rtol=1e-5)
        np.testing.assert_allclose(ordered.numpy(), np.sort(x, -1) + y, rtol=1e-6)
    assert f.captures == 1


@strata.kernel(grid=3, block=64)
def doubled(out: lang.Tensor, a: lang.Tensor):
    i = lang.block_idx.x * 64 + lang.thread_idx.x
    if i < 150:
        out[i] = a[i] * 2


def test_a_traced_kernel_runs_on_interp():
    a = np.arange(192, dtype="float32")
    out = Tensor.zeros(192, device="interp").realize()
    doubled(out, here(a))
    np.testing.assert_array_equal(out.numpy()[:150], a[:150] * 2)


def test_a_kernel_over_ranges_runs_on_interp():
    """Threads meet in local memory at a barrier, and a loop adds up."""

    def reversed_sums(out, a):
        block, thread = uop.range(3, 0, "global"), uop.range(64, 1, "local")
        step = uop.range(4, 2, "loop")
        shared, acc = uop.placeholder(64, "float32", "local"), uop.placeholder(1, "float32", "reg", 1)
        start = acc[0].store(uop.const(0, "float32"))
        now = acc.after(start, step)
        added = now[0].store(now[0].load() + a[(block * 64 + thread) * 4 + step].load()).end(step)
        ready = shared.after(uop.barrier(shared[thread].store(acc.after(added)[0].load())))
        return uop.sink(out[block * 64 + thread].store(ready[63 - thread].load()).end(block, thread))

    a = RNG.integers(0, 9, 768).astype("float32")
    got = Tensor.zeros(192, device="interp").custom_kernel(here(a), kernel=reversed_sums)[0]
    want = a.reshape(3, 64, 4).sum(-1)[:, ::-1].ravel()
    np.testing.assert_array_equal(got.numpy(), want)


def test_an_access_out_of_bounds_is_a_fault_with_its_line():
    @strata.kernel(grid=1, block=64)
    def beyond(out: lang.Tensor, a: lang.Tensor):
        i = lang.thread_idx.x
        out[i] = a[i + 1]  # one too far

    out = Tensor.zeros(64, device="interp").realize()
    with pytest.raises(strata.MemoryFault, match=r"thread \(63, 0, 0\).*element 64.*which has 64"):
        beyond(out, here(np.zeros(64, "float32")))


def test_a_wrong_index_is_a_fault():
    with pytest.raises(strata.MemoryFault, match="index 9 is outside of axis 0"):
        here(X)[here(np.array([0, 9], "int32"))].numpy()


def test_hip_and_assembly_are_unsupported():
    source = strata.hip_kernel('extern "C" __global__ void k(float* x) { x[0] = 1; }', name="k", grid=1, block=1)
    with pytest.raises(strata.Unsupported, match="interp interprets graphs, and kernel 'k' is HIP source"):
        source(here(X))
    text = strata.asm_kernel("s_endpgm", name="k", arch="gfx1100", args=[], grid=1, block=1)
    with pytest.raises(strata.Unsupported, match="kernel 'k' is machine code"):
        text(here(X))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "bfloat16", "float64"])
def test_elements_of_every_size_come_back(dtype):
    values = np.arange(6) % 2 if dtype == "bool" else np.arange(6)
    t = here(values.astype("int64")).cast(dtype)
    np.testing.assert_array_equal(
        (t + t if dtype != "bool" else t).cast("int64").numpy(), values * (1 + (dtype != "bool"))
    )
