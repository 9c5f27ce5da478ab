"""import strata loads the extension and little else; what else is public is imported when it is first named."""

import json
import subprocess
import sys

import pytest
import strata


def child(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_few_modules_are_loaded():
    loaded = json.loads(
        child(
            "import json, sys; before = set(sys.modules); import strata; "
            "print(json.dumps(sorted(set(sys.modules) - before)))"
        )
    )
    assert len(loaded) <= 40, loaded
    assert not {"numpy", "typing", "inspect", "re", "dataclasses"} & set(loaded), loaded
    assert [
        m
        for m in loaded
        if m.startswith("strata.")
        and m.split(".")[1] not in ("_strata", "dtypes", "emulator", "functional", "operations", "uop")
    ] == []


def test_tensors_compute_without_numpy():
    assert (
        child("import sys; from strata import Tensor; print((Tensor.ones(3) * 2).sum().item(), 'numpy' in sys.modules)")
        == "6.0 False\n"
    )


@pytest.mark.parametrize("name", sorted({*strata.__all__, *strata._MODULES, *strata._MEMBERS}))
def test_every_public_name_is_found(name):
    assert getattr(strata, name) is not None


def test_names_are_the_same_in_any_order():
    order = """
import strata
names = [n for n in dir(strata) if not n.startswith("__")]
print(sorted((n, type(getattr(strata, n)).__name__) for n in names if n in %r))
"""
    public = sorted({*strata.__all__, *strata._OTHER_FORMS})
    found = [
        child(f"import strata\nfor n in {names!r}: getattr(strata, n)\n" + order % public)
        for names in (public, public[::-1], [])
    ]
    assert found[0] == found[1] == found[2]


def test_operations_of_another_form_are_those_of_the_namespace():
    from strata import _namespace, operations

    both = {n for n in dir(operations) if not n.startswith("_")} & set(_namespace.__all__)
    assert both == set(strata._OTHER_FORMS)
    for name in both:
        assert getattr(strata, name) is getattr(_namespace, name)
    assert strata.newaxis is None
