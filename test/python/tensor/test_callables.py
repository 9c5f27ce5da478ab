"""Every public function that takes a function says what is wrong with one: it is none, it takes other arguments, it
gives something else.
"""

import inspect

import pytest
import strata
from strata import Tensor, nn
from tested import QUICK_TARGET

X = Tensor([1.0, 2.0])
COPY = 'extern "C" __global__ void k(float* out, const float* a) { out[threadIdx.x] = a[threadIdx.x]; }'

# name -> a call of it with a function; those that ask of the function's value that it is a tensor
TAKERS = {
    "grad": lambda f: strata.grad(f)(X),
    "value_and_grad": lambda f: strata.value_and_grad(f)(X),
    "vjp": lambda f: strata.vjp(f, X),
    "jvp": lambda f: strata.jvp(f, (X,), (X,)),
    "jit": lambda f: strata.jit(f)(X),
    "checkpoint": lambda f: strata.checkpoint(f)(X),
    "custom_gradient": lambda f: strata.custom_gradient(f)(X),
    "no_grad": lambda f: strata.no_grad(f)(X),
    "Sequential": lambda f: nn.Sequential(f)(X),
    "triplet_margin_with_distance_loss": lambda f: nn.functional.triplet_margin_with_distance_loss(
        X, X, X, distance_function=f
    ),
    "custom_kernel": lambda f: X.custom_kernel(X, kernel=f),
}
CHECKED = set(TAKERS) - {"jit", "no_grad", "Sequential"}  # these give what the function gives


def three(a, b, c):
    return a


def none():
    return X


NOT_CALLED = {"nothing": None, "a number": 5, "a word": "f", "a tensor": X, "a list": [three], "an object": object()}
OTHER_ARGUMENTS = {"three": three, "none": none, "by name": lambda *, x: x, "a class": type("Thing", (), {})}
OTHER_VALUES = {
    "nothing": lambda *x: None,
    "a number": lambda *x: 3.0,
    "a word": lambda *x: "y",
    "a dict": lambda *x: {"y": x},
}


def test_every_function_that_takes_a_function_is_here():
    found = set()
    for owner in (strata, nn, nn.functional):
        for name in dir(owner):
            f = getattr(owner, name)
            if name.startswith("_") or not callable(f):
                continue
            try:
                parameters = inspect.signature(f).parameters
            except (TypeError, ValueError):
                continue
            if {"f", "function", "distance_function", "layers"} & set(parameters):
                found.add(name)
    assert found - {"kernel"} == set(TAKERS) - {"custom_kernel"}  # a decorator: test/python/lang refuses for it


@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_function_is_refused(name):
    for what, given in NOT_CALLED.items():
        if given is None and name == "triplet_margin_with_distance_loss":
            continue  # the usual distance
        with pytest.raises(strata.UsageError) as e:
            TAKERS[name](given)
        assert f"[{name}]" in str(e.value) or name == "value_and_grad", (what, e.value)


@pytest.mark.parametrize("name", TAKERS)
def test_a_function_of_other_arguments_is_refused_by_its_signature(name):
    for what, given in OTHER_ARGUMENTS.items():
        if name == "triplet_margin_with_distance_loss" and what == "three":
            given = none
        with pytest.raises(strata.ArgumentError) as e, strata.config(target=QUICK_TARGET):
            TAKERS[name](given)
        assert f"calls {given.__name__}(" in str(e.value) and "argument" in str(e.value), (what, e.value)


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_function_that_gives_something_else_is_refused(name):
    for given in OTHER_VALUES.values():
        with pytest.raises(strata.UsageError):
            TAKERS[name](given)


def test_a_gradient_of_a_kernel_that_takes_other_arguments_is_refused():
    kernel = strata.hip_kernel(COPY, name="k", block=2, grid=1)
    for given in (three, none):
        with pytest.raises(strata.ArgumentError, match=r"\[custom_kernel\] calls"):
            strata.grad(lambda x: x.zeros_like().custom_kernel(x, kernel=kernel, grad=given)[0].sum())(X)
    for given in (5, "f"):
        with pytest.raises(strata.UsageError, match="grad"):
            strata.grad(lambda x: x.zeros_like().custom_kernel(x, kernel=kernel, grad=given)[0].sum())(X)


def test_an_error_of_the_function_itself_stays_as_it_is():
    def own(x):
        return len(5) + x

    for name, take in TAKERS.items():
        if name not in ("custom_kernel", "triplet_margin_with_distance_loss"):
            with pytest.raises(TypeError, match="has no len"):
                take(own)
