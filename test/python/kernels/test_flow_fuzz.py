"""Random kernels of nested ifs, whiles and breaks: what the device leaves in memory is what one thread after the other
computes on the host. STRATA_FUZZ_SECONDS=s goes on for s seconds, STRATA_FUZZ_SEED=n starts elsewhere.
"""

import os
import time

import numpy as np
import pytest
import strata
from kernel_author import Author
from strata import Tensor, uop

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
THREADS, GROUPS, REGISTERS, SLOTS = 48, 2, 4, 3
COUNT = THREADS * GROUPS
BINARY = ("+", "-", "*", "&", "|", "^")
COMPARISONS = ("<", "==", "!=")


def random_value(rng, depth=2):
    kind = rng.integers(0, 7 if depth else 4)
    if kind == 0:
        return ("const", int(rng.integers(-4, 9)))
    if kind == 1:
        return ("block",)
    if kind == 2:
        return ("input", random_value(rng, 0) if depth else ("thread",))
    if kind == 3:
        return ("register", int(rng.integers(REGISTERS)))
    return (BINARY[rng.integers(len(BINARY))], random_value(rng, depth - 1), random_value(rng, depth - 1))


def random_condition(rng):
    uniform = rng.integers(0, 4) == 0
    left = ("block",) if uniform else random_value(rng)
    right = ("const", int(rng.integers(0, 3))) if uniform else random_value(rng, 1)
    return (COMPARISONS[rng.integers(len(COMPARISONS))], left, right)


def random_body(rng, depth, in_loop):
    body = []
    for _ in range(rng.integers(1, 5)):
        kind = rng.integers(0, 10)
        if kind < 4 or depth == 0:
            body.append(("set", int(rng.integers(REGISTERS)), random_value(rng)))
        elif kind == 4:
            body.append(("store", int(rng.integers(SLOTS)), random_value(rng)))
        elif kind == 5:
            body.append(("add", int(rng.integers(SLOTS)), random_value(rng, 1)))
        elif kind == 6 and in_loop:
            body.append(("break", random_condition(rng)))
        elif kind < 8:
            body.append(("if", random_condition(rng), random_body(rng, depth - 1, False)))
        else:
            steps = int(rng.integers(1, 6))
            body.append(("loop", steps, [("break", random_condition(rng)), *random_body(rng, depth - 1, True)]))
    return body


def wrapped(x):
    return (x + 2**31) % 2**32 - 2**31


class Host:
    """One thread."""

    def __init__(self, data, thread, out):
        self.data, self.thread, self.out = data, thread, out
        self.registers = [thread, 1, -1, 0]

    def value(self, v):
        match v:
            case ("const", n):
                return n
            case ("block",):
                return self.thread // THREADS
            case ("thread",):
                return self.thread
            case ("register", n):
                return self.registers[n]
            case ("input", at):
                return int(self.data[self.value(at) & 63])
            case (sign, a, b):
                a, b = self.value(a), self.value(b)
                results = {
                    "+": lambda: a + b,
                    "-": lambda: a - b,
                    "*": lambda: a * b,
                    "&": lambda: a & b,
                    "|": lambda: a | b,
                    "^": lambda: a ^ b,
                    "<": lambda: a < b,
                    "==": lambda: a == b,
                    "!=": lambda: a != b,
                }
                return wrapped(results[sign]())

    def run(self, body):
        """True where the loop is left."""
        for statement in body:
            match statement:
                case ("set", n, v):
                    self.registers[n] = self.value(v)
                case ("store", slot, v):
                    self.out[slot * COUNT + self.thread] = self.value(v)
                case ("add", slot, v):
                    at = SLOTS * COUNT + slot
                    self.out[at] = wrapped(int(self.out[at]) + self.value(v))
                case ("break", condition):
                    if self.value(condition):
                        return True
                case ("if", condition, inner):
                    if self.value(condition):
                        self.run(inner)
                case ("loop", steps, inner):
                    for _ in range(steps):
                        if self.run(inner):
                            break
        return False


class Device:
    """The same as a kernel."""

    def __init__(self, out, data):
        self.k, self.out, self.data = Author(), out, data
        self.block = uop.special("gidx0", GROUPS)
        self.thread = self.block * THREADS + uop.special("lidx0", THREADS)
        starts = [self.thread.cast("int32"), 1, -1, 0]
        self.registers = [self.k.register(start) for start in starts]

    def value(self, v):
        match v:
            case ("const", n):
                return uop.const(n, "int32")
            case ("block",):
                return self.block.cast("int32")
            case ("thread",):
                return self.thread.cast("int32")
            case ("register", n):
                return self.k.load(self.registers[n])
            case ("input", at):
                return self.k.load(self.data, (self.value(at) & 63))
            case (sign, a, b):
                a, b = self.value(a), self.value(b)
                results = {
                    "+": lambda: a + b,
                    "-": lambda: a - b,
                    "*": lambda: a * b,
                    "&": lambda: a & b,
                    "|": lambda: a | b,
                    "^": lambda: a ^ b,
                    "<": lambda: a < b,
                    "==": lambda: a == b,
                    "!=": lambda: a != b,
                }
                return results[sign]()

    def run(self, body):
        for statement in body:
            match statement:
                case ("set", n, v):
                    self.k.store(self.registers[n], 0, self.value(v))
                case ("store", slot, v):
                    self.k.store(self.out, self.thread + slot * COUNT, self.value(v))
                case ("add", slot, v):
                    value = self.value(v)
                    self.k.effect(uop.atomic_add(self.k.after(self.out)[SLOTS * COUNT + slot], value))
                case ("break", condition):
                    self.k.break_if(self.value(condition))
                case ("if", condition, inner):
                    with self.k.where(self.value(condition)):
                        self.run(inner)
                case ("loop", steps, inner):
                    with self.k.loop(steps):
                        self.run(inner)

    def kernel(self, body):
        self.run(body)
        for n, register in enumerate(self.registers):
            self.k.store(self.out, self.thread + (SLOTS * COUNT + SLOTS) + n * COUNT, self.k.load(register))
        return self.k.sink("fuzzed")


SIZE = (SLOTS + REGISTERS) * COUNT + SLOTS


def check(body, data, machines):
    want = np.zeros(SIZE, np.int64)
    for t in range(COUNT):
        host = Host(data, t, want)
        host.run(body)
        for n, value in enumerate(host.registers):
            want[SLOTS * COUNT + SLOTS + n * COUNT + t] = value
    for arch, target in machines:
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            out = Tensor.zeros(SIZE, dtype="int32").contiguous()
            got = out.custom_kernel(Tensor(data), kernel=lambda o, d: Device(o, d).kernel(body))[0].numpy()
        assert np.array_equal(got, want), (arch, target, body)


@pytest.mark.parametrize("target, programs", [("asm", 10), ("hip", 2)])
@pytest.mark.parametrize("arch", ARCHS)
def test_random_control_flow(arch, target, programs):
    seconds, seed = float(os.environ.get("STRATA_FUZZ_SECONDS", 0)), int(os.environ.get("STRATA_FUZZ_SEED", 41))
    end, done = time.monotonic() + seconds, 0
    while done < programs or time.monotonic() < end:
        rng = np.random.default_rng([seed, done])
        data = rng.integers(-8, 16, 64).astype(np.int32)
        check(random_body(rng, 3, False), data, [(arch, target)])
        done += 1
