"""Exact fractions."""


def gcd(a, b):
    """The greatest common divisor, not negative; 0 of two zeros."""
    while b:
        a, b = b, a % b
    return abs(a)


class Rational:
    """The fraction ``top / bottom`` in lowest terms, ``bottom`` above 0. ZeroDivisionError if it is given as 0."""

    def __init__(self, top, bottom=1):
        if bottom == 0:
            raise ZeroDivisionError("denominator is 0")
        if bottom < 0:
            top, bottom = -top, -bottom
        common = gcd(top, bottom)
        self.top = top // common
        self.bottom = bottom // common

    @classmethod
    def parse(cls, text):
        """The fraction written as "3", "-3/4" or "1.25". ValueError otherwise."""
        if "." in text:
            whole, digits = text.split(".")
            return cls(int(whole + digits), 10 ** len(digits))
        if "/" in text:
            top, bottom = text.split("/")
            return cls(int(top), int(bottom))
        return cls(int(text))

    def __repr__(self):
        return f"{self.top}" if self.bottom == 1 else f"{self.top}/{self.bottom}"

    def __eq__(self, other):
        """True if the values are equal."""
        return self.top == other.top and self.bottom == other.bottom

    def __lt__(self, other):
        """True if this one is smaller."""
        return self.top * other.bottom < other.top * self.bottom

    def __add__(self, other):
        """The sum."""
        return Rational(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __sub__(self, other):
        """The difference."""
        return self + Rational(-other.top, other.bottom)

    def __mul__(self, other):
        """The product."""
        return Rational(self.top * other.top, self.bottom * other.bottom)

    def __truediv__(self, other):
        """The quotient. ZeroDivisionError by 0."""
        return Rational(self.top * other.bottom, self.bottom * other.top)

    def floor(self):
        """The largest integer not above."""
        return self.top // self.bottom

    def round(self):
        """The nearest integer; of two equally near, the larger."""
        return (2 * self.top + self.bottom) // (2 * self.bottom)

    def continued(self):
        """The terms a, b, c, ... of a + 1/(b + 1/(c + ...)): each the floor of what is left, until it is exact."""
        terms = []
        rest = self
        while True:
            terms.append(rest.floor())
            rest = rest - Rational(terms[-1])
            if rest.top == 0:
                return terms
            rest = Rational(1) / rest
