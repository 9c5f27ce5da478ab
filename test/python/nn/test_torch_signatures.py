"""strata.nn.functional has the names, arguments and defaults of torch.nn.functional."""

import ast
import inspect
from pathlib import Path

import pytest
import strata.nn.functional as F
from rows_of_torch import ROWS

# As torch 2.15 documents them.
SIGNATURES = dict(
    (line.split("(", 1)[0], line) for line in (Path(__file__).parent / "torch_signatures.txt").read_text().splitlines()
)

SCALED = "low-precision products with scales in torch's own layouts and recipes"
NOT = {"scaled_grouped_mm": SCALED, "scaled_addmm": SCALED, "scaled_addmm_": SCALED}
# Functions with arguments of their own.
OWN = {"scaled_mm": "the shapes of the scales say the recipe; test/python/library has its values"}
# Arguments that torch has not, or takes by name alone.
MORE = {"linear_cross_entropy": {"bias", "softcap"}, "grouped_mm": {"offs"}}
RANDOM = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax"}


def parameters(signature):
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def documented(line):
    """The same of a signature that is written out."""
    given = ast.parse(f"def {line}: pass").body[0].args
    plain = [None] * (len(given.args) - len(given.defaults)) + given.defaults
    named = [(a.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, d) for a, d in zip(given.args, plain)] + [
        (a.arg, inspect.Parameter.KEYWORD_ONLY, d) for a, d in zip(given.kwonlyargs, given.kw_defaults)
    ]
    return [(name, kind, inspect.Parameter.empty if d is None else ast.literal_eval(d)) for name, kind, d in named]


@pytest.mark.parametrize("name", SIGNATURES)
def test_names_arguments_and_defaults_are_torchs(name):
    if name in NOT:
        assert not hasattr(F, name), f"{name} is there: take it out of NOT"
        return
    if name not in OWN:
        found, torchs = parameters(inspect.signature(getattr(F, name))), documented(SIGNATURES[name])
        more = MORE.get(name, set())
        assert [p for p in found if p[0] not in more] == [p for p in torchs if p[0] not in more]
        assert more <= {p[0] for p in found} and {p[0] for p in torchs} <= {p[0] for p in found}
    assert getattr(F, name).__doc__ and getattr(F, name).__name__ == name


def test_there_is_no_name_that_torch_has_not():
    assert {n for n in vars(F) if not n.startswith("_")} <= set(SIGNATURES)


def test_every_function_has_a_row():
    tested = {name for name, _, _ in ROWS} | {f"{name}_with_indices" for name, _, _ in ROWS}
    assert set(SIGNATURES) - set(NOT) - set(OWN) - RANDOM <= tested
