"""The kinds of function a tiny task is made of: what each must do, its body, and the bugs it can have.

A rule is text with constants in braces, so that one rule gives many functions::

    one("plus", "x", "x plus {a}", "x + {a}", operator="x - {a}", constant="x + {a1}")

gives ``def f0(x): # x plus 3; return x + 3`` and two bugs. Parameters say their type by name: ``x, y`` are
integers, ``v`` is a list of integers, ``s, t`` are strings. Constants: ``a != b`` in 2..9, ``c = a + b``, ``k`` is
2 or 3, ``a1 = a + 1`` and so on, ``q != r`` one-letter strings, ``g`` the name of another function of the file.
"""

# ruff: noqa: E501  (a table reads best with one rule a line)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """Line ``line`` of the body reads ``text`` instead. Indentation is that of the line it replaces."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class Rule:
    """One kind of function. ``says`` is its comment, ``body`` its lines with their indentation inside the body."""

    kind: str
    params: str
    says: str
    body: tuple[str, ...]
    bugs: tuple[Bug, ...]

    @property
    def calls(self) -> bool:
        """It calls another function of the file."""
        return "{g}" in self.says


def one(kind: str, params: str, says: str, value: str, **bugs: str) -> Rule:
    """A rule whose body is ``return value``; each keyword is a kind of bug and the wrong value."""
    wrong = tuple(Bug(name, 0, f"return {text}") for name, text in bugs.items())
    return Rule(kind, params, says, (f"return {value}",), wrong)


def many(kind: str, params: str, says: str, *body: str, **bugs: tuple[int, str]) -> Rule:
    """A rule of several lines; each keyword is a kind of bug: the line it is in and what it reads there."""
    return Rule(kind, params, says, body, tuple(Bug(name, line, text) for name, (line, text) in bugs.items()))


_INTEGERS = (
    one("plus", "x", "x plus {a}", "x + {a}", operator="x - {a}", constant="x + {a1}", function="x * {a}"),
    one("minus", "x", "x minus {a}", "x - {a}", operator="x + {a}", swap="{a} - x", constant="x - {a1}"),
    one("from", "x", "{a} minus x", "{a} - x", swap="x - {a}", operator="{a} + x", constant="{a1} - x"),
    one("times", "x", "x times {a}", "x * {a}", operator="x + {a}", constant="x * {a1}", function="x // {a}"),
    one("divide", "x", "x over {a}, rounded down", "x // {a}", operator="x / {a}", function="x % {a}"),
    one("rest", "x", "rest of x over {a}", "x % {a}", operator="x // {a}", constant="x % {a1}"),
    one("linear", "x", "{a} times x, plus {b}", "{a} * x + {b}", operator="{a} * x - {b}", swap="{b} * x + {a}"),
    one("grouped", "x", "{a} times the sum of x and {b}", "{a} * (x + {b})", order="{a} * x + {b}", swap="{b} * (x + {a})"),
    one("square", "x", "x squared, plus {a}", "x * x + {a}", operator="x + x + {a}", sign="x * x - {a}"),
    one("distance", "x", "distance of x to {a}", "abs(x - {a})", operator="abs(x + {a})", function="x - {a}"),
    one("floor", "x", "x, but at least {a}", "max(x, {a})", function="min(x, {a})", constant="max(x, {a1})"),
    one("cap", "x", "x, but at most {a}", "min(x, {a})", function="max(x, {a})", constant="min(x, {a1})"),
    one("above", "x", "is x above {a}", "x > {a}", compare="x < {a}", boundary="x >= {a}", constant="x > {a1}"),
    one("multiple", "x", "is x a multiple of {a}", "x % {a} == 0", negation="x % {a} != 0", constant="x % {a} == 1", operator="x // {a} == 0"),
    one("between", "x", "is x from {a} to {c}", "{a} <= x <= {c}", boundary="{a} <= x < {c}", compare="{a} < x <= {c}"),
    one("add", "x, y", "x plus y, minus {a}", "x + y - {a}", operator="x - y - {a}", sign="x + y + {a}"),
    one("product", "x, y", "x times y, plus {a}", "x * y + {a}", operator="x + y + {a}", sign="x * y - {a}"),
    one("larger", "x, y", "larger of x and y, plus {a}", "max(x, y) + {a}", function="min(x, y) + {a}", sign="max(x, y) - {a}"),
    one("less", "x, y", "x minus {a} times y", "x - {a} * y", operator="x + {a} * y", swap="{a} * x - y", variable="y - {a} * x"),
    one("exceeds", "x, y", "is x above y plus {a}", "x > y + {a}", operator="x > y - {a}", compare="x < y + {a}", boundary="x >= y + {a}"),
    one("both", "x, y", "are x and y above {a}", "x > {a} and y > {a}", logic="x > {a} or y > {a}", compare="x > {a} and y < {a}"),
    one("winner", "x, y", "x if x is above y, else {a}", "x if x > y else {a}", variable="y if x > y else {a}", compare="x if x < y else {a}"),
    many("sign", "x", "{a} if x is negative, else {b}", "if x < 0:", "    return {a}", "return {b}", compare=(0, "if x > 0:"), boundary=(0, "if x <= 0:"), constant=(2, "return {b1}")),
    many("reduce", "x", "x minus {b} if x is above {a}, else x", "if x > {a}:", "    return x - {b}", "return x", compare=(0, "if x < {a}:"), boundary=(0, "if x >= {a}:"), operator=(1, "return x + {b}")),
    many("repeat", "x", "x plus {a}, {b} times", "for _ in range({b}):", "    x += {a}", "return x", swap=(0, "for _ in range({a}):"), operator=(1, "x -= {a}"), function=(1, "x *= {a}")),
)  # fmt: skip

_LISTS = (
    one("total", "v", "sum of v, plus {a}", "sum(v) + {a}", function="len(v) + {a}", operator="sum(v) - {a}"),
    one("size", "v", "length of v, times {a}", "len(v) * {a}", function="sum(v) * {a}", operator="len(v) + {a}"),
    one("highest", "v", "largest of v, minus {a}", "max(v) - {a}", function="min(v) - {a}", operator="max(v) + {a}"),
    one("first", "v", "first {k} of v", "v[:{k}]", slice="v[{k}:]", constant="v[:{k1}]", sign="v[:-{k}]"),
    one("drop", "v", "v without its first {k}", "v[{k}:]", slice="v[:{k}]", constant="v[{k1}:]"),
    one("last", "v", "last {k} of v", "v[-{k}:]", sign="v[{k}:]", slice="v[:-{k}]"),
    one("top", "v", "{k} largest of v, sorted", "sorted(v)[-{k}:]", sign="sorted(v)[{k}:]", slice="sorted(v)[:{k}]"),
    one("back", "v", "v reversed, then {a}", "v[::-1] + [{a}]", order="v + [{a}]", swap="[{a}] + v[::-1]"),
    one("front", "v", "{a}, then v", "[{a}] + v", swap="v + [{a}]", constant="[{a1}] + v"),
    one("shift", "v", "each of v plus {a}", "[i + {a} for i in v]", operator="[i - {a} for i in v]", constant="[i + {a1} for i in v]"),
    one("scale", "v", "each of v times {a}", "[i * {a} for i in v]", operator="[i + {a} for i in v]", swap="[{a} for i in v]"),
    one("over", "v", "those of v above {a}", "[i for i in v if i > {a}]", compare="[i for i in v if i < {a}]", boundary="[i for i in v if i >= {a}]"),
    one("under", "v", "how many of v are below {a}", "sum(i < {a} for i in v)", compare="sum(i > {a} for i in v)", boundary="sum(i <= {a} for i in v)"),
    one("others", "v", "sum of those of v that are not {a}", "sum(i for i in v if i != {a})", negation="sum(i for i in v if i == {a})", compare="sum(i for i in v if i > {a})"),
    one("all", "v", "are all of v above {a}", "all(i > {a} for i in v)", function="any(i > {a} for i in v)", compare="all(i < {a} for i in v)", boundary="all(i >= {a} for i in v)"),
    one("any", "v", "is any of v equal to {a}", "any(i == {a} for i in v)", function="all(i == {a} for i in v)", negation="any(i != {a} for i in v)"),
    one("count", "v", "how often {a} is in v, plus {b}", "v.count({a}) + {b}", swap="v.count({b}) + {a}", operator="v.count({a}) - {b}"),
    one("except", "v, x", "those of v that are not x", "[i for i in v if i != x]", negation="[i for i in v if i == x]", compare="[i for i in v if i > x]"),
    many("find", "v", "first of v above {a}, else {b}", "for i in v:", "    if i > {a}:", "        return i", "return {b}", compare=(1, "if i < {a}:"), boundary=(1, "if i >= {a}:"), constant=(3, "return {b1}")),
)  # fmt: skip

_STRINGS = (
    one("append", "s", "s, then {q}", "s + {q}", swap="{q} + s", variable="s + s"),
    one("upper", "s", "s in upper case, then {q}", "s.upper() + {q}", function="s.lower() + {q}", swap="{q} + s.upper()"),
    one("tail", "s", "s without its first {k}", "s[{k}:]", slice="s[:{k}]", constant="s[{k1}:]", sign="s[-{k}:]"),
    one("replace", "s", "s with {q} for {r}", "s.replace({r}, {q})", swap="s.replace({q}, {r})", variable="s.replace({r}, {r})"),
    one("starts", "s", "does s start with {q}", "s.startswith({q})", function="s.endswith({q})", negation="not s.startswith({q})"),
    one("absent", "s", "is {q} missing in s", "{q} not in s", negation="{q} in s", variable="{r} not in s"),
    one("letters", "s", "how often {q} is in s, plus {a}", "s.count({q}) + {a}", function="s.find({q}) + {a}", operator="s.count({q}) - {a}"),
    one("long", "s", "is s longer than {k}", "len(s) > {k}", compare="len(s) < {k}", boundary="len(s) >= {k}"),
    one("join", "s, t", "s, then t, then {q}", "s + t + {q}", swap="t + s + {q}", variable="s + s + {q}"),
)  # fmt: skip

CALLS: tuple[Rule, ...] = (
    one("call_plus", "x", "{g} of x, plus {a}", "{g}(x) + {a}", operator="{g}(x) - {a}", function="x + {a}"),
    one("call_floor", "x", "{g} of x, but at least {a}", "max({g}(x), {a})", function="min({g}(x), {a})", variable="max(x, {a})"),
    one("call_shift", "x", "{g} of x plus {a}", "{g}(x + {a})", operator="{g}(x - {a})", variable="{g}(x)"),
    one("call_less", "x, y", "x minus {g} of y", "x - {g}(y)", swap="{g}(y) - x", variable="y - {g}(x)"),
    one("call_above", "x", "is {g} of x above {a}", "{g}(x) > {a}", compare="{g}(x) < {a}", boundary="{g}(x) >= {a}"),
    one("call_each", "v", "{g} of each of v", "[{g}(i) for i in v]", order="[{g}(i) for i in v[::-1]]", function="[i for i in v]"),
    one("call_sum", "v", "sum of {g} of each of v", "sum({g}(i) for i in v)", function="max({g}(i) for i in v)", variable="sum(i for i in v)"),
)  # fmt: skip

#: Rules that stand alone; those of CALLS call a function from an integer to an integer (CALLEES).
RULES: tuple[Rule, ...] = _INTEGERS + _LISTS + _STRINGS
_NUMBERS = "plus minus from times divide rest linear grouped square distance floor cap sign reduce repeat"
CALLEES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.kind in _NUMBERS.split())
