"""Names of the version before this one. They work for one version more, and warn."""

from __future__ import annotations

import functools
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _F = TypeVar("_F")


def warn(where, old, new):
    warnings.warn(
        f"[{where}] {old} is now called {new}; the old name will go in the next version",
        DeprecationWarning,
        stacklevel=4,
    )


def renamed_attribute(old, new):
    """A property `old` that reads and sets the attribute `new`."""

    def get(self):
        warn(type(self).__name__, old, new)
        return getattr(self, new)

    def put(self, value):
        warn(type(self).__name__, old, new)
        setattr(self, new, value)

    return property(get, put)


def renamed_function(old: str, function: _F) -> _F:
    """The function under its old name."""

    plain: Any = function

    @functools.wraps(plain)
    def call(*given, **named):
        warn(old, old, plain.__name__)
        return plain(*given, **named)

    return call  # type: ignore[return-value]
