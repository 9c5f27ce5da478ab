"""Every command that README and docs write is one: scripts are there, the words and options of strata are taken.

Words in capitals stand for what the reader puts there.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from strata.cli.parser import parser
from strata.cli.tune import OPTIONS

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md"]
PAGES += sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))
START = (
    r"(?:[A-Z_]+=\S+ )*(?:(?:\.venv/bin/)?strata |python3? -P? ?-m strata |scripts/\w+|examples/run|test/[a-z]+\b(?!/))"
)
# Placeholders: a file, a number, the rest of a line.
INSTEAD = {"NUMBER": "1", "SECONDS": "1", "SEED": "1", "EXPR": "x", "NAME": "model"}
# Options of a command, which is not whole.
PARTIAL = {
    "strata asm -o": ["asm", "-o", "x.co", "x.s"],
    "strata run --device emu:...": ["run", "--device", "emu:", "x"],
}


def commands():
    """(page, command) of each in a line of its own, as far as its explanation, or between backticks."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        lines = re.findall(rf"^    ({START}.*?)(?:\s{{3,}}.*)?$", text, re.MULTILINE)
        for line in [*lines, *re.findall(rf"`({START}[^`\n]*)`", text)]:
            yield page, re.sub(r"\s*\[[^\[\]]*(?:\[[^\]]*\][^\]]*)*\]", "", line).strip()  # what may be left out


FOUND = sorted(set(commands()))
OF_STRATA = [(page, line) for page, line in FOUND if re.search(r"(?:^|/| -m )strata ", line)]
SCRIPTS = [(page, line) for page, line in FOUND if (page, line) not in OF_STRATA]


def test_there_are_many():
    assert len(OF_STRATA) > 25 and len(SCRIPTS) > 15


@pytest.mark.parametrize("page, line", OF_STRATA)
def test_strata_takes_what_is_written(page, line, capsys):
    words = shlex.split(re.sub(r"^.*?strata ", "", line))
    words = PARTIAL.get(line) or [INSTEAD.get(word, word) for word in words]
    if words in (["--help"], ["--version"]):
        return
    try:
        args = parser().parse_args(words)
    except SystemExit as e:
        said = capsys.readouterr().err
        assert e.code == 0 or (len(words) == 1 and "are required" in said), f"{page}: {line}: {said}"
    else:
        assert not OPTIONS.intersection(getattr(args, "arguments", None) or []), f"{page}: {line}: goes to the script"


@pytest.mark.parametrize("page, line", SCRIPTS)
def test_scripts_take_what_is_written(page, line):
    program, *arguments = shlex.split(re.sub(r"^(?:[A-Z_]+=\S+ )*", "", line))
    file = ROOT / program
    if file.is_dir():
        assert not arguments
        return
    text = file.read_text()
    assert file.stat().st_mode & 0o100, f"{page}: {program} is no program"
    for option in (a for a in arguments if a.startswith("--")):
        assert option in text, f"{page}: {program} does not know {option}"
    if program == "examples/run" and arguments and not arguments[0].startswith(("-", "N")):
        assert example(arguments[0]).returncode == 0, f"{page}: {line}"


def example(word):
    """The example that examples/run takes a word for, without its set-up."""
    code = 'source <(sed -n "/^list()/,/^}/p; /^find_example/,/^}/p" examples/run); find_example "$1"'
    return subprocess.run(["bash", "-c", code, "examples/run", word], cwd=ROOT, capture_output=True, text=True)


def test_every_example_is_found_by_its_number_and_its_name():
    for file in ROOT.glob("examples/[0-9]*.py"):
        number, name = file.stem.split("_", 1)
        for word in (number, str(int(number)), name, file.stem, file.name):
            found = example(word)
            assert found.stdout.strip() == f"examples/{file.name}", (word, found.stderr)
    assert example("99").returncode == 2 and "there are:" in example("99").stderr


def test_options_of_tune_are_those_of_its_parser():
    text = parser().parse_args(["tune", "x.py"])
    assert {f"--{name.removesuffix('_file')}" for name in vars(text)} >= OPTIONS
