"""Polynomials with integer coefficients: ``[c0, c1, c2]`` is c0 + c1 x + c2 x^2; ``[]`` is 0.

Results have no zeros at the end.
"""


def trim(p):
    """The polynomial without zeros at the end."""
    end = len(p)
    while end > 0 and p[end - 1] == 0:
        end -= 1
    return p[:end]


def degree(p):
    """The highest power with a coefficient that is not 0; -1 for the polynomial 0."""
    return len(trim(p)) - 1


def evaluate(p, x):
    """The value at x."""
    result = 0
    for coefficient in reversed(p):
        result = result * x + coefficient
    return result


def add(p, q):
    """The sum."""
    if len(p) < len(q):
        p, q = q, p
    total = list(p)
    for power, coefficient in enumerate(q):
        total[power] += coefficient
    return trim(total)


def multiply(p, q):
    """The product."""
    product = [0] * (len(p) + len(q))
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return trim(product)


def derivative(p):
    """The derivative."""
    return trim([power * coefficient for power, coefficient in enumerate(p)][1:])


def divide(p, q):
    """Quotient and remainder by ``q``. ValueError "not monic" unless the highest coefficient of q is 1."""
    q = trim(q)
    if not q or q[-1] != 1:
        raise ValueError("not monic")
    rest = trim(p)
    quotient = [0] * max(0, len(rest) - len(q) + 1)
    while len(rest) >= len(q):
        shift = len(rest) - len(q)
        factor = rest[-1]
        quotient[shift] = factor
        rest = add(rest, [0] * shift + [-factor * c for c in q])
    return quotient, rest


def show(p):
    """Text, the highest power first: ``3x^2 - x + 5``. Zeros and factors of 1 are not written; ``0`` for 0."""
    text = ""
    for power in range(degree(p), -1, -1):
        c = p[power]
        if c == 0:
            continue
        sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
        number = "" if abs(c) == 1 and power > 0 else str(abs(c))
        variable = "" if power == 0 else "x" if power == 1 else f"x^{power}"
        text += sign + number + variable
    return text or "0"
