"""Sizes and times that decide a schedule come from the card table through codegen/cost. No constant that was measured
on one card decides it."""

import re

from tree import CHECKOUT, Tree, check, make_tree

FOLDERS = ("codegen/schedule/", "codegen/optimize/")
# A large power of two, a number with its thousands apart, one with an exponent.
LARGE = r"1\}? ?<< ?(?:1[0-9]|[2-9][0-9])\b|\d'000|\d(?:\.\d+)?e[+-]?\d"
EXCEPTIONS = {
    "codegen/optimize/action.cpp: kFar": "a distance that no two accesses have",
    "codegen/optimize/random_schedule.cpp: kMostDrawnNodes": "of seconds of the compiler, on no card",
    "codegen/schedule/attention.h: kOfCard": "threads among which rows are divided",
    "codegen/schedule/fuse_siblings.cpp: kLargeFrom": "results from which tiles leave no registers for a third product",
    "codegen/schedule/fuse_siblings.cpp: kMostTerms": "of a kernel that a user can wait for",
    "codegen/schedule/named_storage.h: next_id_": "a number, no size",
    "codegen/schedule/paired_reductions_p.h: kMostOfPair": "elements that the threads of a block hold in registers",
    "codegen/schedule/plan.cpp: weight": "where a sum of weights stops, so that it does not wrap around",
    "codegen/schedule/rows.cpp: kLongest": "elements that the threads of a block hold in registers",
    "codegen/schedule/rows.cpp: kLittle": "elements that one block goes through in a launch's time",
    "codegen/schedule/rows.cpp: kLongestApart": "elements that the threads of a block hold in registers",
    "codegen/schedule/schedule.cpp: kMuchMemory": "bytes worth an order of steps that takes time to find",
    "codegen/schedule/split_k.cpp: kSplitFrom": "steps that the threads of a block share without a second kernel",
    "codegen/schedule/split_k.cpp: kSharedFrom": "the same where no tile holds the results",
    "codegen/schedule/split_scans.cpp: kSplitFrom": "elements that one block scans as fast as memory brings them",
    "codegen/schedule/split_scans.cpp: kManyScans": "scans of a block each that fill every card of the table",
    "codegen/schedule/split_scans.cpp: kBlocks": "the same",
    "codegen/schedule/split_scans.cpp: kLeast": "elements that the threads of a block hold in registers, at least",
    "codegen/schedule/split_scans.cpp: kMost": "and at most",
    "codegen/schedule/two_stage.cpp: kSplitFrom": "elements that one block reduces as fast as memory brings them",
    "codegen/schedule/two_stage.cpp: kSplitColumnsFrom": "the same of a column",
    "codegen/schedule/two_stage.cpp: kManyElements": "elements that a launch more is little beside",
    "codegen/schedule/two_stage.cpp: kLongColumn": "elements of a column that no block holds in registers",
    "codegen/schedule/two_stage.cpp: kMostOfColumns": "columns that blocks take by lines (share_columns)",
    "codegen/schedule/two_stage.cpp: kLeastShared": "elements that give each thread of a block a wide load",
    "codegen/schedule/two_stage.cpp: kMostShared": "elements that one block reduces as fast as memory brings them",
}


def constants(tree):
    """{file: name} of what is set to a large number, or holds one, in the folders that decide."""
    out = {}
    for file in tree.files:
        if not file.startswith(FOLDERS) or not file.endswith((".cpp", ".h")):
            continue
        for line in tree.text(file).splitlines():
            code = line.split("//")[0]
            for found in re.finditer(LARGE, code):
                before = code[: found.start()]
                names = re.findall(r"([A-Za-z_]\w*)\s*=(?!=)", before) or re.findall(r"[A-Za-z_]\w*", before) or [code]
                name = names[-1]
                out[f"{file}: {name}"] = f"{file}: {line.strip()}"
    return out


def test_schedules_are_decided_by_the_card_table():
    check(
        constants(Tree(CHECKOUT)),
        EXCEPTIONS,
        "Ask codegen/cost (CostModel), or list the constant in this guard with the reason why it holds on every card.",
    )


def test_large_numbers_are_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "codegen/schedule/a.cpp": "constexpr double kLaunch = 2.5, kRate = 2.2e7;  // 1 << 20",
            "codegen/optimize/b.h": "constexpr int64_t kFew = 3, kMuch = int64_t{1} << 32;\nif (n > 1'000'000) return;",
            "codegen/lower/c.cpp": "constexpr int kMost = 1 << 20;",
        },
    )
    assert [key.split(": ")[1] for key in constants(tree)] == ["kMuch", "n", "kRate"]
