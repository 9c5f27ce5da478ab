"""Ten thousand steps of training leak nothing: a process holds after all of them what it held after half. The test
counts graph nodes, device memory, Python's objects and the C heap, so that one small thing a step is found. Controls
that leak one are found.
"""

import json
import os
import subprocess
import sys

import pytest

STEPS, CONTROL, SLOWER = 10_000, 1_000, 1_200  # the first few hundred steps still take memory

TRAINING = """
import ctypes, gc, json, re, sys
import numpy as np
import strata
from strata import Tensor, _strata, nn, optim

captured, steps, leak = sys.argv[1] == "captured", int(sys.argv[2]), sys.argv[3]
libc = ctypes.CDLL(None)
libc.open_memstream.restype = libc.malloc.restype = ctypes.c_void_p
text, size = ctypes.c_char_p(), ctypes.c_size_t()

def heap():
    '''Bytes that malloc has given away, of all its arenas: mallinfo2 knows the first alone.'''
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    whole = text.value.decode().rpartition("</heap>")[2]
    libc.free(text)
    sizes = dict(re.findall(r'<(?:total|system) type="(\\w+)".*? size="(\\d+)"', whole))
    return int(sizes["current"]) - int(sizes["fast"]) - int(sizes["rest"]) + int(sizes["mmap"])

def held():
    gc.collect()
    _strata._collect()
    now = strata.stats()
    return {"nodes": now.graph_nodes, "device bytes": now.live_bytes, "Python's blocks": sys.getallocatedblocks(), "heap bytes": heap()}

_strata._add_null_devices()
with strata.config(device="null:gfx1100"):
    class Attention(nn.Module):
        def __init__(self):
            self.embedding, self.inner, self.out = nn.Embedding(12, 8), nn.Linear(8, 24), nn.Linear(8, 4)

        def __call__(self, x):
            q, k, v = self.inner(self.embedding(x)).split(8, -1)
            return self.out(((q @ k.mT) * 8**-0.5).softmax(-1) @ v)[:, 0]

    nets = {
        "dense": lambda: (nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 4)), np.ones((4, 16), np.float32)),
        "convolutional": lambda: (
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4)),
            np.ones((4, 1, 4, 4), np.float32),
        ),
        "attention": lambda: (Attention(), np.ones((4, 3), np.int64)),
    }
    net, x = nets[sys.argv[4]]()
    step = optim.AdamW(net.parameters())
    x, kept = Tensor(x).realize(), []

    def train(x):
        loss = (net(x).square() + Tensor.rand(4)).mean()
        loss.backward()
        step()
        return loss

    leaks = {
        "nothing": lambda i: None,
        "a tensor": lambda i: kept.append(Tensor(np.full(4, i, np.float32)).realize()),
        "a graph": lambda i: kept.append((x * i).uop),
        "an object": lambda i: kept.append(object()),
        "memory of malloc": lambda i: libc.malloc(64),
    }
    run = strata.jit(train) if captured else train
    held()  # what it makes itself, as a compiled expression, is there from the start
    for i in range(steps):
        run(x)
        leaks[leak](i)
        if i == steps // 2:
            before = held()
    after = held()
print(json.dumps({name: after[name] - before[name] for name in after}))
"""  # noqa: E501
# For any number of steps. Python's cache of methods keeps some names, and malloc's caches count as given away.
ALLOWED = {"nodes": 0, "device bytes": 0, "Python's blocks": CONTROL // 4, "heap bytes": CONTROL * 16}


def growth(steps, captured, leak="nothing", net="dense"):
    """The growth in the second half of the steps, by what was counted."""
    how = "captured" if captured else "plain"
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, how, str(steps), leak, net], env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def grown(added):
    return {name for name, more in added.items() if more > ALLOWED[name]}


@pytest.mark.parametrize("captured", [False, True])
def test_ten_thousand_steps_leave_nothing_behind(captured):
    added = growth(STEPS, captured)
    assert not grown(added), added


LEAKS = {
    "a tensor": "device bytes",
    "a graph": "nodes",
    "an object": "Python's blocks",
    "memory of malloc": "heap bytes",
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("leak", LEAKS)
def test_one_small_thing_a_step_is_found(leak, captured):
    added = growth(CONTROL, captured, leak)
    assert LEAKS[leak] in grown(added), added


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("net", ["convolutional", "attention"])
def test_nets_of_other_layers_leave_nothing_behind(net, captured):
    added = growth(SLOWER, captured, net=net)
    assert not grown(added), added
    assert "heap bytes" in grown(growth(SLOWER, captured, "memory of malloc", net))
