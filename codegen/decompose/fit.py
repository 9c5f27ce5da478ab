#!/usr/bin/env python3
"""Writes polynomials.def: near minimax polynomials, by interpolation at Chebyshev nodes in 60 digits. Needs mpmath.

fit.py --write | --verify
"""

import argparse
import pathlib
import sys

import mpmath as mp

mp.mp.dps = 60
TABLE = pathlib.Path(__file__).parent / "polynomials.def"


def over_root(f):
    """(f(s) / s - 1) / x of x = s^2: an odd function that begins with s."""

    def g(x):
        s = mp.sqrt(x)
        return (f(s) / s - 1) / x

    return g


def tail_of_atanh(x):
    return (over_root(mp.atanh)(x) - mp.mpf(1) / 3) / x


def cosine(x):
    return (mp.cos(mp.sqrt(x)) - 1 + x / 2) / x**2


def tail_of_exp(x):
    return (mp.exp(x) - 1 - x) / x**2 if abs(x) > 1e-25 else mp.mpf(1) / 2


def ncdf_of_ratio(at, center=0):
    def of(x):
        v = x + center
        y = at / v - at
        return mp.exp(y**2 / 2) * mp.ncdf(-y) / v

    return of


def erfc_of_ratio(x):
    y = (mp.mpf("2.75") + 5 * x) / (1 - x)
    return mp.log(mp.erfc(y)) + y**2


SMALL_TANH, SMALL_TANH_F64 = mp.mpf(5) / 8, mp.mpf(5) / 8
QUARTER = mp.pi / 4 * mp.mpf("1.001")
ROOT = mp.sqrt(2)
S = (ROOT - 1) / (ROOT + 1) * mp.mpf("1.001")
ERF = 2 / mp.sqrt(mp.pi)
#   name, what it is, the same as a function, from, to, degree
ROWS = [
    ("sin_f32", "(sin(s) / s - 1) / x, s = sqrt(x)", over_root(mp.sin), 0, QUARTER**2, 3),
    ("cos_f32", "(cos(s) - 1 + x / 2) / x^2, s = sqrt(x)", cosine, 0, QUARTER**2, 2),
    ("tanh_f32", "(tanh(s) / s - 1) / x, s = sqrt(x)", over_root(mp.tanh), 0, SMALL_TANH**2, 4),
    ("erf_f32", "erf(s) / s - 1, s = sqrt(x)", lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x) - 1, 0, 1, 6),
    ("erfc_f32", "log2(erfc(x))", lambda x: mp.log(mp.erfc(x), 2), 1, 4, 8),
    ("log_f32", "((atanh(s) / s - 1) / x - 1 / 3) / x, s = sqrt(x)", tail_of_atanh, 0, S**2, 2),
    ("exp_f32", "(exp(x) - 1 - x) / x^2", tail_of_exp, -mp.log(2) / 2, mp.log(2) / 2, 4),
    ("exp_f64", "(exp(x) - 1 - x) / x^2", tail_of_exp, -mp.log(2) / 2, mp.log(2) / 2, 11),
    ("log_f64", "((atanh(s) / s - 1) / x - 1 / 3) / x, s = sqrt(x)", tail_of_atanh, 0, S**2, 9),
    ("sin_f64", "(sin(s) / s - 1) / x, s = sqrt(x)", over_root(mp.sin), 0, QUARTER**2, 7),
    ("cos_f64", "(cos(s) - 1 + x / 2) / x^2, s = sqrt(x)", cosine, 0, QUARTER**2, 7),
    ("tanh_f64", "(tanh(s) / s - 1) / x, s = sqrt(x)", over_root(mp.tanh), 0, SMALL_TANH_F64**2, 12),
    ("erf_f64", "erf(s) / s - 1, s = sqrt(x)", lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x) - 1, 0, 1, 14),
    (
        "erfc_f64",
        "log(erfc(y)) + y^2, x = (y - 2.75) / (y + 5)",
        erfc_of_ratio,
        mp.mpf("-1.75") / 6,
        mp.mpf("3.25") / 11,
        19,
    ),
    (
        "ncdf_f32",
        "ncdf(-y) exp(y^2 / 2) / v, v = 2 / (y + 2) = x + 1 / 4",
        ncdf_of_ratio(2, mp.mpf(1) / 4),
        mp.mpf(2) / 17 - mp.mpf(1) / 4,
        mp.mpf(3) / 4,
        10,
    ),
    (
        "ncdf_f64",
        "ncdf(-y) exp(y^2 / 2) / v, v = 4 / (y + 4) = x + 1 / 2",
        ncdf_of_ratio(4, mp.mpf(1) / 2),
        mp.mpf(4) / 43 - mp.mpf(1) / 2,
        mp.mpf(1) / 2,
        22,
    ),
]


def fitted(f, low, high, degree):
    n = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def worst(f, low, high, c):
    points = [low + (high - low) * mp.mpf(k) / 400 for k in range(401)]
    return max(abs(mp.polyval(list(reversed(c)), x) - f(x)) for x in points if abs(x) > 1e-12)


def table():
    out = [
        "// Near minimax polynomials by powers from 0 on, written by fit.py: "
        "POLYNOMIAL( name, coefficients ). Above each:",
        "// what it is for x of which range, and the most by which it is off there as it stands (in exact arithmetic).",
    ]
    for name, what, f, low, high, degree in ROWS:
        low, high = mp.mpf(low), mp.mpf(high)
        c = fitted(f, low, high, degree)
        c = [float(x) for x in c]
        error = worst(f, low, high, [mp.mpf(x) for x in c])
        out.append(f"// {what}; {mp.nstr(low, 6)} to {mp.nstr(high, 6)}; {mp.nstr(error, 2)}")
        lines, line = [], f"POLYNOMIAL( {name}"
        for x in c:
            line += ", "
            if len(line) > 100:
                lines.append(line.rstrip())
                line = "            "
            line += repr(x)
        out += lines + [line + " )"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verify", action="store_true")
    args = parser.parse_args()
    text = table()
    if args.write:
        TABLE.write_text(text)
    if args.verify and TABLE.read_text() != text:
        sys.exit(f"{TABLE} is not what fit.py gives; --write it")


if __name__ == "__main__":
    main()
