"""How values travel between the judge and the graded process: as JSON, rebuilt as plain values on the other side.

A list is a JSON list; what JSON lacks is an object of one key, such as ``{"tuple": [1, 2]}``. Instances of subclasses
travel as the plain value under them, so ``__eq__``, ``__repr__`` and ``__hash__`` of graded code stay behind. What is
not plain (an instance of a class of the solution, a generator) is left to ``other``, which gives it a number::

    encode({"a": (1, 2)}, other)   # {"dict": [["a", {"tuple": [1, 2]}]]}

This source is also a part of the programs that run inside the sandbox (:mod:`benchmarks.grading.remote`): it may
import the standard library only.
"""

from collections import deque
from collections.abc import Callable
from json.decoder import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from math import isfinite
from os import read, write
from typing import Any

# Functions in C, bound before graded code runs: what it patches in the library does not reach them.
_text = c_make_encoder(None, None, encode_basestring_ascii, None, ":", ",", False, False, True)
_value = JSONDecoder().scan_once  # type: ignore[attr-defined]

MOST = 4 << 20  # bytes of a message of the graded code: a result of 4 MiB is a mistake, and the judge must hold it
_WIDE = 1 << 62  # larger integers travel as hexadecimal, which has no limit of digits
_VIEWS = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}
_ITEMS: dict[str, type] = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}
_NAMED = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, object, type)
_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__pos__),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytearray.__getitem__(value, slice(None))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (deque, lambda value: deque(deque.__iter__(value))),
)


def encode(value: Any, other: Callable[[Any], Any]) -> Any:
    """A value that ``json.dumps`` takes. ``other(value)`` is asked for what is not plain."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_WIDE < value < _WIDE else {"int": hex(value)}
    if kind is float:
        return value if isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [encode(item, other) for item in value]
    if kind is dict:
        return {"dict": [[encode(key, other), encode(item, other)] for key, item in value.items()]}
    for name, view in (*_ITEMS.items(), *_VIEWS.items()):
        if kind is view:
            return {name: [encode(item, other) for item in value]}
    if kind is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if kind is bytes or kind is bytearray:
        return {kind.__name__: value.hex()}
    if kind is range:
        return {"range": [hex(value.start), hex(value.stop), hex(value.step)]}
    if kind is type and value in _NAMED:
        return {"type": value.__name__}
    if value is Ellipsis or value is NotImplemented:
        return {"constant": repr(value)}
    for base, plain in _PLAIN:
        if issubclass(kind, base):
            return encode(plain(value), other)
    return _from_library(value, kind.__module__, kind.__name__) or other(value)


def _from_library(value: Any, module: str, name: str) -> Any:
    """Numbers and dates of the standard library, which is only looked at once they are there; else None."""
    if module == "decimal" and name == "Decimal":
        return {"Decimal": str(value)}
    if module == "fractions" and name == "Fraction":
        return {"Fraction": [hex(value.numerator), hex(value.denominator)]}
    if module == "datetime" and name in ("datetime", "date", "time") and getattr(value, "tzinfo", None) is None:
        return {name: value.isoformat()}
    if module == "datetime" and name == "timedelta":
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    return None


def decode(found: Any, other: Callable[[str, Any], Any]) -> Any:
    """The value that was encoded. ``other(name, content)`` makes what is not plain.

    Raises ValueError, TypeError, OverflowError or RecursionError for what no ``encode`` gives.
    """
    if isinstance(found, list):
        return [decode(item, other) for item in found]
    if not isinstance(found, dict):
        return found
    ((name, content),) = found.items()
    if name == "dict":
        return {decode(key, other): decode(item, other) for key, item in content}
    if name in _ITEMS:
        return _ITEMS[name](decode(item, other) for item in content)
    if name == "keys":
        return dict.fromkeys(decode(item, other) for item in content).keys()
    if name == "values":
        return dict(enumerate(decode(item, other) for item in content)).values()
    if name == "items":
        return dict(decode(item, other) for item in content).items()
    if name == "int":
        return int(content, 16)
    if name == "float":
        return float(content)
    if name == "complex":
        return complex(float(content[0]), float(content[1]))
    if name == "bytes":
        return bytes.fromhex(content)
    if name == "bytearray":
        return bytearray.fromhex(content)
    if name == "range":
        return range(*(int(number, 16) for number in content))
    if name == "type":
        return {kind.__name__: kind for kind in _NAMED}[content]
    if name == "constant":
        return {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}[content]
    if name == "Decimal":
        import decimal

        return decimal.Decimal(content)
    if name == "Fraction":
        import fractions

        return fractions.Fraction(int(content[0], 16), int(content[1], 16))
    if name in ("datetime", "date", "time"):
        import datetime

        return getattr(datetime, name).fromisoformat(content)
    if name == "timedelta":
        import datetime

        return datetime.timedelta(*content)
    return other(name, content)


def send(link: int, message: Any, most: int | None = None) -> None:
    """Write one message to a descriptor. Raises ValueError above ``most`` bytes, OSError if the other end is gone."""
    text = "".join(_text(message, 0)).encode()
    if most is not None and len(text) > most:
        raise ValueError(f"a value of {len(text)} bytes is too large to be looked at (the limit is {most})")
    rest = memoryview(len(text).to_bytes(8, "little") + text)
    while rest:
        rest = rest[write(link, rest) :]


def receive(link: int, most: int | None = None) -> Any:
    """Read one message from a descriptor. Raises EOFError at its end, ValueError for what is no message."""
    size = int.from_bytes(_exactly(link, 8), "little")
    if most is not None and size > most:
        raise ValueError(f"a message of {size} bytes")
    try:
        return _value(_exactly(link, size).decode(), 0)[0]
    except StopIteration:
        raise ValueError("a message that is no JSON") from None


def _exactly(link: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = read(link, min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError("the other end is gone")
        data += chunk
    return bytes(data)
