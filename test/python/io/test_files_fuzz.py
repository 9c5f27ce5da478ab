"""Files of tensors that are damaged at random are refused or harmless."""

import collections
import io
import random
import resource
import struct
import time
import zipfile

import numpy as np
import pytest
import strata
from strata import Tensor
from test_files import checkpoint, tensor
from test_files_hostile import NUMBERS, SECONDS, gguf, read_all, text, u32

EDGES = (
    [struct.pack("<Q", n & (1 << 64) - 1) for n in (0, 1, -1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 40)]
    + [struct.pack("<I", n) for n in (0, 1, 0xFFFFFFFF, 1 << 31, 1 << 20)]
    + [b"\xff", b"\0", b"9" * 20, b"-1", b"[" * 40]
)


def damaged(content, rnd):
    content = bytearray(content)
    for _ in range(rnd.choice((1, 1, 2, 5))):
        at = rnd.randrange(len(content) or 1)
        way, size = rnd.randrange(5), rnd.choice((1, 2, 4, 8, 30))
        if way == 0 and content:
            content[at % len(content)] ^= 1 << rnd.randrange(8)
        elif way == 1:
            del content[at:]
        elif way == 2:
            edge = rnd.choice(EDGES)
            content[at : at + len(edge)] = edge
        elif way == 3:
            del content[at : at + size]
        else:
            content[at:at] = content[rnd.randrange(len(content) or 1) :][:size]
    return bytes(content)


def sound(kind, path):
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([True, False]),
        "none": np.zeros((0, 2), np.int64),
    }
    if kind == "npz":
        np.savez_compressed(path, **arrays)
    elif kind == "npy":
        np.save(path, arrays["a"])
    elif kind == "safetensors":
        strata.save(path, {n: Tensor(a) for n, a in arrays.items()}, {"made": "here"})
    elif kind == "pt":
        checkpoint(
            path,
            collections.OrderedDict(
                model={
                    "w": tensor("FloatStorage", "0", 6, 0, (2, 3), (3, 1)),
                    "t": tensor("FloatStorage", "0", 6, 1, (2,), (2,)),
                },
                epoch=3,
                rates=[0.1, {"x": (1, 2)}],
            ),
            {"0": arrays["a"]},
        )
    else:
        path.write_bytes(
            gguf(
                [NUMBERS, (b"t", 9, u32(8) + struct.pack("<Q", 2) + text(b"a") + text(b"b"))],
                [(b"a", (2, 3), 0, 0), (b"q", (32,), 2, 32)],
            )
        )
    return path.read_bytes()


def repacked(content, rnd):
    """A zip whose sums are right, around damaged files."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", rnd.choice((0, 8))) as made:
        for info in archive.infolist():
            raw = archive.read(info)
            made.writestr(info.filename, damaged(raw, rnd) if rnd.random() < 0.6 else raw)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["npz", "npy", "safetensors", "pt", "gguf"])
def test_damage_at_random_is_refused_or_harmless(kind, tmp_path):
    path, rnd = tmp_path / f"x.{kind}", random.Random(5)
    content, before, end = (
        sound(kind, path),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        time.monotonic() + SECONDS,
    )
    count = wrong = 0
    while time.monotonic() < end:
        now = repacked(content, rnd) if kind in ("npz", "pt") and rnd.random() < 0.7 else damaged(content, rnd)
        path.write_bytes(now)
        start = time.process_time()
        try:
            read_all(path)
        except (strata.UsageError, strata.Unsupported):
            wrong += 1
        except Exception as e:
            raise AssertionError(f"{type(e).__name__}: {e} of {kind}, the {count}th: {now!r}") from e
        assert time.process_time() - start < 5
        count += 1
    assert wrong > count // 4 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
