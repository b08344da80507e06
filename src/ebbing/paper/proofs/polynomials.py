r"""Exact polynomials in r: forgetting and generalization error of an order of categories, and integer arithmetic.

Notation
    r     = 1 - n/p, the overparameterized ratio, 0 < r < 1
    o     an order: o_i is the category of the task learned at place i = 1..T
    m_k   the number of tasks in category k
    c_ij  = (1 - r)(r^{T-i} - r^{j-i} + r^{T-j}), eq. (cij)

Setting (Sec. "The impact of task ordering"): equal n, sigma and norms, so Terms F1 and F3 of Theorem 1 do not
depend on the order, and d_ij = 1 between categories, 0 within one.

Normalization. F2 = 1/(T-1) sum_{i<j} c_ij d_ij carries the positive factor (1-r)/(T-1), which the paper's tables drop:
    f(o) = (T-1)/(1-r) F2(o) = sum_{i<j, o_i != o_j} (r^{T-i} + r^{T-j} - r^{j-i}).
A table row prints f(o) - f(alternating). With equal counts the terms r^{T-i} + r^{T-j} sum to the same for every order
and cancel; with unequal counts they do not (proof of Prop. order2 needs equal counts there), so they are kept here:
    f(o) = g(o) - sum_{i<j, o_i != o_j} r^{j-i},   g(o) = sum_i r^{T-i} (T - m_{o_i}) = T/(1-r) G2(o).

A polynomial is a tuple of Python ints, lowest power first, no trailing zeros; () is the zero polynomial.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd

Poly = tuple[int, ...]
"""A polynomial with integer coefficients, the lowest power first."""


# --- the polynomials of an order ---------------------------------------------------------------------------------


def generalization_polynomial(order: Sequence) -> Poly:
    """Return g(o) = T/(1-r) G2(o) = sum_i r^{T-i} (T - m_{o_i}): Theorem 1, eq. (general_close), Term G2.

    Args:
        order: The category of the task at each place.

    Returns:
        The polynomial g.

    Example:
        >>> generalization_polynomial("ABB")  # the special task first: 1 + r + 2r^2
        (1, 1, 2)
    """
    T, m = len(order), Counter(order)
    return trim(T - m[k] for k in reversed(order))


def forgetting_polynomial(order: Sequence) -> Poly:
    """Return f(o) = (T-1)/(1-r) F2(o): Theorem 1, eq. (forget_close), Term F2.

    Args:
        order: The category of the task at each place.

    Returns:
        The polynomial f.

    Example:
        >>> forgetting_polynomial("ABAB")  # 2 + 2r + 2r^2 + 2r^3 less the paper's r + r^3 + r + r
        (2, -1, 2, 1)
    """
    T = len(order)
    f = list(generalization_polynomial(order)) + [0] * T
    for i in range(T):
        for j in range(i + 1, T):
            f[j - i] -= order[i] != order[j]
    return trim(f)


def difference(order: Sequence, reference: Sequence) -> Poly:
    """Return f(order) - f(reference), the third column of the paper's tables.

    Args:
        order: The category of the task at each place.
        reference: Another order of the same categories.

    Returns:
        The polynomial; positive where `order` forgets more.

    Raises:
        ValueError: If the orders differ in the sizes of their categories.

    Example:
        >>> difference("AABABB", "ABABAB")  # Table validate_2_groups_6, row 2: r(2 - 2r + 2r^2 - 2r^3)
        (0, 2, -2, 2, -2)
    """
    if sorted(Counter(order).values()) != sorted(Counter(reference).values()):
        raise ValueError(f"order {order!r} and reference {reference!r} must have the same category counts")
    return subtract(forgetting_polynomial(order), forgetting_polynomial(reference))


# --- integer arithmetic ------------------------------------------------------------------------------------------


def trim(coefficients: Iterable[int]) -> Poly:
    """Drop trailing zeros, and convert NumPy integers to Python's.

    Args:
        coefficients: Coefficients, the lowest power first.

    Returns:
        The polynomial.

    Example:
        >>> trim([1, 2, 0])
        (1, 2)
    """
    p = [int(c) for c in coefficients]
    while p and not p[-1]:
        p.pop()
    return tuple(p)


def subtract(p: Poly, q: Poly) -> Poly:
    """Return p - q.

    Args:
        p: A polynomial.
        q: A polynomial.

    Returns:
        The difference.

    Example:
        >>> subtract((1, 2), (1, 0, 3))
        (0, 2, -3)
    """
    n = max(len(p), len(q))
    return trim(a - b for a, b in zip(p + (0,) * (n - len(p)), q + (0,) * (n - len(q)), strict=True))


def sign_at(p: Poly, x: Fraction) -> int:
    """Return the sign of p(x), by Horner's rule on numerator and denominator.

    Args:
        p: A polynomial.
        x: A rational number.

    Returns:
        -1, 0 or 1.

    Example:
        >>> sign_at((-1, 3), Fraction(1, 3))
        0
    """
    value, scale = 0, 1
    for c in reversed(p):
        value = value * x.numerator + c * scale
        scale *= x.denominator
    return (value > 0) - (value < 0)


def derivative(p: Poly) -> Poly:
    """Return the derivative p'.

    Args:
        p: A polynomial.

    Returns:
        The derivative.

    Example:
        >>> derivative((5, 0, 3))
        (0, 6)
    """
    return tuple(k * c for k, c in enumerate(p))[1:]


def primitive_part(p: Poly) -> Poly:
    """Divide a polynomial by the greatest common divisor of its coefficients; signs stay.

    Args:
        p: A polynomial.

    Returns:
        The primitive part.

    Example:
        >>> primitive_part((-4, 6))
        (-2, 3)
    """
    content = gcd(*p)
    return tuple(c // content for c in p) if content > 1 else p


def divide(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Divide p by q up to positive factors.

    Args:
        p: A polynomial.
        q: A polynomial other than zero.

    Returns:
        Quotient and remainder, each multiplied by a positive integer and then made primitive; signs stay.

    Example:
        >>> divide((-1, 0, 1), (1, 1))  # (r^2 - 1) / (r + 1) = r - 1
        ((-1, 1), ())
    """
    quotient, rest, lead = [0] * max(len(p) - len(q) + 1, 0), list(p), q[-1]
    for shift in reversed(range(len(quotient))):
        top = rest[shift + len(q) - 1] * (1 if lead > 0 else -1)
        quotient = [c * abs(lead) for c in quotient]
        quotient[shift] = top
        rest = [c * abs(lead) for c in rest]
        for k, c in enumerate(q):
            rest[shift + k] -= top * c
    return primitive_part(trim(quotient)), primitive_part(trim(rest))


def greatest_common_divisor(p: Poly, q: Poly) -> Poly:
    """Return a primitive greatest common divisor, by Euclid's algorithm.

    Args:
        p: A polynomial.
        q: A polynomial.

    Returns:
        The divisor, of either sign.

    Example:
        >>> greatest_common_divisor((-1, 0, 1), (1, -2, 1))  # r^2 - 1 and (r - 1)^2
        (-1, 1)
    """
    while q:
        p, q = q, divide(p, q)[1]
    return primitive_part(p)


def squarefree(p: Poly) -> Poly:
    """Return the polynomial with the same roots, each once: p / gcd(p, p').

    Args:
        p: A polynomial other than zero.

    Returns:
        The squarefree part, up to a factor.

    Example:
        >>> squarefree((1, -3, 3, -1))  # (1-r)^3
        (-1, 1)
    """
    return divide(p, greatest_common_divisor(p, derivative(p)))[0]


# --- text --------------------------------------------------------------------------------------------------------


def to_latex(p: Poly) -> str:
    r"""Return a polynomial as the paper's tables print it: the lowest power of r in front.

    Args:
        p: A polynomial.

    Returns:
        LaTeX.

    Example:
        >>> print(to_latex((0, 0, 2, -2)))
        r^{2}\left(2-2r\right)
    """
    if not p:
        return "0"
    low = next(k for k, c in enumerate(p) if c)
    alone = low > 0 and len(p) == low + 1  # one term: nothing to put in brackets
    body = ""
    for k, c in enumerate(p[low:]):
        if c:
            size = "" if abs(c) == 1 and (k > 0 or alone) else str(abs(c))
            body += ("-" if c < 0 else "+" if body else "") + size + _power(k)
    return body + _power(low) if low == 0 or alone else rf"{_power(low)}\left({body}\right)"


def _power(k: int) -> str:
    return "" if k == 0 else "r" if k == 1 else f"r^{{{k}}}"


def to_text(p: Poly) -> str:
    """Return `to_latex` in plain characters.

    Args:
        p: A polynomial.

    Returns:
        The text.

    Example:
        >>> to_text((0, 1, 0, -1))
        'r(1-r^2)'
    """
    return to_latex(p).replace(r"\left", "").replace(r"\right", "").replace("{", "").replace("}", "")
