"""Values cross the link as what they are, and as nothing more."""

from __future__ import annotations

import datetime
import math
import socket
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.grading import values

keys = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
plain = st.recursive(
    keys
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes().map(lambda when: when.replace(fold=0))
    | st.timedeltas(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner)
        | st.lists(inner).map(deque)
        | st.binary().map(bytearray)
    ),
    max_leaves=12,
)


def there(value: Any) -> Any:
    """The value as it arrives at the other end of a link."""
    here, other = socket.socketpair()
    with here, other:
        values.send(here.fileno(), values.encode(value, refuse))
        return values.decode(values.receive(other.fileno()), lambda name, content: (name, content))


def refuse(value: object) -> Any:
    raise TypeError(type(value).__name__)


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right and repr(left) == repr(right)


@settings(max_examples=60, deadline=None)
@given(plain)
def test_plain_values_arrive_as_they_are(value: Any) -> None:
    assert same(there(value), value)


@pytest.mark.parametrize(
    "value",
    [-0.0, math.inf, 10**5000, -(1 << 62), "\udc80\0", range(3, 10**30, 2), Ellipsis, NotImplemented, int, [dict]],
    ids=lambda value: type(value).__name__,
)
def test_edges(value: Any) -> None:
    assert there(value) == value
    assert type(there(value)) is type(value)
    assert math.copysign(1, there(-0.0)) == -1
    assert math.isnan(there(math.nan))


@given(st.sets(keys))
def test_sets(value: Any) -> None:
    assert there(value) == value
    assert there([frozenset(value)]) == [frozenset(value)]


def test_views_stay_views() -> None:
    counts = {"a": 1, "b": 2}
    assert there(counts.keys()) == {"a", "b"}
    assert list(there(counts.values())) == [1, 2]
    assert there(counts.items()) == counts.items()


class Sly(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "6"

    __hash__ = int.__hash__


class Small(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Sly(4), 4),
        ([Sly(4)], [4]),
        (Small.ONE, 1),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (namedtuple("Point", "x y")(1, 2), (1, 2)),
        (type("Text", (str,), {"__str__": lambda s: "other", "__len__": lambda s: 99})("own"), "own"),
        (type("Many", (list,), {"__iter__": lambda s: iter([9]), "__eq__": lambda *_: True})([1, 2]), [1, 2]),
        (type("Table", (dict,), {"items": lambda s: [(9, 9)]})({1: 2}), {1: 2}),
    ],
    ids=repr,
)
def test_subclasses_arrive_as_the_plain_value_under_them(value: Any, arrives: Any) -> None:
    assert same(there(value), arrives)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Enum("Colour", "RED").RED,
        (n for n in ()),
        len,
        Sly,
        datetime.datetime.now(datetime.UTC),
        1 == 1 and there,
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_rest_is_left_to_the_caller(value: Any) -> None:
    with pytest.raises(TypeError):
        values.encode([value], refuse)
    assert there([Decimal("1.0"), Fraction(1, 3)]) == [Decimal("1.0"), Fraction(1, 3)]


@pytest.mark.parametrize("message", [b"", b"{", b"[1", b"nan", b"[" * 100_000, b"\xff"])
def test_what_is_no_message_is_refused(message: bytes) -> None:
    here, other = socket.socketpair()
    with here, other:
        here.sendall(len(message).to_bytes(8, "little") + message)
        with pytest.raises((ValueError, RecursionError)):
            values.receive(other.fileno())


def test_sizes_are_kept() -> None:
    here, other = socket.socketpair()
    with here, other:
        with pytest.raises(ValueError, match="too large"):
            values.send(here.fileno(), "x" * 100, 50)
        values.send(here.fileno(), "x" * 100)
        with pytest.raises(ValueError, match="102 bytes"):
            values.receive(other.fileno(), 50)
        here.close()
        other.recv(1 << 10)
        with pytest.raises(EOFError):
            values.receive(other.fileno())


@pytest.mark.parametrize("content", [{}, {"a": 1, "b": 2}, {"int": 5}, {"type": "eval"}, {"dict": [1]}, {"keys": [[]]}])
def test_what_no_encoder_gives_is_refused(content: Any) -> None:
    def unknown(name: str, content: Any) -> Any:
        raise ValueError(name)

    with pytest.raises((ValueError, TypeError, KeyError)):
        values.decode(content, unknown)
