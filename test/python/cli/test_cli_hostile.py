"""The command line with odd values, odd files and missing tools: one line says what is wrong."""

import os
import socket
import sys
import tomllib
from pathlib import Path

import pytest
from test_custom_kernel import ADD_ONE

ODD = [
    "",
    " ",
    "(",
    "1",
    "-1",
    "\u00b2",
    "1e5",
    "nan",
    "inf",
    "9" * 30,
    "9" * 5000,
    "0x10",
    "1.5",
    "a",
    "=",
    ",",
    "\udcff",
    "None",
    "no/such/file",
    "/",
]
SPECS = [f"f32[{size}]" for size in ("1x" * 100 + "1", "9" * 5000, "x", ",", "1,", "0", "-1", "\u00b2", " ")] + [
    "f32[2]=nan=",
    "i8[2]=1e300",
    "u8[2]=-1",
    "i64:",
    "f32:x",
    "bytes:\u00b2",
    ".npy",
    "2**64",
]
SAVES = ["\u00b2=x.npy", "=x.npy", "0=", "0", "-1=x.npy", "9" * 30 + "=x.npy", "0=/"]
COMMANDS = {
    "asm": ["missing.s"],
    "disasm": ["missing.co"],
    "lint": ["missing.s"],
    "mutate": ["missing.s"],
    "run": ["missing.s", "--arg", "f32[4]"],
    "hip-run": ["./missing"],
    "explain": ["Tensor.empty(2).exp()"],
    "opt": ["--list"],
    "tune": ["missing.py"],
}


def ends(*arguments):
    """The exit of the command in this process; any other exception than that is the test's."""
    from strata.cli import main

    with pytest.raises(SystemExit) as exit:
        main([*arguments])
        sys.exit(0)
    return exit.value.code


def options(command):
    from strata.cli.parser import parser

    actions = parser()._subparsers._group_actions[0].choices[command]._actions
    return [action.option_strings[0] for action in actions if action.option_strings and action.nargs != 0]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_value_of_an_option_ends_in_a_traceback(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in {
        **os.environ,
        **dict.fromkeys(("STRATA_BEAM", "STRATA_SEARCH_SECONDS", "STRATA_SEARCH_CANDIDATES"), "0"),
    }:
        if name.startswith("STRATA_"):
            monkeypatch.setenv(name, os.environ.get(name, "0"))  # what tune sets goes when the test ends
    for option in options(command):
        for value in ODD + (SPECS if option == "--arg" else SAVES if option == "--save" else []):
            ends(command, f"{option}={value}", *COMMANDS[command])
    capsys.readouterr()


def test_what_is_explained_may_be_anything(capsys):
    for text in [
        "(",
        "1",
        "None",
        "undefined",
        "Tensor",
        "[]",
        "[1]",
        "1/0",
        "Tensor.empty(-1)",
        "Tensor.empty(2) + Tensor.empty(3)",
        "\0",
        "x = 1",
        "(" * 300,
        "\u00b2",
        "raise",
    ]:
        assert str(ends("explain", text)).startswith("strata: "), text
    assert ends("explain", "Tensor.empty(4).exp()") == 0


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "socket"])
def test_only_regular_files_are_read(kind, tmp_path, monkeypatch):
    """A FIFO has no end until a writer closes it: there is no writer here, and no command waits for one."""
    monkeypatch.chdir(tmp_path)
    listener = socket.socket(socket.AF_UNIX)
    make = {
        "fifo": os.mkfifo,
        "folder": os.mkdir,
        "device": lambda name: os.symlink("/dev/zero", name),
        "socket": listener.bind,
    }[kind]
    for name in ("x.s", "x.co", "x.hip", "x.npy", "x.py", "x.json"):
        make(name) if kind != "socket" else socket.socket(socket.AF_UNIX).bind(name)
    (tmp_path / "k.s").write_text(ADD_ONE)
    calls = [
        ("asm", "x.s"),
        ("disasm", "x.co"),
        ("lint", "x.co"),
        ("lint", "x.s"),
        ("lint", "x.hip"),
        ("mutate", "x.s"),
        ("run", "x.s", "--arg", "f32[2]"),
        ("run", "x.hip"),
        ("run", "k.s", "--arg", "x.npy"),
        ("tune", "x.py"),
        ("tune", "--import", "x.json"),
    ]
    for call in calls:
        code = ends(*call)
        assert code == 2 or str(code).startswith("strata: UsageError: "), (call, code)
    os.chmod("x.co", 0o755) if kind in ("fifo", "folder") else None
    assert str(ends("hip-run", "./x.co")).startswith("strata: ")


def test_a_file_of_tensors_that_becomes_a_fifo_holds_nobody_up(tmp_path):
    import strata as package

    for name in ("a.safetensors", "a.npz", "a.npy", "a.gguf", "a.pt"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(package.UsageError):
            package.load(tmp_path / name)
        os.unlink(tmp_path / name)
    package.save(tmp_path / "a.safetensors", {"x": package.Tensor([1.0])})
    package.save(tmp_path / "a.npz", {"x": package.Tensor([1.0])})
    for name in ("a.safetensors", "a.npz"):
        file = package.load(tmp_path / name)
        os.unlink(tmp_path / name)
        os.mkfifo(tmp_path / name)
        with pytest.raises(package.UsageError, match="is a FIFO: only regular files are read"):
            file["x"]


def test_numbers_beyond_their_range_are_told_it(capsys):
    for command, option, value, least, most in [
        ("hip-run", "--devices", 0, 1, 16),
        ("hip-run", "--devices", 100000, 1, 16),
        ("hip-run", "--seed", 2**64, 0, 2**64 - 1),
        ("run", "--seeds", 10**9, 0, 4096),
        ("run", "--lds", 2**32, 0, 2**32 - 1),
        ("mutate", "--seed", -1, 0, 2**64 - 1),
    ]:
        assert ends(command, f"{option}={value}", *COMMANDS[command]) == 2
        assert f"'{value}': expected a number from {least} to {most}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["bench", "graph"], ["bench", "model", "--truth", "."], ["mutate"]])
def test_a_tool_that_a_wheel_has_not_says_where_it_is(command, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("strata_tools.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "strata_tools", None)
    said = ends(*command)
    assert f"tools/{command[0]}" in said and f".venv/bin/strata {command[0]}" in said


def test_a_wheel_has_the_package_and_nothing_of_the_tools():
    packed = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"][
        "packages"
    ]
    assert packed == ["python/strata"]
