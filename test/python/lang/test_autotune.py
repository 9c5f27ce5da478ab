"""strata.autotune: the fastest of some configs, once for each key, kept on disk and in files."""

import json

import numpy as np
import pytest
import strata
from strata import Config, Tensor, lang


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    with strata.config(cache_dir=str(tmp_path / "cache"), no_cache=False):
        yield tmp_path


def scaled(configs, tried=None, **options):
    """Each block computes `each` numbers of a thread; a config that is asked to gives wrong results."""

    @strata.autotune(configs=configs, **options)
    @strata.kernel(grid=lambda out, x, scale, each, wrong: lang.cdiv(x.shape[0], 64 * each), block=64)
    def kernel(out, x, scale, each: lang.Constexpr, wrong: lang.Constexpr):
        if tried is not None:
            tried.append(each)
        for k in lang.static_range(each):
            i = (lang.block_idx.x * each + k) * 64 + lang.thread_idx.x
            if i < x.shape[0]:
                out[i] = x[i] * scale + wrong

    return kernel


def config(each, wrong=0):
    return Config(each=each, wrong=wrong)


X = np.arange(1000, dtype="float32")


def run(kernel, n=1000):
    (out,) = kernel(Tensor.zeros(n), Tensor(X[:n]), 2)
    assert out.numpy().tolist() == (X[:n] * 2).tolist()


def test_the_fastest_config_wins_and_each_key_has_its_own():
    kernel = scaled([config(1), config(4)], measure=lambda run, config: config.arguments["each"] * 1.0, key=["x"])
    run(kernel)
    run(kernel, 10)
    assert kernel.best == {((1000, "float32"),): config(1), ((10, "float32"),): config(1)}
    other = scaled([config(2), config(8)], measure=lambda run, config: -config.arguments["each"], key=["x"])
    run(other)
    assert other.best == {((1000, "float32"),): config(8)}


def test_time_is_what_decides_without_a_measure():
    """A block that does all by itself takes longer than many that share it."""
    kernel = scaled([config(16), config(1)], key=["x"])
    run(kernel)
    assert kernel.best[((1000, "float32"),)] == config(1)


def test_ties_go_to_the_first_and_wrong_configs_lose():
    kernel = scaled(
        [config(2), config(4), config(1, wrong=3)], measure=lambda run, config: 1.0 - config.arguments["wrong"]
    )
    run(kernel)
    assert list(kernel.best.values()) == [config(2)]


def test_configs_that_fail_lose_and_none_that_works_is_an_error():
    too_large = Config(each=1, wrong=0, block=4096)
    kernel = scaled([too_large, config(2)])
    run(kernel)
    assert list(kernel.best.values()) == [config(2)]
    with pytest.raises(strata.UsageError, match="no config of kernel works"):
        run(scaled([too_large, Config(each=2, wrong=0, block=8192)]))


def tiled(each=(3, 4), **options):
    @strata.autotune([Config(each=n) for n in each], key=["x"], **options)
    @strata.kernel(grid=lambda out, x, each: x.shape[0] // (64 * each), block=64)
    def kernel(out: lang.Tensor, x: lang.Tensor, each: lang.Constexpr):
        assert x.shape[0] % (64 * each) == 0, f"no whole tiles of {each}"
        for k in lang.static_range(each):
            i = (lang.block_idx.x * each + k) * 64 + lang.thread_idx.x
            out[i] = x[i] * 2

    return kernel


def test_configs_that_the_author_s_own_assert_refuses_lose():
    kernel = tiled()
    kernel(Tensor.zeros(512), Tensor.ones(512))
    assert list(kernel.best.values()) == [Config(each=4)]
    with pytest.raises(strata.UsageError, match="no config of kernel works:\n.*AssertionError: no whole tiles of 3"):
        kernel(Tensor.zeros(320), Tensor.ones(320))


def test_a_tuned_kernel_is_used_as_a_kernel():
    kernel, x = tiled(), Tensor(X[:512])
    want = (X[:512] * 2).tolist()
    assert Tensor.zeros(512).custom_kernel(x, kernel=kernel)[0].tolist() == want
    assert kernel.interpret(Tensor.zeros(512), x)[0].tolist() == want
    assert '"grid": [2, 1, 1]' in kernel.graph(Tensor.zeros(512), x).to_json()
    specs = [lang.TensorSpec(512)] * 2
    assert strata.compile(kernel, *specs, arch="gfx942", target="asm").kernels[0].name == "kernel"
    captured = strata.jit(lambda out, x: kernel(out, x)[0])
    assert [captured(Tensor.zeros(512), x).tolist() for _ in range(3)] == [want] * 3


def test_a_search_runs_kernels_which_specs_and_run_only_do_not(own_cache):
    with pytest.raises(strata.UsageError, match="give tensors for lang.TensorSpec, or default="):
        strata.compile(tiled(), *[lang.TensorSpec(768)] * 2, arch="gfx942")
    with strata.config(compile_only=True):
        kernel, out = tiled((4, 2)), Tensor.zeros(512)
        kernel(out, Tensor.ones(512))
        assert not kernel.best and not out.numpy().any()
    with strata.config(run_only=True):
        with pytest.raises(strata.UsageError, match="no cache has a config of kernel .* give default= or artifact="):
            kernel(Tensor.zeros(512), Tensor.ones(512))


def test_a_search_leaves_the_tensors_alone_and_runs_each_config_on_fresh_ones():
    """The kernel adds to its output: every run starts from the same values."""
    seen = []

    def measure(run, config):
        seen.append([run()[0].numpy().tolist() for _ in range(2)])
        return 1.0

    def adding(**options):
        @strata.autotune(configs=[Config(n=1), Config(n=2)], measure=measure, **options)
        @strata.kernel(grid=1, block=4)
        def kernel(out, n: lang.Constexpr):
            out[lang.thread_idx.x] = out[lang.thread_idx.x] + 1.0

        return kernel

    out = Tensor([1.0, 2.0, 3.0, 4.0])
    adding(restore_value=["out"])(out)
    assert out.numpy().tolist() == [2, 3, 4, 5]
    assert all(result == [2, 3, 4, 5] for results in seen for result in results)
    seen.clear()
    adding(reset_to_zero=["out"])(out)
    assert all(result == [1, 1, 1, 1] for results in seen for result in results)
    assert out.numpy().tolist() == [3, 4, 5, 6]


def test_prune_says_what_is_worth_a_try():
    tried = []
    kernel = scaled(
        [config(1), config(2), config(4)],
        prune=lambda configs, arguments: [c for c in configs if arguments["x"].shape[0] // c.arguments["each"] < 600],
        measure=lambda run, config: tried.append(config) or 1.0,
    )
    run(kernel)
    assert tried == [config(2), config(4)]


def test_a_default_is_taken_without_a_search():
    tried = []
    run(scaled([config(1), config(2)], tried, default=config(2)))
    assert set(tried) == {2}
    tried.clear()
    kernel = scaled([config(1), config(2)], tried, default=lambda arguments: None)
    run(kernel)
    assert set(tried) == {1, 2}


def test_winners_are_on_disk():
    def measured(run, config):
        calls.append(config)
        return config.arguments["each"]

    calls = []
    run(scaled([config(4), config(2)], measure=measured))
    assert len(calls) == 2
    again = scaled([config(4), config(2)], measure=measured)
    run(again)
    assert len(calls) == 2 and list(again.best.values()) == [config(2)]
    run(scaled([config(2), config(4)], measure=measured))  # other configs are another search
    assert len(calls) == 4


def test_winners_are_in_files(own_cache):
    from strata.lang import _autotune

    run(scaled([config(4), config(2)], measure=lambda run, config: config.arguments["each"]))
    file = own_cache / "configs.json"
    file.write_text(json.dumps({"configs": list(_autotune.chosen.values())}))
    with strata.config(cache_dir=str(own_cache / "other")):
        kernel = scaled([config(4), config(2)], artifact=str(file), measure=lambda run, config: 1 / 0)
        run(kernel)
        assert list(kernel.best.values()) == [config(2)]
        with pytest.raises(strata.UsageError, match="no file of `strata tune --export`"):
            run(scaled([config(4), config(2)], artifact=str(own_cache / "absent")))


def test_wrong_uses_say_what_to_write():
    with pytest.raises(strata.UsageError, match="stands above @strata.kernel"):
        strata.autotune([config(1)])(lambda x: None)
    with pytest.raises(strata.UsageError, match="one at least"):
        scaled([])
    with pytest.raises(strata.UsageError, match="has no parameter size; it has: out, x"):
        scaled([Config(size=3)])
    with pytest.raises(strata.UsageError, match="has no parameter y"):
        scaled([config(1)], key=["y"])
    with pytest.raises(strata.UsageError, match="gives other arguments than"):
        scaled([config(1), Config(each=1)])
    with pytest.raises(strata.UsageError, match="each is what the configs give"):
        scaled([config(1)])(Tensor.zeros(4), Tensor.zeros(4), 2, each=2)
    with pytest.raises(TypeError, match="missing a required argument: 'scale'"):
        scaled([config(1)])(Tensor.zeros(4), Tensor.zeros(4))
    with pytest.raises(strata.UsageError, match="prune gives some of the configs"):
        run(scaled([config(1), config(2)], prune=lambda configs, arguments: []))
    with pytest.raises(strata.UsageError, match="gives milliseconds"):
        run(scaled([config(1), config(2)], measure=lambda run, config: None))
