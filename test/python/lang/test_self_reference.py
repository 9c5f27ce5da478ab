"""Functions and classes that name themselves, and attributes of classes that branches change."""

import pytest
import strata
from strata import Tensor, lang


def power(x, n):
    return 1 if n == 0 else x * power(x, n - 1)


def counted(x):
    return x + counted.more


counted.more = 7


class Constants:
    three = 3

    @staticmethod
    def of_name():
        return Constants.three

    class Inner:
        @staticmethod
        def of_outer():
            return Constants.three + 1


def local_power(x):
    def raised(n):
        return 1 if n == 0 else x * raised(n - 1)

    return raised(2)


@pytest.mark.parametrize(
    "function",
    [
        lambda i: power(i, 3),
        counted,
        lambda i: i * 0 + Constants.of_name(),
        lambda i: i * 0 + Constants.Inner.of_outer(),
        local_power,
    ],
)
def test_what_names_itself_does_what_python_does(function):
    @strata.kernel(grid=1, block=4)
    def kernel(out):
        out[lang.thread_idx.x] = function(lang.thread_idx.x)

    assert kernel(Tensor.zeros(4, dtype="int32"))[0].tolist() == [function(i) for i in range(4)]


def test_an_attribute_of_a_class_that_a_branch_changes_is_joined():
    @strata.kernel(grid=1, block=4)
    def kernel(out):
        class State:
            n = 0

        i = lang.thread_idx.x
        if i > 1:
            State.n = i * 5
            State.more = 1
        out[i] = State.n

    with pytest.raises(strata.UsageError, match="type is changed where the kernel decides"):
        kernel(Tensor.zeros(4, dtype="int32"))

    @strata.kernel(grid=1, block=4)
    def joined(out):
        class State:
            n = 0

        i = lang.thread_idx.x
        if i > 1:
            State.n = i * 5
        out[i] = State.n

    assert joined(Tensor.zeros(4, dtype="int32"))[0].tolist() == [0, 0, 10, 15]
