"""printf and device_assert: records in a ring of global memory, which the host reads when the launch is done."""

import struct

from .. import _strata
from .._strata import Tensor, UsageError
from ..layout import Layout
from . import _indices

_lang = _strata._lang
Value = _lang.Value
WORDS = 1 << 16  # of the records of a launch, 4 bytes each
_HEAD = 5  # number of the message, block x, y, z, thread


class Message:
    """One printf or device_assert of a kernel: its text, and what each value is."""

    def __init__(self, text, values, fails):
        self.text, self.values, self.fails = text, values, fails
        self.words = _HEAD + sum(v.itemsize_in_words for v in values if isinstance(v, _Given))

    def decoded(self, words):
        """(block, thread, text) of a record."""
        at, shown = _HEAD, []
        for value in self.values:
            if isinstance(value, _Given):
                shown.append(value.decoded(words[at : at + value.itemsize_in_words]))
                at += value.itemsize_in_words
            else:
                shown.append(value)
        return tuple(words[1:4]), words[4], self.text.format(*shown)


class _Given:
    """A value of the kernel in a record."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.itemsize_in_words = 2 if dtype.bits == 64 else 1
        self._form = ("f", "d") if dtype.is_float else ("I", "Q") if dtype.is_unsigned else ("i", "q")

    def decoded(self, words):
        data = struct.pack(f"<{len(words)}i", *words)
        value = struct.unpack("<" + self._form[len(words) - 1], data)[0]
        return bool(value) if self.dtype.is_bool else value


def _words_of(value):
    """A value as words of 32 bits."""
    if value.dtype.bits == 64:
        bits = value.bitcast("int64")
        return [bits.cast("int32"), (bits >> 32).cast("int32")]
    if value.dtype.is_float:
        return [value.cast("float32").bitcast("int32")]
    return [value.cast("uint32").bitcast("int32") if value.dtype.is_unsigned else value.cast("int32")]


def _say(what, text, values, fails):
    launch = _indices.launch(f"lang.{what}")
    if not isinstance(text, str):
        raise UsageError(f"[{what}] the text is a string of Python's with {{}} for each value, not {text!r}")
    given, words = [], []
    for value in values:
        if isinstance(value, _lang.View):
            raise UsageError(f"[{what}] {value!r} is no single value: give its elements, v[c]")
        if type(value) is not Value:
            given.append(value)
            continue
        value = _lang.machine_value(value)
        given.append(_Given(value.dtype))
        words += _words_of(value)
    try:
        text.format(*(0 if isinstance(v, _Given) else v for v in given))
    except (IndexError, KeyError, ValueError) as error:
        raise UsageError(f"[{what}] {text!r} does not fit {len(values)} values: {error}") from None
    message = Message(text, given, fails)
    launch.messages.append(message)
    ring = launch.ring()
    view = _lang.make_view(ring, Layout(WORDS + 1))
    at = _lang.atomic(view.at(0), "add", message.words, None, "device")
    block = [_indices.block_idx.x, _indices.block_idx.y, _indices.block_idx.z]
    _lang.begin_if(at.bitcast("uint32") <= WORDS - message.words)
    for i, word in enumerate([len(launch.messages) - 1, *block, _indices.thread(), *words]):
        _lang.store(ring, at + (1 + i), word)
    _lang.end_if()


def printf(text, *values):
    """Says a text by Python's format strings, as printf("{} of {:.2f}", i, x), once the launch is done, for each thread
    that comes here."""
    _say("printf", text, values, False)


def device_assert(condition, text="", *values):
    """The call raises an AssertionError where the condition does not hold in a thread that comes here.

    The error names block and thread, and has the text with its values.
    """
    fails = _lang.logical_not(condition)
    if _lang.known(fails) is False:
        return
    _lang.begin_if(fails)
    _say("device_assert", text, values, True)
    _lang.end_if()


def new_ring(launched):
    """Memory for the records of a launch."""
    device = next((t.device for t in launched if isinstance(t, Tensor)), None)
    return Tensor.zeros(WORDS + 1, dtype="int32", **({"device": device} if device else {})).contiguous().realize()


def tell(name, messages, ring):
    """Prints what the threads said; raises the first assertion that does not hold."""
    words = ring.numpy().tolist()
    used, at, failed = words[0] & 0xFFFFFFFF, 1, None
    while at < min(used, WORDS):
        message = messages[words[at]]
        if at + message.words > WORDS + 1:
            break
        block, thread, text = message.decoded(words[at : at + message.words])
        at += message.words
        if not message.fails:
            print(text)
        elif failed is None:
            failed = f"{name}: thread {thread} of block {block}" + (f": {text}" if text else "")
    if used > WORDS:
        print(f"{name}: {used - WORDS} words of messages were lost: a launch has room for {WORDS}")
    if failed:
        raise AssertionError(failed)
