"""A step of decoding by the library, captured: its values at every position are NumPy's, and memory stays flat."""

import numpy as np
import pytest
import strata
from attention_by_numpy import paged
from by_numpy import close, of, strict, wide
from strata import Tensor, kernels as K
from test_positions_and_caches import table, turned

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

BLOCK, HEADS, KV, WIDTH, SEQUENCES = 4, 4, 2, 16, 3
TABLES = np.array([[5, 0, 2], [1, 7, 4], [3, 6, 8]], np.int32)


def step(x, w, tables, position, keys, values, rotary):
    """Attention of one token of each sequence, whose key and value are stored at `position`."""
    q, k, v = (x @ w).split([HEADS * WIDTH, KV * WIDTH, KV * WIDTH], -1)
    q, k, v = (t.reshape(SEQUENCES, -1, WIDTH) for t in (q, k, v))
    at = position.expand(SEQUENCES)
    q, k = K.rotary_embedding(at, q, k, rotary)
    slots = tables.take(position // BLOCK, 1).reshape(-1) * BLOCK + at % BLOCK
    keys, values = K.reshape_and_cache(k, v, keys, values, slots)
    return K.paged_attention(q, keys, values, tables, at + 1), keys, values


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_captured_step_has_numpys_values_at_every_position(arch, rng):
    with strict(arch):
        w, rotary = of(rng.standard_normal((8, (HEADS + 2 * KV) * WIDTH))), K.rotary_cos_sin(16, WIDTH).realize()
        tables = Tensor(TABLES).realize()
        caches = [of(np.full((9, BLOCK, KV, WIDTH), np.nan)) for _ in range(2)]
        known = [np.full((9, BLOCK, KV, WIDTH), np.nan) for _ in range(2)]
        captured, live = strata.jit(step), []
        for p in range(10):
            x = of(rng.standard_normal((SEQUENCES, 8)))
            out, *caches = captured(x, w, tables, Tensor([p], dtype="int32").realize(), *caches, rotary)
            strata.realize([out, *caches])
            q, k, v = np.split(wide(x) @ wide(w), [HEADS * WIDTH, (HEADS + KV) * WIDTH], 1)
            cos, sin = np.split(table([p] * SEQUENCES, WIDTH), 2, 1)
            q, k = (turned(t.reshape(SEQUENCES, -1, WIDTH), cos, sin, False) for t in (q, k))
            for cache, rows in zip(known, (k, v.reshape(SEQUENCES, KV, WIDTH))):
                cache[TABLES[:, p // BLOCK], p % BLOCK] = rows
            close(out, paged(q, *known, TABLES, [p + 1] * SEQUENCES)[0], tolerance=4e-6)
            live.append(strata.stats().live_bytes)
        assert max(live[3:]) == min(live[3:]), live
