"""A module that test_jit_sees.py changes."""

K = 2.0


def helped(x):
    return x + 1
