"""A module of a package."""

K = 2.0
