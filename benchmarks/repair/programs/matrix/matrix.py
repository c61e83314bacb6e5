"""Matrices as lists of rows of numbers."""


def shape(m):
    """``(rows, columns)``. ValueError if there is no row, no column, or the rows differ in length."""
    if not m or not m[0]:
        raise ValueError("empty matrix")
    if any(len(row) != len(m[0]) for row in m):
        raise ValueError("ragged matrix")
    return len(m), len(m[0])


def identity(n):
    """The n x n identity."""
    return [[int(i == j) for j in range(n)] for i in range(n)]


def transpose(m):
    """Rows and columns exchanged."""
    rows, columns = shape(m)
    return [[m[i][j] for i in range(rows)] for j in range(columns)]


def add(a, b):
    """The sum, element by element. ValueError if the shapes differ."""
    if shape(a) != shape(b):
        raise ValueError("shapes differ")
    return [[x + y for x, y in zip(left, right)] for left, right in zip(a, b)]


def multiply(a, b):
    """The matrix product a b. ValueError if a has not as many columns as b has rows."""
    rows, inner = shape(a)
    inner_b, columns = shape(b)
    if inner != inner_b:
        raise ValueError("shapes do not fit")
    return [[sum(a[i][k] * b[k][j] for k in range(inner)) for j in range(columns)] for i in range(rows)]


def power(m, n):
    """m multiplied with itself, n factors; the identity for n = 0. ValueError if m is not square or n < 0."""
    rows, columns = shape(m)
    if rows != columns:
        raise ValueError("not square")
    if n < 0:
        raise ValueError("negative power")
    result = identity(rows)
    while n > 0:
        if n % 2 == 1:
            result = multiply(result, m)
        m = multiply(m, m)
        n //= 2
    return result


def determinant(m):
    """The determinant, by expansion along the first row. ValueError if m is not square."""
    rows, columns = shape(m)
    if rows != columns:
        raise ValueError("not square")
    if rows == 1:
        return m[0][0]
    result = 0
    for j in range(columns):
        minor = [row[:j] + row[j + 1 :] for row in m[1:]]
        result += (-1) ** j * m[0][j] * determinant(minor)
    return result
