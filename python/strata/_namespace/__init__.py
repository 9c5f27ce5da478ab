"""Functions that are no methods. They are those of the Python array API 2024.12 that take something in another form,
and functions of NumPy and PyTorch beyond it, by composition.

https://data-apis.org/array-api/2024.12. The others are made of the rows of methods.def and elementwise.def
(bindings/python/namespace.cpp). The standard leaves two things open. An integer meets a float as the float.
strata.Tensor is a value, so that `copy` decides only who sees x[...] = value.
"""

from .._checks import checked
from .creation import *
from .creation import __all__ as _creation
from .gathers import *
from .gathers import __all__ as _gathers
from .inspection import *
from .inspection import __all__ as _inspection
from .movement import *
from .movement import __all__ as _movement
from .products import *
from .products import __all__ as _products
from .searching import *
from .searching import __all__ as _searching
from .statistics import *
from .statistics import __all__ as _statistics

__all__ = [*_creation, *_inspection, *_movement, *_gathers, *_products, *_searching, *_statistics]

globals().update({_name: checked(_f) for _name in __all__ if callable(_f := globals()[_name])})
