"""Memory of a block as a class describes it: @lang.struct of lang.Array[dtype, n, align]."""

import inspect

from .. import _strata
from .._strata import DType, Unsupported, UsageError

_lang = _strata._lang
_ALIGNED = 16  # bytes, of everything in local memory


def check_align(what, align):
    if type(align) is not int or align < 1 or align & (align - 1):
        raise UsageError(f"[{what}] align {align!r}: a power of two, in bytes")
    if align > _ALIGNED:
        raise Unsupported(
            f"[{what}] align {align}: memory of a block begins at multiples of {_ALIGNED} bytes, as much as the widest "
            f"access needs"
        )


class Array:
    """The type of a field of a struct: Array[dtype, n] or Array[dtype, n, align], n elements."""

    def __init__(self, dtype, size, align):
        self.dtype, self.size, self.align = dtype, size, align

    def __class_getitem__(cls, given):
        if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
            raise UsageError("[Array] is written Array[dtype, n] or Array[dtype, n, align]")
        dtype = DType(given[0])
        if type(given[1]) is not int or given[1] < 1:
            raise UsageError(f"[Array] has {given[1]!r} elements: an integer of at least 1")
        align = given[2] if len(given) == 3 else dtype.itemsize
        check_align("Array", align)
        return cls(dtype, given[1], align)

    def __repr__(self):
        return f"Array[{self.dtype.name}, {self.size}, {self.align}]"


def _field(of, name, annotation):
    if isinstance(annotation, DType):
        return Array(annotation, 1, annotation.itemsize)
    if isinstance(annotation, Array) or is_struct(annotation):
        return annotation
    raise UsageError(
        f"[struct] the field {name} of {of.__name__} is {annotation!r}: write lang.Array[dtype, n], a dtype or another "
        f"struct"
    )


def struct(of):
    """A class as a description of memory: each field is annotated as lang.Array[dtype, n, align], a dtype or another
    struct. lang.shared(the class) has a view for each."""
    if not isinstance(of, type):
        raise UsageError(f"[struct] decorates a class, not {of!r}")
    fields = {name: _field(of, name, a) for name, a in inspect.get_annotations(of, eval_str=True).items()}
    if not fields:
        raise UsageError(f"[struct] {of.__name__} has no fields: annotate them, as x: lang.Array[dtypes.float32, 64]")
    of.__strata_fields__ = fields
    return of


def is_struct(of):
    return isinstance(of, type) and "__strata_fields__" in vars(of)


class Storage:
    """Memory of a struct: a view for each field."""

    def __init__(self, of):
        self.__dict__["_of"] = of
        for name, field in of.__strata_fields__.items():
            self.__dict__[name] = storage_of(field) if is_struct(field) else _lang.shared_view(field.size, field.dtype)

    def __repr__(self):
        return f"<shared {self._of.__name__}>"

    def __getattr__(self, name):
        raise AttributeError(f"{self._of.__name__} has the fields {', '.join(self._of.__strata_fields__)}, not {name}")

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} is memory: {name}[i] = x stores an element, {name}.fill(x) all")


def storage_of(of):
    return Storage(of)
