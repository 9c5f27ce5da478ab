"""Objects that a decision of the kernel gives a second name: a change by one name reaches the other, or is refused."""

import pytest
import strata
from strata import Tensor, lang

LINE = r"line \d+ takes registers by a decision of the kernel"


def pair():
    x, y = lang.registers(2), lang.registers(2)
    x.fill(1)
    y.fill(2)
    return x, y


def computed(f, **how):
    @strata.kernel(grid=1, block=4)
    def each(out: lang.Tensor):
        out[lang.thread_idx.x] = f(lang.thread_idx.x)

    return each(Tensor.zeros(4))[0].tolist()


def chosen_changes(i):
    x, y = pair()
    z = x if i < 2 else y
    z[0] = 7
    return x[0]


def branch_changes(i):
    x, y = pair()
    if i < 2:
        z = x
    else:
        z = y
    z.fill(7)
    return y[1]


def other_changes(i):
    x, y = pair()
    z = x if i < 2 else y
    x[0] = 7
    return z[0]


def next_step_reads(i):
    x, y = pair()
    z, total = x if i < 2 else y, 0.0
    for _ in range(3):
        total += x[0]
        z[0] = 7
    return total


def two_choices(i):
    x, y = pair()
    z = x if i < 2 else y
    w = y if i < 1 else x
    z[0] = 7
    return w[0]


def choice_of_a_choice(i):
    x, y = pair()
    z = x if i < 2 else y
    w = z if i < 3 else y
    w[0] = 7
    return x[0]


def replaced_in_a_loop(i):
    x, y = pair()
    z = x
    for _ in range(3):
        z[0] = 7
        z = z + 1
    return x[0]


def part_changes(i):
    x, y = pair()
    z = x if i < 2 else y
    z.view((1, 2))[0, None].fill(7)
    return x[0]


REFUSED = [
    chosen_changes,
    branch_changes,
    other_changes,
    next_step_reads,
    two_choices,
    choice_of_a_choice,
    replaced_in_a_loop,
    part_changes,
]


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_registers_that_would_miss_an_assignment_are_refused_with_the_line_of_the_decision(f):
    with pytest.raises(strata.UsageError, match=LINE):
        computed(f)


def test_the_line_is_that_of_the_decision():
    with pytest.raises(strata.UsageError) as caught:
        computed(chosen_changes)
    assert f"line {chosen_changes.__code__.co_firstlineno + 2} takes registers" in str(caught.value)
    assert "v.load()" in str(caught.value)


def read_alone(i):
    x, y = pair()
    z = x if i < 2 else y
    return z[0] * 10 + x[0]


def copied(i):
    x, y = pair()
    z = (x if i < 2 else y).load()
    z[0] = 7
    return x[0] * 100 + y[0] * 10 + z[1]


def without_another_name(i):
    x, y = pair()
    if i < 2:
        x = x * 3
    x[0] = x[0] + 1
    x += 1
    return x[0] * 10 + x[1]


def by_steps(i):
    x, _ = pair()
    for step in range(3):
        if i < step:
            x = x * 2
        x[0] = x[0] + 1
    return x[0] * 100 + x[1]


def one_list_by_two_names(i):
    if i < 2:
        z = w = [1, 2]
    else:
        z = w = [3, 4]
    z[0] = 5
    return w[0] * 10 + w[1]


def new_lists(i):
    z = [1, 2] if i < 2 else [3, 4]
    z[0] = z[0] + 1
    return z[0] * 10 + z[1]


def copy_of_a_list(i):
    x, y = [1, 2], [3, 4]
    z = list(x if i < 2 else y)
    z[0] = 5
    return z[1] * 100 + x[0] * 10 + y[0]


@pytest.mark.parametrize(
    "f, expected",
    [
        (read_alone, [11, 11, 21, 21]),
        (copied, [121, 121, 122, 122]),
        (without_another_name, [54, 54, 32, 32]),
        (by_steps, [1104, 702, 401, 401]),
        (one_list_by_two_names, [52, 52, 54, 54]),
        (new_lists, [22, 22, 44, 44]),
        (copy_of_a_list, [213, 213, 413, 413]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_what_misses_nothing_is_taken(f, expected):
    assert computed(f) == expected


def list_changes(i):
    x, y = [1, 2], [3, 4]
    z = x if i < 2 else y
    z[0] = 7
    return x[0]


def dict_changes(i):
    x, y = {"a": 1}, {"a": 2}
    if i < 2:
        z = x
    else:
        z = y
    z.update(a=7)
    return x["a"]


@pytest.mark.parametrize("f, kind", [(list_changes, "list"), (dict_changes, "dict")])
def test_lists_and_dicts_of_two_names_are_not_changed(f, kind):
    with pytest.raises(strata.UsageError, match=rf"line \d+ takes one of two {kind}s by a decision of the kernel"):
        computed(f)


def steps_change_what_they_replace(i):
    z = w = [i * 2]
    for k in range(i):
        z[0] = z[0] + k
        z = [z[0] + 1]
    return w[0] * 100 + z[0]


def steps_change_the_other_name(i):
    z = w = [i * 2]
    for _ in range(i):
        w[0] = w[0] + 10
        z = [z[0] + 1]
    return w[0] * 100 + z[0]


def steps_change_what_was_replaced(i):
    z = w = {"a": i}
    for _ in range(i):
        before = z
        z = {"a": before["a"] + 1}
        before["a"] = 99
    return w["a"] * 100 + z["a"]


def steps_exchange(i):
    z, w = [i], [i * 2]
    for _ in range(i):
        z, w = w, z
        z[0] = z[0] + 1
    return z[0] * 100 + w[0]


@pytest.mark.parametrize(
    "f",
    [steps_change_what_they_replace, steps_change_the_other_name, steps_change_what_was_replaced, steps_exchange],
)
def test_a_list_that_steps_replace_is_not_changed_in_place(f):
    with pytest.raises(strata.UsageError, match=r"[zw] becomes another (list|dict) \(line \d+\) in the loop of line"):
        computed(f)


def steps_replace_alone(i):
    z = w = [i]
    for _ in range(i):
        z = [z[0] + 1]
        z[0] = z[0] + 2
    return w[0] * 100 + z[0]


def test_a_list_that_is_made_in_a_step_may_be_changed_in_it():
    assert computed(steps_replace_alone) == [steps_replace_alone(i) for i in range(4)]
