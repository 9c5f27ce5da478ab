"""The settings run_only, under which nothing is compiled, and compile_only, under which no kernel call launches."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS


@pytest.fixture(params=TARGETS)
def cache(request, tmp_path):
    """A cache of its own, in which no kernel is."""
    with strata.config(cache_dir=str(tmp_path / "cache"), no_cache=False, target=request.param, device="emu:gfx1100"):
        yield request.param


def made(number):
    """A kernel of its own for each test and number."""

    @strata.kernel(grid=lambda out, x: lang.cdiv(x.shape[0], 64), block=64)
    def kernel(out, x):
        i = lang.block_idx.x * 64 + lang.thread_idx.x
        if i < x.shape[0]:
            out[i] = x[i] * number

    return kernel


def test_run_only_names_a_kernel_that_no_cache_has(cache):
    kernel, x = made(2), Tensor(np.arange(100, dtype="float32")).realize()
    out, *others = (Tensor.zeros(100).realize(), Tensor.zeros(50).realize(), Tensor.ones(50).realize())
    with strata.config(run_only=True):
        with pytest.raises(strata.UsageError, match=r"\[kernel\] no cache has this kernel.*run_only"):
            kernel(out, x)
    assert kernel(out, x)[0].numpy()[5] == 10
    with strata.config(run_only=True):
        assert kernel(out, x)[0].numpy()[6] == 12
        with pytest.raises(strata.UsageError, match="no cache has this kernel"):
            kernel(*others)  # of another shape


def test_run_only_names_a_tensor_s_kernel(cache):
    x = Tensor(np.arange(77, dtype="float32")).realize()
    with strata.config(run_only=True):
        with pytest.raises(
            strata.UsageError, match=r"the kernel \w+ is in no cache, and with run_only nothing is compiled"
        ):
            (x * 3 + 1.625).numpy()
    assert (x * 3 + 1.625).numpy()[2] == 7.625
    with strata.config(run_only=True):
        assert (x * 3 + 1.625).numpy()[2] == 7.625


def test_compile_only_launches_nothing_and_serves_run_only(cache):
    kernel, x = made(3), Tensor(np.arange(100, dtype="float32")).realize()
    out = Tensor.ones(100).realize()
    with strata.config(compile_only=True):
        (same,) = kernel(out, x)
        assert same.numpy().tolist() == [1] * 100
        (same,) = kernel(out, x)  # known by now
        assert same.numpy().tolist() == [1] * 100
    with strata.config(run_only=True):
        assert kernel(out, x)[0].numpy()[7] == 21
    again = made(3)  # by nothing but the cache on disk
    if not strata._strata._lang.toolchain_of("gfx1100"):
        pytest.skip("this build has no build id, so nothing is kept on disk")
    with strata.config(run_only=True):
        assert again(out, x)[0].numpy()[8] == 24


def test_run_only_serves_a_lazy_kernel_from_disk(cache):
    if not strata._strata._lang.toolchain_of("gfx1100"):
        pytest.skip("this build has no build id, so nothing is kept on disk")
    out, x = Tensor.zeros(100), Tensor(np.arange(100, dtype="float32")).realize()
    with strata.config(run_only=True), pytest.raises(strata.UsageError, match="no cache has this kernel"):
        out.custom_kernel(x, kernel=made(5))
    with strata.config(compile_only=True):
        made(5)(out.realize(), x)
    with strata.config(run_only=True):
        again = made(5)
        again.graph(out, x)  # a trace alone, without code
        assert out.custom_kernel(x, kernel=again)[0].numpy().tolist() == [5 * i for i in range(100)]
        assert out.numpy().tolist() == [0] * 100


def test_compile_only_gives_the_tensors_that_the_launch_would_write(cache):
    @strata.kernel(grid=1, block=4)
    def kernel(x, out, says):
        out[lang.thread_idx.x] = x[lang.thread_idx.x]
        if says:
            lang.printf("{}", x[0])

    x, out = Tensor(np.arange(4, dtype="float32")).realize(), Tensor.ones(4).realize()
    for says in (False, True):
        with strata.config(compile_only=True):
            assert [tensor is out for tensor in kernel(x, out, says)] == [True]


def test_compile_only_still_reports_what_does_not_compile():
    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = undefined  # noqa: F821

    with strata.config(compile_only=True), pytest.raises(NameError, match="undefined"):
        kernel(Tensor.zeros(1))


def test_a_compiled_artifact_serves_a_launch(cache):
    if not strata._strata._lang.toolchain_of("gfx1100"):
        pytest.skip("this build has no build id, so nothing is kept on disk")
    spec, out, x = lang.TensorSpec((100,), "float32"), Tensor.zeros(100).realize(), Tensor.ones(100).realize()
    strata.compile(made(4), spec, spec, arch="gfx1100")
    with strata.config(run_only=True):
        assert made(4)(out, x)[0].numpy()[0] == 4
