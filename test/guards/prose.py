"""The prose of a tree: paragraphs of pages, comments, docstrings and texts in tables, and the sentences of a paragraph.

A paragraph is a list of (line, column, text): the text of a line from its column on, without the marker of a comment.
"""

import ast
import re

CODE = re.compile(r"``[^`]*``|`[^`]*`|\]\([^)]*\)")
SHORT = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|resp|sec|eq|fig|no|p|pp)\. ", re.IGNORECASE)
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.|\([a-z\d]\)) +")
TABLE = re.compile(r"(?:\S {2,}(?=\S).*){2}|\S {3,}\S")
COMMENT = re.compile(r"(?<![:\"'\w/\\])(//+[!<]*|#+:?(?= |$)) ?")


def hidden(text):
    """The text with code, links and short forms made one word each; as long as it was."""
    text = CODE.sub(lambda m: re.sub(r"[\s.!?]", "x", m[0]), text)
    return SHORT.sub(lambda m: re.sub(r"[\s.]", "x", m[0]), text)


def sentences(text):
    """Sentences of a text, as they are written."""
    seen, start, out = hidden(text), 0, []
    for end in re.finditer(r"[.!?][)\"'*_]*\s+", seen):
        out.append(text[start : end.end()].strip())
        start = end.end()
    return [s for s in [*out, text[start:].strip()] if s]


def length(sentence):
    """Words of a sentence; signs between them are none."""
    return sum(bool(re.search(r"\w", word)) for word in hidden(sentence).split())


def joined(paragraph):
    return " ".join(text for _, _, text in paragraph)


def begins(before, text):
    """Does a line begin a paragraph: after one with a sentence's end that would have held its first word?"""
    ended = before[2].rstrip().endswith((".", ":", "?", "!"))
    return re.match(r"(?:Before|After)\b", text) or (ended and before[1] + len(before[2] + text.split()[0]) < 110)


def paragraphs(lines):
    """Paragraphs of (line, column, text): rows of tables and indented lines stand by themselves."""
    held = []
    for line, column, text in lines:
        inner = text[re.match(r"\s*", text).end() :]
        item = ITEM.match(text)
        alone = bool(TABLE.search(inner)) or (len(text) - len(inner) > 1 and not (held and ITEM.match(held[0][2])))
        if held and (not inner or item or alone or begins(held[-1], inner) or held[-1][0] + 1 != line):
            yield held
            held = []
        if inner:
            held.append((line, column + len(text) - len(inner), inner))
        if alone:
            yield held
            held = []
    if held:
        yield held


def markdown(text):
    """Paragraphs of a page: cells of tables too, but neither code nor headings."""
    fence, listed, lines = False, False, []
    for number, line in enumerate(text.split("\n"), 1):
        said = line.strip()
        if said.startswith(("```", "~~~")):
            fence = not fence
        elif said.startswith("|") and not fence:
            at = 0
            for part in re.split(r"(?<!\\)\||;| <(?= )", line):  # a cell may be a list, or an order
                at = line.index(part, at)
                yield from paragraphs([(number, at, part)])
                at += len(part)
        elif not fence and not said.startswith(("#", "<", ":::")):
            indent = len(line) - len(line.lstrip())
            listed = bool(ITEM.match(line)) or (listed and (indent > 0 or not said))
            if indent < 4 or listed:
                lines.append((number, indent, line[indent:]))
    yield from paragraphs(lines)


def docstrings(text):
    """Paragraphs of docstrings."""
    source = text.split("\n")

    def walk(node):
        for child in getattr(node, "body", []):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child
            yield from walk(child)

    tree = ast.parse(text)
    for node in [tree, *walk(tree)]:
        if ast.get_docstring(node, clean=False):
            at = node.body[0].value
            lines = []
            for number in range(at.lineno, at.end_lineno + 1):
                line = source[number - 1]
                column = at.col_offset + 3 if number == at.lineno else len(line) - len(line.lstrip())
                said = line[column:]
                if number == at.end_lineno:
                    said = re.sub(r'"""\s*$', "", said)
                deep = max(0, column - at.col_offset) if number > at.lineno else 0
                lines.append((number, column - deep, " " * deep + said))
            yield from paragraphs(lines)


def comments(text, marker):
    """Paragraphs of comments that `//` or `#` begins; those after code too."""
    before, lines = None, []
    for number, line in enumerate(text.split("\n"), 1):
        every = COMMENT.finditer(line) if marker in line else ()
        found = next((m for m in every if m[1].startswith(marker)), None)
        if found and marker == "#" and line[: found.start()].strip() and not line[: found.start()].endswith("  "):
            found = None
        kind = (found.start(), found[1]) if found else None
        own = bool(found and not line[: found.start()].strip())
        if lines and (not own or kind != before):
            yield from paragraphs(lines)
            lines = []
        if found:
            said = line[found.end() :]
            lines.append((number, found.end(), "" if said.startswith("@ ") else said))  # @ lists names (prelude.hip)
        before = kind
    yield from paragraphs(lines)


def texts(text):
    """Paragraphs of strings in a table or a source: neighbours are one."""
    bare = re.sub(r"(?m)^\s*//.*$", "", text)
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', bare):
        said = re.sub(r'"\s*"', "", found[0])[1:-1]
        line = bare.count("\n", 0, found.start()) + 1
        for part in re.split(r"(?:\\n){2,}", said):
            yield from paragraphs([(line + n, 0, text) for n, text in enumerate(re.split(r"\\n", part))])
