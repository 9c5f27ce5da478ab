"""The tree that the guards look at: the files of a tree, their includes, and the folders that CMake declares."""

import re
import subprocess
from functools import cached_property
from pathlib import Path

LAYERS = [
    "core",
    "asm",
    "executable",
    "codegen",
    "providers",
    "runtime",
    "ops",
    "plan",
    "bindings",
    "hip",
]  # a layer includes itself and what is left of it
CXX = (".cpp", ".h", ".inc", ".def")
CHECKOUT = Path(__file__).parents[2]


class Tree:
    """The files under a folder that git tracks or would track; every file where there is no git."""

    def __init__(self, root):
        self.root = Path(root)
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root, capture_output=True, text=True
        )
        own = (self.root / ".git").exists() and listed.returncode == 0
        names = (
            listed.stdout.split("\n") if own else [p.relative_to(self.root).as_posix() for p in self.root.rglob("*")]
        )
        skip = ("build/", ".venv/", ".git/")
        self.files = sorted({n for n in names if n and not n.startswith(skip) and (self.root / n).is_file()})

    def under(self, *layers, suffixes=CXX):
        return [f for f in self.files if f.split("/")[0] in layers and f.endswith(suffixes)]

    def product(self, suffixes=CXX):
        return self.under(*LAYERS, suffixes=suffixes)

    def text(self, file):
        return (self.root / file).read_text(errors="replace")

    def generated(self, file):
        """Its first line says that a program wrote it."""
        with open(self.root / file, errors="replace") as lines:
            return bool(re.search(r"[Ww]ritten by \S+\.py\b", lines.readline()))

    def includes(self, file):
        """(line, folder, header) of every #include "strata/folder/header"."""
        pattern = re.compile(r'^\s*#\s*include\s+"strata/([^"]+)/([^"/]+)"')
        found = ((i, pattern.match(line)) for i, line in enumerate(self.text(file).split("\n"), 1))
        return [(i, m[1], m[2]) for i, m in found if m]

    @cached_property
    def folders(self):
        return {
            path: [*words.get("DEPENDS", []), *words.get("IMPLEMENTS", [])]
            for path, words in self.calls("strata_folder")
        }

    @cached_property
    def houses(self):
        """room -> the folder that it is a part of, whose private headers it sees."""
        return {path: house for path, words in self.calls("strata_folder") for house in words.get("OPENS", [])}

    @cached_property
    def tests(self):
        """folder -> (DEPENDS, OPENS) of its test program."""
        return {path: (words.get("DEPENDS", []), words.get("OPENS", [])) for path, words in self.calls("strata_tests")}

    def folder_of(self, file):
        """The innermost declared folder that holds the file, or ""."""
        parents = [p.as_posix() for p in Path(file).parents]
        return next((p for p in parents if p in self.folders), "")

    def calls(self, function):
        """(first argument, {keyword: words}) of every call of a function in the CMake files."""
        for file in self.files:
            if not file.endswith("CMakeLists.txt"):
                continue
            text = re.sub(r"#.*", "", self.text(file))
            for call in re.finditer(rf"\b{function}\(([^)]*)\)", text):
                path, *rest = call[1].split()
                words, keyword = {}, ""
                for word in rest:
                    if word.isupper():
                        keyword = word
                    words.setdefault(keyword, [])
                    if not word.isupper():
                        words[keyword].append(word)
                yield path, words


def make_tree(root, files):
    """A tree of its own for a guard's test: {name: text}."""
    for name, text in files.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def check(violations, exceptions, advice):
    """Fails on violations that no exception names, and on exceptions that are no longer needed."""
    new = {k: v for k, v in violations.items() if k not in exceptions}
    gone = sorted(set(exceptions) - set(violations))
    lines = [*new.values(), *([advice] if new else [])]
    lines += [f"{name}: no exception is needed any more; delete its line from the list in this guard" for name in gone]
    assert not lines, "\n" + "\n".join(lines)
