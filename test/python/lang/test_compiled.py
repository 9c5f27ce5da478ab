"""strata.compile of a kernel: an Artifact with its graph, its key, and whether a cache had it. No device is needed."""

import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

SPEC = lang.TensorSpec((64,), "float32")
ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def made(number=2):
    @strata.kernel(grid=1, block=64)
    def kernel(out, x, more: lang.Constexpr = 0):
        out[lang.thread_idx.x] = x[lang.thread_idx.x] * number + more

    return kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_an_artifact_has_code_graph_and_key(arch, target, tmp_path):
    with strata.config(cache_dir=str(tmp_path / "cache"), no_cache=False):
        artifact, again = (strata.compile(made(), SPEC, SPEC, arch=arch, target=target) for _ in range(2))
        assert artifact.kernels[0].name == "kernel" and artifact.code_object[:4] == b"\x7fELF"
        assert artifact.graph.tree() == made().graph(SPEC, SPEC, arch=arch).tree()
        assert len(artifact.cache_key) == 64
        assert not artifact.from_cache
        assert again.cache_key == artifact.cache_key and again.code_object == artifact.code_object
        assert again.assembly == artifact.assembly and again.source == artifact.source
        assert again.from_cache or not strata._strata._lang.toolchain_of(arch)


def test_an_artifact_is_known_again_in_memory():
    kernel = made(5)
    with strata.config(no_cache=True):
        first, second = (strata.compile(kernel, SPEC, SPEC, arch="gfx1100", target="asm") for _ in range(2))
    assert not first.from_cache and second.from_cache and first.code_object == second.code_object


def test_tensors_stand_for_their_types_and_constants_count():
    with_tensors = strata.compile(made(), Tensor.ones(64), Tensor.ones(64), arch="gfx1100", target="asm")
    assert with_tensors.cache_key == strata.compile(made(), SPEC, SPEC, arch="gfx1100", target="asm").cache_key
    other = strata.compile(made(), SPEC, SPEC, 1, arch="gfx1100", target="asm")
    assert other.cache_key != with_tensors.cache_key and other.graph.tree() != with_tensors.graph.tree()


def test_what_is_no_kernel_has_neither_graph_nor_key():
    artifact = strata.compile(Tensor.ones(4) + 1, arch="gfx1100", target="asm")
    assert artifact.graph is None and artifact.cache_key == "" and not artifact.from_cache
