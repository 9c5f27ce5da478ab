"""Tests of the library make machine code directly, which takes less time than clang."""

import pytest
import strata
from tested import QUICK_TARGET


@pytest.fixture(autouse=True)
def quickly():
    with strata.config(target=QUICK_TARGET):
        yield
