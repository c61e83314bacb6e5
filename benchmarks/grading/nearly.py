"""What the tests of HumanEval+ and MBPP+ use of numpy, in plain Python: the judge has the standard library only.

Its source is a part of the tests' setup, where ``np`` is the class below. Other names of numpy are an AttributeError.
"""

from typing import Any


class np:  # noqa: N801 - the name that tests use
    """Closeness as numpy defines it: ``|a - b| <= atol + rtol * |b|``, element by element."""

    ndarray = float32 = float64 = type("Absent", (), {})  # what no plain value is an instance of

    @staticmethod
    def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(np.allclose(x, y, rtol, atol) for x, y in zip(a, b, strict=True))
        if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
            many, one = (a, b) if isinstance(a, (list, tuple)) else (b, a)
            return all(np.allclose(x, one, rtol, atol) if many is a else np.allclose(one, x, rtol, atol) for x in many)
        if not (isinstance(a, (int, float, complex)) and isinstance(b, (int, float, complex))):
            raise TypeError(f"{type(a).__name__} and {type(b).__name__} are not numbers")
        return a == b or abs(a - b) <= atol + rtol * abs(b) < float("inf")

    isclose = allclose

    class testing:  # noqa: N801
        @staticmethod
        def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-07, atol: float = 0) -> None:
            assert np.allclose(actual, desired, rtol, atol), f"{actual!r} is not close to {desired!r}"
