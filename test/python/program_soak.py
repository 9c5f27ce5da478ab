"""Random programs by many processes at once, each as test_program_fuzz.py computes it; the record of a long run.

    .venv/bin/python test/python/program_soak.py --programs 1000000 --seconds 480
    .venv/bin/python test/python/program_soak.py --programs 1000000 --seconds 480 --resume

It needs the built package on PYTHONPATH (build/release/python) and NumPy. Without a HIP compiler programs are computed
by direct lowering alone. A run goes through seeds in order and stops after whole blocks of them, so that the next one
goes on where it stopped. The totals of all runs stand in the record, build/soak/programs.json by default.
"""

import argparse
import collections
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
RECORD = HERE.parents[2] / "build" / "soak" / "programs.json"
BLOCK = 50  # programs that a worker gets at a time


# A worker reads "FIRST COUNT" and answers a JSON line before each program and one after the block. It answers "lacks"
# and a text where it cannot import the packages that programs need.
def work(names):
    with tempfile.TemporaryDirectory(prefix="strata-soak-") as cache:
        os.environ.update(STRATA_DEVICE="emu:gfx1100", STRATA_TARGET="auto", STRATA_VERIFY="1", STRATA_CACHE_DIR=cache)
        os.environ.setdefault("STRATA_EMU_THREADS", "1")
        sys.path.insert(0, str(HERE.parent))
        say = lambda **message: print(json.dumps(message), flush=True)  # noqa: E731
        try:
            from program_draw import drawn_program
            from program_run import BY_NAME, References, check, taken
            from program_shrink import report
        except ImportError as error:
            return say(lacks=f"{error}. {remedy(error.name)}")
        for line in sys.stdin:
            first, count = map(int, line.split())
            ways, wrong = collections.Counter(), {}
            for seed in range(first, first + count):
                say(at=seed)
                program = drawn_program(seed)
                references = References(program)
                for way in [BY_NAME[name] for name in names] or taken(seed):
                    ways[way.name] += 1
                    if bad := check(program, way, references):
                        wrong[seed] = report(program, way, bad)
                        break
            say(ways=ways, wrong=wrong)


def remedy(module):
    """The way to get a module that an import did not find."""
    if module and module.split(".")[0] == "strata":
        return "Build it with scripts/setup and set PYTHONPATH=build/release/python"
    return f"Install it: {sys.executable} -m pip install {module or 'numpy'}"


class Lacking(Exception):
    """Workers cannot import a module: no program was computed."""


class Worker:
    """A process with a block of seeds, or none."""

    def __init__(self, command, core):
        pin = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, preexec_fn=pin
        )
        self.core, self.block, self.at, self.heard = core, None, None, time.monotonic()
        self.text = b""  # of a line that is not whole

    def give(self, first, count):
        self.block, self.at, self.heard = (first, count), first, time.monotonic()
        try:
            self.process.stdin.write(f"{first} {count}\n".encode())
        except BrokenPipeError:
            pass  # it ended: its pipe says so

    def answer(self):
        """The findings in its block, or None while it works; a worker that ends finds its program wrong."""
        read = os.read(self.process.stdout.fileno(), 1 << 16)
        self.heard = time.monotonic()
        if not read:
            return self.ended(f"the process ended with status {self.process.wait()}")
        *lines, self.text = (self.text + read).split(b"\n")
        for message in map(json.loads, lines):
            if "lacks" in message:
                raise Lacking(message["lacks"])
            self.at = message.get("at", self.at)
            if "ways" in message:
                return message  # nothing follows it
        return None

    def ended(self, why):
        return {"ways": {}, "wrong": {self.at: f"program {self.at}: {why}"}, "after": self.at + 1}


class Soak:
    """Blocks of seeds, the workers that compute them, and the record."""

    def __init__(self, options, command):
        self.options, self.command = options, command
        self.record = {
            "first": options.seed,
            "next": options.seed,
            "programs": 0,
            "seconds": 0.0,
            "ways": {},
            "wrong": [],
        }
        if options.resume and options.record.exists():
            self.record = json.loads(options.record.read_text())
        self.start, self.before, self.shown = time.monotonic(), self.record["seconds"], 0.0
        self.programs_before = self.record["programs"]
        self.todo = collections.deque()  # blocks that a dead worker left

    def passed(self):
        return time.monotonic() - self.start

    def is_over(self):
        return self.passed() >= self.options.seconds or len(self.record["wrong"]) >= self.options.failures

    def next_block(self):
        if self.todo:
            return self.todo.popleft()
        left = self.record["first"] + self.options.programs - self.record["next"]
        if self.is_over() or left <= 0:
            return None
        first, count = self.record["next"], min(BLOCK, left)
        self.record["next"] += count
        return first, count

    def take(self, worker, found):
        """Enters what a worker found in its block, and puts back what it did not come to."""
        first, count = worker.block
        after = found.get("after", first + count)
        if after < first + count:
            self.todo.append((after, first + count - after))
        self.record["programs"] += after - first
        for name, times in found["ways"].items():
            self.record["ways"][name] = self.record["ways"].get(name, 0) + times
        for seed, text in found["wrong"].items():
            self.record["wrong"].append(int(seed))
            print(f"\n{text}\n", flush=True)

    def save(self):
        self.record["seconds"] = self.before + self.passed()
        self.options.record.parent.mkdir(parents=True, exist_ok=True)
        self.options.record.write_text(json.dumps(self.record) + "\n")

    def show(self, end=False):
        if not end and self.passed() < self.shown + 5:
            return
        self.shown, is_terminal = self.passed(), sys.stderr.isatty()
        done = self.record["programs"] - self.programs_before
        line = (
            f"{done} programs in {self.passed():.0f} s, {done / max(self.passed(), 1e-9):.0f} a second, "
            f"seed {self.record['next']}, {len(self.record['wrong'])} differ"
        )
        print(f"\r{line}\033[K" if is_terminal else line, file=sys.stderr, end="" if is_terminal and not end else "\n")

    def run(self):
        count = self.options.workers
        cores = sorted(os.sched_getaffinity(0))
        workers = [Worker(self.command, cores[i] if count == len(cores) else None) for i in range(count)]
        with selectors.DefaultSelector() as ready:
            for worker in workers:
                self.start_block(worker, ready)
            while ready.get_map():
                for key, _ in ready.select(min(5, self.options.silent)):
                    if found := key.data.answer():
                        self.finish_block(key.data, found, ready)
                working = [key.data for key in ready.get_map().values()]
                for worker in working:
                    if time.monotonic() > worker.heard + self.options.silent:
                        worker.process.kill()
                        self.finish_block(worker, worker.ended(f"no answer within {self.options.silent:g} s"), ready)
                self.show()
                self.record["working"] = sorted(worker.at for worker in working)  # lost if this process is killed
                self.save()
        self.show(end=True)
        self.record.pop("working", None)
        self.save()
        return self.summary()

    def start_block(self, worker, ready):
        if block := self.next_block():
            worker.give(*block)
            ready.register(worker.process.stdout, selectors.EVENT_READ, worker)
        else:
            worker.process.stdin.close()
            worker.process.wait()

    def finish_block(self, worker, found, ready):
        ready.unregister(worker.process.stdout)
        self.take(worker, found)
        if "after" in found:  # it is no more
            worker = Worker(self.command, worker.core)
        self.start_block(worker, ready)

    def summary(self):
        r = self.record
        ways = ", ".join(f"{name} {times}" for name, times in sorted(r["ways"].items(), key=lambda kind: -kind[1]))
        return (
            f"soak: {r['programs']} programs, seeds {r['first']} to {r['next'] - 1}, {sum(r['ways'].values())} results "
            f"({ways}), {len(r['wrong'])} differ{': ' if r['wrong'] else ''}{', '.join(map(str, sorted(r['wrong'])))}; "
            f"{self.options.workers} workers, {r['seconds']:.0f} s; --resume goes on at seed {r['next']}"
        )


def parsed(arguments):
    out = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    out.add_argument("--seed", type=int, default=0, help="of the first program (0)")
    out.add_argument("--programs", type=int, default=1_000_000, help="from that seed on (1000000)")
    out.add_argument("--seconds", type=float, default=float("inf"), help="of this run; it ends a block later")
    out.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes (one for each core)")
    out.add_argument("--ways", default="", help="of each program, separated by commas (some by its seed)")
    out.add_argument("--silent", type=float, default=600.0, help="seconds for a program, and to make it small (600)")
    out.add_argument("--failures", type=int, default=10, help="programs that differ before it ends (10)")
    out.add_argument("--record", type=Path, default=RECORD, help=f"file of the totals ({RECORD.name})")
    out.add_argument("--resume", action="store_true", help="go on where the run that wrote the record stopped")
    out.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    return out.parse_args(arguments)


def main(arguments=None, command=None):
    options = parsed(arguments)
    if options.work:
        work([name for name in options.ways.split(",") if name])
        return 0
    soak = Soak(options, command or [sys.executable, str(HERE), "--work", "--ways", options.ways])
    try:
        print(soak.run())
    except Lacking as lacking:
        print(f"program_soak: {lacking}", file=sys.stderr)
        return 2
    return bool(soak.record["wrong"])


if __name__ == "__main__":
    sys.exit(main())
