"""Objects that Python can make and Strata did not expect."""

import inspect

import numpy as np
import pytest
import strata
from strata import Tensor, _strata


def classes(module, seen):
    for member in vars(module).values():
        if inspect.ismodule(member) and member.__name__.startswith("strata"):
            yield from classes(member, seen)
        if inspect.isclass(member) and not issubclass(member, BaseException) and member not in seen:
            seen.add(member)
            yield member


CLASSES = list(classes(_strata, set()))


def test_all_classes_are_found():
    assert {"Tensor", "UOp", "DType", "config", "CustomKernel", "WaveState", "Launch", "Stats", "_Assembler"} <= {
        c.__name__ for c in CLASSES
    }


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_an_object_made_without_init_is_a_type_error_wherever_it_is_used(cls):
    try:
        made = cls.__new__(cls)
    except TypeError:
        with pytest.raises(TypeError, match="makes no objects"):
            cls()
        return
    uses = 0
    for name, member in vars(cls).items():
        if isinstance(member, property):
            with pytest.raises(TypeError, match="made without __init__"):
                getattr(made, name)
            uses += 1
        elif name not in ("__init__", "__new__", "__hash__", "__doc__", "__module__") and callable(member):
            for arguments in ((), (made,), (1,)):
                try:
                    getattr(made, name)(*arguments)
                except (TypeError, AttributeError, strata.Error):
                    uses += 1
    assert uses > 0
    if cls.__repr__ is not object.__repr__:
        with pytest.raises(TypeError, match="made without __init__"):
            repr(made)
    for function in (
        strata.realize,
        strata.promote,
        strata.where,
        Tensor([1.0]).custom_kernel,
        Tensor,
        strata.dtypes.float32.__eq__,
    ):
        for arguments in ((made,), (made, made), (made, made, made)):
            try:
                function(*arguments)
            except (TypeError, ValueError, RuntimeError):
                pass


def test_a_subclass_whose_init_does_not_make_the_value_is_a_type_error():
    class Forgotten(Tensor):
        def __init__(self):
            pass

    with pytest.raises(TypeError, match="__init__"):
        Forgotten()


class Itself:
    """As np.longdouble: item() gives no number of Python's."""

    dtype, shape = np.dtype("float64"), ()

    def item(self):
        return self


TAKE_A_NUMBER = {
    "full": lambda n: Tensor.full((3,), n),
    "arange": lambda n: Tensor.arange(0, 4, n),
    "clamp": lambda n: Tensor([1.0, 5.0]).clamp(n, n),
    "pad": lambda n: Tensor([1.0]).pad([(1, 1)], n),
}


@pytest.mark.parametrize("name", TAKE_A_NUMBER)
def test_any_object_with_item_is_a_number_or_an_error(name):
    call = TAKE_A_NUMBER[name]
    for one in (np.longdouble(1), np.float32(1), np.int8(1), np.bool_(True), np.array(1.0)):
        assert call(one).tolist() == call(1).tolist()
    for wrong in (Itself(), np.str_("1"), np.datetime64("2020")):
        with pytest.raises((strata.Error, TypeError)):
            call(wrong)
