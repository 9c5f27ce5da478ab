"""strata.profile: what holds launches up, on an emulated device."""

from __future__ import annotations

import json
import linecache
import os

from . import _strata
from ._explain import bytes_text
from ._written import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._types import FileName, LaunchProfile


HOT = 4  # instructions that a table shows of a kernel
KERNELS = 8  # kernels whose instructions it shows


def operations(assembly: str) -> list[str]:
    """The operation of each instruction that Strata lowered itself: the comment above it."""
    out, comment = [], ""
    for line in assembly.splitlines():
        text = line.strip()
        if line.startswith("    ") and text.startswith(";"):
            comment = text.strip("; ")
        elif line.startswith("    "):
            out.append(comment)
    return out


def origin(launch: LaunchProfile, place: LaunchProfile, lowered: list[str]) -> str:
    """The origin of an instruction: the operation, or the line of source."""
    if lowered:
        return lowered[place["index"]] if place["index"] < len(lowered) else ""
    if not place["line"]:
        return ""
    file, line = place["file"], place["line"]
    if os.path.isfile(file):
        text = linecache.getline(file, line)
    else:  # a name that Strata gave to the kernel's text; in <> stands what it put before
        text = "" if "<" in file else "".join(launch["source"].splitlines()[line - 1 : line])
    return f"{os.path.basename(file)}:{line}" + (f": {text.strip()}" if text.strip() else "")


def with_origins(launch: LaunchProfile, done: set[int]) -> LaunchProfile:
    """done: the lists of instructions that have theirs, by id; equal launches share one."""
    places = []
    if id(launch.get("instructions")) not in done:
        done.add(id(launch.get("instructions")))
        lowered = operations(launch["assembly"])
        places = launch.get("instructions", []) + [
            s for w in launch.get("waves_of_first_workgroup", []) for s in w["stalls"]
        ]
    for place in places:
        for each in (place, place.get("waited_for")):
            if each:
                each["origin"] = origin(launch, each, lowered)
    return {key: value for key, value in launch.items() if key not in ("source", "assembly")}


def short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def bound_text(launch: LaunchProfile) -> str:
    if "bound" not in launch:
        return "measured"
    return f"{launch['bound']} {launch['bound_cycles'][launch['bound']] / launch['cycles']:.0%}"


def waves_text(launch: LaunchProfile) -> str:
    if "bound" not in launch:
        return ""
    limit = launch["occupancy_limit"]
    return f"{launch['waves_per_simd']:g} of {launch['most_waves_per_simd']:g}" + (
        "" if limit == "none" else f" ({limit})"
    )


def moved_text(launch: LaunchProfile) -> str:
    if "bound" not in launch:
        return ""
    times = f" ({launch['dram_bytes'] / launch['least_bytes']:.2f}x)" if launch["least_bytes"] else ""
    return bytes_text(launch["dram_bytes"]) + times


def conflicts_text(launch: LaunchProfile) -> str:
    return f"{launch['lds_conflict_cycles'] / launch['lds_cycles']:.0%}" if launch.get("lds_cycles") else "-"


COLUMNS = {
    "kernel": lambda launches: short(launches[0]["kernel"], 40),
    "launches": lambda launches: str(len(launches)),
    "ms": lambda launches: f"{sum(one['time_ms'] for one in launches):.4f}",
    "bound by": lambda launches: bound_text(launches[0]),
    "waves a SIMD": lambda launches: waves_text(launches[0]),
    "DRAM (of least)": lambda launches: moved_text(launches[0]),
    "LDS conflicts": lambda launches: conflicts_text(launches[0]),
}


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns as wide as what is in them; numbers on the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 3, 4)
    return "".join(
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))
        ).rstrip()
        + "\n"
        for row in rows
    )


def stalls_text(launch: LaunchProfile) -> str:
    """The instructions that a kernel's waves stand longest before."""
    all_stalls = sum(one["stall_cycles"] for one in launch["instructions"])
    hot = sorted((one for one in launch["instructions"] if one["stall_cycles"]), key=lambda one: -one["stall_cycles"])[
        :HOT
    ]
    if not hot:
        return ""
    lines = [f"\n{launch['kernel']}: where its waves stall\n"]
    for one in hot:
        if one["stall_cycles"] < 0.005 * all_stalls:
            break
        cause = one["waited_for"]
        lines.append(f"  {one['stall_cycles'] / all_stalls:4.0%}  +{one['pc']:#06x}  {short(one['instruction'], 60)}\n")
        if one["origin"]:
            lines.append(f"        {short(one['origin'], 110)}\n")
        if cause:
            lines.append(
                f"        waits for +{cause['pc']:#06x}  {short(cause['instruction'], 60)}"
                + (f"  ({short(cause['origin'], 80)})" if cause["origin"] else "")
                + "\n"
            )
    return "".join(lines)


class Trace:
    """Events of chrome://tracing and ui.perfetto.dev (Trace Event Format): kernels and the waves of one of their
    workgroups.
    """

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.devices: list[Any] = []
        self.tracks: set[Any] = set()
        self.now_us: dict[Any, Any] = {}

    def track(self, device: str, number: int, name: str) -> dict[str, int]:
        if device not in self.devices:
            self.devices.append(device)
            self.events.append(
                {"ph": "M", "name": "process_name", "pid": self.devices.index(device), "args": {"name": device}}
            )
        pid = self.devices.index(device)
        if (pid, number) not in self.tracks:
            self.tracks.add((pid, number))
            self.events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": name}})
        return {"pid": pid, "tid": number}

    def slice(
        self, track: dict[str, int], name: str, start_us: float, end_us: float, args: Mapping[str, object]
    ) -> None:
        self.events.append({"ph": "X", "name": name, "ts": start_us, "dur": end_us - start_us, "args": args, **track})

    def add(self, launch: LaunchProfile) -> None:
        device, start = launch["device"], self.now_us.get(launch["device"], 0)
        end = self.now_us[device] = start + launch["time_ms"] * 1e3
        facts = (
            "grid",
            "block",
            "bound",
            "waves_per_simd",
            "occupancy_limit",
            "dram_bytes",
            "least_bytes",
            "lds_conflict_cycles",
        )
        self.slice(
            self.track(device, 0, "kernels"),
            launch["kernel"],
            start,
            end,
            {key: launch[key] for key in facts if key in launch},
        )
        for number, wave in enumerate(launch.get("waves_of_first_workgroup", [])):
            track = self.track(device, 1 + number, f"a workgroup's wave {number}")
            begin = start + launch["bound_cycles"]["launch"] / launch["mhz"]
            self.slice(track, launch["kernel"], begin, min(begin + wave["end_us"], end), {})
            for stall in wave["stalls"]:
                if begin + stall["end_us"] <= end:
                    self.slice(
                        track,
                        "stall",
                        begin + stall["start_us"],
                        begin + stall["end_us"],
                        {"before": stall["instruction"], "origin": stall["origin"]},
                    )

    def json(self) -> str:
        return json.dumps({"traceEvents": self.events, "displayTimeUnit": "ns"})


class Profile:
    """The result of strata.profile(): `launches`, a dict for each, in their order; print() shows a table."""

    def __init__(self, trace: FileName | None = None) -> None:
        if trace is not None:
            trace = os.fspath(trace)
        self._trace_file, self._block = trace, _strata._ProfileBlock()
        self._read: Any = None
        self._ended = False

    def __enter__(self) -> Profile:
        self._read, self._ended = None, False
        self._block.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._block.exit()
        self._ended = True
        if self._trace_file is not None:
            self.save_trace(self._trace_file)

    @property
    def launches(self) -> list[LaunchProfile]:
        if self._read is not None:
            return self._read
        done: set[Any] = set()
        launches = [with_origins(launch, done) for launch in self._block.launches()]
        if self._ended:
            self._read = launches
        return launches

    def to_json(self) -> str:
        """A JSON array, an object a launch."""
        return json.dumps(self.launches, indent=2)

    def save_trace(self, file: FileName) -> None:
        """Writes a trace that chrome://tracing and ui.perfetto.dev show."""
        trace = Trace()
        for launch in self.launches:
            trace.add(launch)
        with written(file, "w") as out:
            out.write(trace.json())

    def __str__(self) -> str:
        kernels: dict[Any, Any] = {}
        for launch in self.launches:
            kernels.setdefault((launch["kernel"], launch["grid"], launch["block"], launch["device"]), []).append(launch)
        if not kernels:
            return "nothing was launched\n"
        order = sorted(kernels.values(), key=lambda launches: -sum(one["time_ms"] for one in launches))
        text = table([list(COLUMNS)] + [[cell(launches) for cell in COLUMNS.values()] for launches in order])
        return text + "".join(stalls_text(launches[0]) for launches in order[:KERNELS] if "bound" in launches[0])

    def __repr__(self) -> str:
        return f"<Profile of {len(self.launches)} launches>"


def profile(trace: FileName | None = None) -> Profile:
    """with strata.profile() as p: collects what holds up each launch of the block; print(p) shows it.

    trace: a file to write when the block ends, for chrome://tracing or ui.perfetto.dev.
    Returns a Profile. Its `launches` is a list of dicts: kernel, time_ms, bound, bound_cycles, occupancy,
    occupancy_limit, dram_bytes, least_bytes, lds_conflict_cycles, instructions with their stalls and origins, ...
    to_json() is the same as text; save_trace(file) writes the trace.
    Raises TypeError for a trace that is no file name, OSError where it cannot be written.
    """
    return Profile(trace)
