"""Code that a kernel refuses, and the code that its message proposes."""

import traceback

import pytest
import strata
from strata import Tensor, lang


def refusal(body, error=strata.UsageError):
    kernel = strata.kernel(body, grid=1, block=32)
    with pytest.raises(error) as found:
        kernel(Tensor.zeros(32), 3)
    return found.value


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_a_name_that_one_way_assigns_is_named_with_both_lines():
    def f(out, n):
        if lang.thread_idx.x < n:
            y = 1.0
        out[0] = y

    said = str(refusal(f))
    assert f"y has no value in line {line_of(f, 'out[0]')}" in said
    assert f"in line {line_of(f, 'y = 1.0')}" in said


def test_a_name_that_a_loop_may_not_assign_is_named_with_both_lines():
    def f(out, n):
        for i in range(n):
            y = i
        out[0] = y

    said = str(refusal(f))
    assert f"y has no value in line {line_of(f, 'out[0]')}" in said
    assert "which may take no step" in said


def test_a_type_that_changes_is_named():
    def f(out, n):
        s = n
        for _ in range(n):
            s = s * 0.5
        out[0] = s

    said = str(refusal(f))
    assert "s is int32 before the loop and float32 after a step" in said
    assert f"(line {line_of(f, 's * 0.5')})" in said


def test_ways_of_different_kinds_are_named():
    def f(out, n):
        if lang.thread_idx.x < n:
            y = 1
        else:
            y = "one"
        out[0] = y

    said = str(refusal(f))
    assert "y is 1 one way and 'one' the other" in said
    assert f"lines {line_of(f, 'y = 1')} and" in said


def test_a_list_that_a_loop_makes_longer_is_refused():
    def f(out, n):
        numbers = []
        for i in range(n):
            numbers.append(i)
        out[0] = len(numbers)

    assert "list of 0 before the loop and list of 1 after a step" in str(refusal(f))


def test_a_list_that_a_branch_makes_longer_is_refused():
    def f(out, n):
        numbers = [1]
        if lang.thread_idx.x < n:
            numbers.append(2)
        out[0] = len(numbers)

    assert "list of 2 one way and list of 1 the other" in str(refusal(f))


def test_what_a_value_cannot_be_says_what_to_write():
    def index(out, n):
        out[0] = [1, 2, 3][lang.thread_idx.x]

    assert "lang.registers" in str(refusal(index, TypeError))

    def whole(out, n):
        out[0] = int(out[0])

    assert "dtypes.int32(x)" in str(refusal(whole, TypeError))

    def broken(out, n):
        out[0] = float(n)

    assert "dtypes.float32(x)" in str(refusal(broken, TypeError))


def test_a_function_without_source_says_what_to_call():
    space = {"lang": lang}
    exec("def f(out, n):\n    if lang.thread_idx.x < n:\n        out[0] = 1.0\n", space)
    assert "lang.cond" in str(refusal(space["f"], TypeError))


def test_a_barrier_in_a_branch_is_refused():
    def f(out, n):
        if lang.thread_idx.x < n:
            lang.barrier()
        out[0] = 1.0

    assert "a barrier in a branch" in str(refusal(f))


def test_a_kernel_that_returns_or_writes_nothing_says_so():
    assert "a kernel returns nothing" in str(refusal(lambda out, n: n))
    assert "writes nothing" in str(refusal(lambda out, n: None))


def test_the_traceback_is_the_users_own():
    def helper(x):
        return x.nothing

    def f(out, n):
        if lang.thread_idx.x < n:
            out[0] = helper(out[0])

    error = refusal(f, AttributeError)
    frames = traceback.extract_tb(error.__traceback__)
    assert frames[-1].filename == __file__ and frames[-1].lineno == line_of(helper, "x.nothing")
    assert frames[-2].filename == __file__ and frames[-2].lineno == line_of(f, "helper(")
    assert not any("lang/_control" in frame.filename for frame in frames)


def test_values_outside_of_a_kernel_say_where_they_belong():
    with pytest.raises(strata.UsageError, match="lang.thread_idx is for kernels"):
        lang.thread_idx.x
