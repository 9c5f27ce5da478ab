"""Fourier transforms, windows and filter banks. Complex numbers are pairs of real ones along the last axis."""

import math

import numpy

from ... import _strata, fft, functional
from ..values import array_type
from .common import axis_of, numbers, within_host


def _one(x, usual=None):
    return usual if x is None or numpy.asarray(x).size == 0 else numpy.asarray(x).reshape(-1)[0].item()


def _pairs(x):
    return _strata.stack([x.real, x.imag], -1)


def dft(x, dft_length=None, axis=None, *, inverse=0, onesided=0, version=20):
    """x (..., 1) of real numbers, (..., 2) of complex ones; one-sided inverses give real ones."""
    at = axis_of(_one(axis, 1 if version < 20 else -2), x.ndim)
    size, kind = x.shape[at], x.dtype
    n = _one(dft_length, 2 * (size - 1) if inverse and onesided else size)
    real = x.shape[-1] == 1
    x = x if kind == _strata.dtypes.float64 else x.cast("float32")
    signal = x[..., 0] if real else _strata.complex(x[..., 0], x[..., 1])
    if inverse:
        out = fft.irfft(signal, n=n, axis=at).unsqueeze(-1) if onesided else _pairs(fft.ifft(signal, n=n, axis=at))
    elif onesided:
        whole = fft.rfft(signal, n=n, axis=at) if real else fft.fft(signal, n=n, axis=at)
        out = _pairs(whole[(slice(None),) * at + (slice(n // 2 + 1),)])
    else:
        out = _pairs(fft.fft(signal, n=n, axis=at))
    return out.cast(kind)


def stft(x, frame_step, window=None, frame_length=None, *, onesided=1):
    """x (n, samples, 1 or 2), or (n, samples) -> (n, frames, frequencies, 2)."""
    kind, real = x.dtype, x.ndim == 2 or x.shape[-1] == 1
    length = _one(frame_length, window.shape[0] if window is not None else x.shape[1])
    x = x if kind == _strata.dtypes.float64 else x.cast("float32")
    parts = [x if x.ndim == 2 else x[..., i] for i in range(1 if real else 2)]
    frames = [functional.windows(part, [length], [_one(frame_step)]) for part in parts]
    if window is not None:
        frames = [part * window.cast(part.dtype) for part in frames]
    signal = frames[0] if real else _strata.complex(*frames)
    out = fft.rfft(signal) if real and onesided else fft.fft(signal)
    return _pairs(out[..., : length // 2 + 1] if onesided else out).cast(kind)


def window_of(*terms):
    """A window of cosines, by the factors of whole multiples of the angle."""

    def row(size, *, output_datatype=1, periodic=1):
        n = within_host(numbers(size)[0], "a window")
        turn = 2 * numpy.pi * numpy.arange(n) / max(n if periodic else n - 1, 1)
        return sum(a * numpy.cos(i * turn) for i, a in enumerate(terms)).astype(array_type(output_datatype))

    return row


def mel_weights(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, *, output_datatype=1):
    """(frequencies, bins): a triangle a bin, its corners evenly spaced in mel, each at the frequency below."""
    bins, length, rate = (int(_one(v)) for v in (num_mel_bins, dft_length, sample_rate))
    rows = length // 2 + 1
    within_host(rows * bins, "MelWeightMatrix")
    low, high = (2595 * math.log10(1 + float(_one(v)) / 700) for v in (lower_edge_hertz, upper_edge_hertz))
    corners = low + numpy.arange(bins + 2) * ((high - low) / (bins + 2))
    corners = numpy.floor((length + 1) * 700 * (10 ** (corners / 2595) - 1) / rate)
    left, middle, right = corners[:-2], corners[1:-1], corners[2:]
    at = numpy.arange(rows)[:, None]
    with numpy.errstate(divide="ignore", invalid="ignore"):
        rising, falling = (at - left) / (middle - left), (right - at) / (right - middle)
    out = numpy.where((at >= middle) & (at < right), falling, numpy.where((at >= left) & (at < middle), rising, 0))
    return numpy.where(at == middle, 1, out).astype(array_type(output_datatype))


ROWS = {
    "BlackmanWindow": window_of(0.42, -0.5, 0.08),
    "DFT": dft,
    "HammingWindow": window_of(25 / 46, -21 / 46),
    "HannWindow": window_of(0.5, -0.5),
    "MelWeightMatrix": mel_weights,
    "STFT": stft,
}
