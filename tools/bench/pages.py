"""docs/benchmarks.md: its tables are made of docs/benchmarks/*.json, a file a table, with the machine and the command.

A line <!-- table: NAME --> in the page stands for docs/benchmarks/NAME.json; what follows it, up to the next empty line
after the table, is written here. The words around the tables are the page's own.
"""

import json
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE, FOLDER = CHECKOUT / "docs/benchmarks.md", CHECKOUT / "docs/benchmarks"
MARK = re.compile(r"^<!-- table: (\w+) -->\n(?:(?!<!--).+\n|\n(?=\|))*", re.MULTILINE)
RULES = {"left": "---", "right": "--:"}


def table_text(table):
    """Where the figures are from, and the table in Markdown."""
    rows = [table["columns"], [RULES[side] for side in table["align"]], *table["rows"]]
    return f"`{table['command']}`, {table['machine']}.\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def read_tables(folder=FOLDER):
    """{name: table} of a folder; ValueError for one whose rows are not as long as its columns."""
    tables = {file.stem: json.loads(file.read_text()) for file in sorted(Path(folder).glob("*.json"))}
    for name, table in tables.items():
        if any(len(row) != len(table["columns"]) for row in [table["align"], *table["rows"]]):
            raise ValueError(f"{name}.json: every row has as many cells as there are columns")
    return tables


def page_text(text, tables):
    """The page with its tables rewritten; KeyError for one that has no file."""
    return MARK.sub(lambda mark: f"<!-- table: {mark[1]} -->\n{table_text(tables[mark[1]])}", text)


def parsed(markdown):
    """{columns, align, rows} of a table in Markdown."""
    head, rule, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in markdown.split("\n"))
    return {"columns": head, "align": ["right" if cell.endswith(":") else "left" for cell in rule], "rows": rows}


def of_cards(markdown):
    """A table of modelled figures, whose first column names the cards."""
    return {"machine": "the cards of the first column, modelled", **parsed(markdown)}


def dumped(table):
    """JSON with a row a line, so that a new result changes the lines of its figures alone."""
    facts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items() if key != "rows"]
    rows = ",\n".join(f"    {json.dumps(row)}" for row in table["rows"])
    return "{\n" + ",\n".join(facts) + f',\n  "rows": [\n{rows}\n  ]\n}}\n'


def write(name, table, command):
    """Puts a table {machine, columns, align, rows} into the tree, and the page with it."""
    (FOLDER / f"{name}.json").write_text(dumped({"command": command, **table}))
    PAGE.write_text(page_text(PAGE.read_text(), read_tables()))
