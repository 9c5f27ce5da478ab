"""Names of the version before this one. They work for one version more, and warn."""

import functools
import warnings


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


def renamed_function(old, function):
    """The function under its old name."""

    @functools.wraps(function)
    def call(*given, **named):
        warn(old, old, function.__name__)
        return function(*given, **named)

    return call
