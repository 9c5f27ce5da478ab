"""Generators of random values that are quick to draw from, in hypothesis' words: a fuzzer makes a million calls with
them.
"""

import random


class Values:
    """draw: a function of random.Random."""

    def __init__(self, draw):
        self.draw = draw

    def map(self, function):
        return Values(lambda r: function(self.draw(r)))

    def filter(self, wanted):
        def draw(r):
            while not wanted(value := self.draw(r)):
                pass
            return value

        return Values(draw)


def just(value):
    return Values(lambda r: value)


def none():
    return just(None)


def booleans():
    return Values(lambda r: r.random() < 0.5)


def integers(low, high):
    return Values(lambda r: low + int(r.random() * (high - low + 1)))


def floats(low, high):
    return Values(lambda r: low + r.random() * (high - low))


def sampled_from(values):
    values = list(values)
    return Values(lambda r: values[int(r.random() * len(values))])


def one_of(*choices):
    return Values(lambda r: choices[int(r.random() * len(choices))].draw(r))


def builds(function, *arguments):
    return Values(lambda r: function(*[a.draw(r) for a in arguments]))


def lists(of, max_size):
    return Values(lambda r: [of.draw(r) for _ in range(int(r.random() * (max_size + 1)))])


def tuples(*of):
    return Values(lambda r: tuple(one.draw(r) for one in of))


def nested(of, max_size, depth=3):
    """`of`, or lists of it down to a depth."""
    return of if depth == 0 else one_of(of, lists(nested(of, max_size, depth - 1), max_size))


def seeded(*words):
    return random.Random(" ".join(map(str, words)))
