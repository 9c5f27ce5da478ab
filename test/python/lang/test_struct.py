"""Memory of a block as classes describe it."""

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, lang, layout as lo
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@lang.struct
class Counters:
    hits: dtypes.int32
    misses: dtypes.int32


@lang.struct
class Storage:
    tile: lang.Array[dtypes.float32, 64, 16]
    flags: lang.Array[dtypes.uint8, 64]
    counters: Counters


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_each_field_is_memory_of_its_own(arch, target, rng):
    @strata.kernel(grid=1, block=64)
    def kernel(out, hits, x):
        t = lang.thread_idx.x
        own = lang.shared(Storage)
        tile = own.tile.view(lo.Layout((8, 8), (8, 1)))
        if t == 0:
            own.counters.hits[0] = 0
            own.counters.misses[0] = 0
        lang.barrier()
        tile[t // 8, t % 8] = x[t]
        own.flags[t] = x[t] > 0
        lang.atomic_add((own.counters.hits if x[t] > 0 else own.counters.hits).at(0), dtypes.int32(x[t] > 0))
        lang.barrier()
        out[t] = tile[t % 8, t // 8] + own.flags[63 - t]
        hits[t] = own.counters.hits[0] - own.counters.misses[0]

    x = rng.standard_normal(64).astype("float32")
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, hits = kernel(Tensor.zeros(64), Tensor.zeros(64, dtype="int32"), Tensor(x))
        want = x.reshape(8, 8).T.reshape(-1) + (x > 0)[::-1]
        assert np.array_equal(out.numpy(), want.astype("float32"))
        assert set(hits.numpy().tolist()) == {int((x > 0).sum())}


def wrong(function, error, text):
    with pytest.raises(error, match=text):
        strata.kernel(function, grid=1, block=1).graph(lang.TensorSpec(4))


def test_wrong_structs_say_what_to_write():
    with pytest.raises(strata.UsageError, match="has no fields: annotate them"):
        lang.struct(type("Empty", (), {}))
    with pytest.raises(strata.UsageError, match="the field x of Bad is <class 'int'>"):
        lang.struct(type("Bad", (), {"__annotations__": {"x": int}}))
    with pytest.raises(strata.UsageError, match=r"Array\[dtype, n\]"):
        lang.Array[dtypes.float32]
    with pytest.raises(strata.UsageError, match="0 elements"):
        lang.Array[dtypes.float32, 0]
    with pytest.raises(strata.UsageError, match="decorates a class"):
        lang.struct(lambda: 0)
    wrong(lambda x: lang.shared(Storage).other, AttributeError, "has the fields tile, flags, counters, not other")
    wrong(lambda x: lang.shared(4, align=12), strata.UsageError, "a power of two")
    wrong(lambda x: lang.shared(4, align=128), strata.Unsupported, "multiples of 16 bytes")
    wrong(lambda x: lang.shared(Storage).tile.view((8, 9)), lo.LayoutError, "reaches element 71")


def test_a_field_is_not_assigned():
    def assign(x):
        own = lang.shared(Counters)
        own.hits = 3

    wrong(assign, AttributeError, r"hits\[i\] = x stores an element")
