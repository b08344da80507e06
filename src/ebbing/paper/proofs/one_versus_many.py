"""The best place of one special task among T - 1 equal ones (Special case I, Prop. order1).

Notation
    i*   the place of the special task, 1..T
    f_i  = (T-1)/(1-r) F2 with the special task at place i (`polynomials.forgetting_polynomial`)

Closed form (proof of Prop. order1, last display, divided by 1 - r):
    f_i = (T-2) r^{T-i} + 1 - (1 - r^{T-i}) (r + ... + r^{i-1}).
With alpha = r^{T-i} this is (A alpha + r^T / alpha) / (1-r) + const, A = (1-r)(T-2) + r, least at real i for
    alpha = sqrt(r^T / A),   A = T-2-(T-3) r = 1 + (T-3)(1-r).
(1) The paper prints T-2-(T-1) r under the root, negative for r > (T-2)/(T-1); its own display above gives T-2-(T-3) r.
(2) That alpha increases with r does not yet make i* monotone: i = T - log(alpha)/log(r), and r^{T/2} increases too.

Proof of Prop. order1 for every T >= 4. With e = T-1-2i the closed form gives
    f_{i+1} - f_i = r^i (r^e A - 1),
and for e > 0, r^e A - 1 = (1-r) q_e(r) with q_e(r) = (T-3) r^e - (1 + r + ... + r^{e-1}).
- i >= (T-1)/2, so e <= 0: r^e A - 1 >= A - 1 > 0, later is worse. Hence i* <= T/2.
- e > 0: q_e changes sign once in its coefficients, so it has one positive root (Descartes); as q_e(1) = T-3-e, the root
  is below 1 if and only if e < T-3. For i = 1, e = T-3: q_e < 0 on (0, 1), place 2 beats place 1. Hence i* >= 2.
- 2 <= i < (T-1)/2: one breakpoint rho_i in (0, 1), and place i+1 beats place i exactly for r < rho_i. As r^e A falls
  with e, which falls with i, 1 > rho_2 > rho_3 > ... > 0.
So i* = 2 + #{i : r < rho_i} takes every value 2, ..., floor(T/2), and does not decrease with n/p = 1 - r; at r = rho_i
the places i and i+1 tie. The last breakpoint is 1/(T-3) for even T. In closed form, i* is the integer nearest to
    T/2 - log(A) / (2 log(1/r)).
For T = 3 the places 1 and 2 tie at every r, for T = 2 both places do; there the proposition's range 2..T/2 is empty.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import log

from ebbing.paper.proofs.polynomials import Poly, forgetting_polynomial, generalization_polynomial, sign_at, trim
from ebbing.paper.proofs.roots import Root, isolate_roots


def _check(T: int, place: int = 1) -> None:
    if T < 2 or not 1 <= place <= T:
        raise ValueError(f"T={T}, place={place}: give T >= 2 and a place between 1 and T")


def closed_form(T: int, place: int) -> Poly:
    """Return f_i, the forgetting with the special task at place i, up to the factor (1-r)/(T-1).

    The closed form stands at the end of the proof of Prop. order1.

    Args:
        T: The number of tasks, at least 2.
        place: The place i of the special task, 1 to T.

    Returns:
        The polynomial f_i.

    Example:
        >>> closed_form(4, 2)  # 1 - r + 2r^2 + r^3
        (1, -1, 2, 1)
    """
    _check(T, place)
    f = [1] + [0] * (T + 1)
    f[T - place] += T - 2  # (T-2) r^{T-i}
    for k in range(1, place):
        f[k] -= 1  # - r^k
        f[T - place + k] += 1  # + r^{T-i} r^k
    return trim(f)


def step_polynomial(T: int, place: int) -> Poly:
    """Return q_e with e = T-1-2i > 0, which on (0, 1) has the sign of f_{i+1} - f_i.

    Args:
        T: The number of tasks, at least 2.
        place: The place i, below (T-1)/2.

    Returns:
        The polynomial q_e.

    Raises:
        ValueError: If the place is not below (T-1)/2: from there on a later place is always worse.

    Example:
        >>> step_polynomial(6, 2)  # 3r - 1: place 3 is better than 2 for r < 1/3
        (-1, 3)
    """
    _check(T, place)
    e = T - 1 - 2 * place
    if e <= 0:
        raise ValueError(
            f"T={T}, place={place}: give a place below (T-1)/2; from there on a later place is always worse"
        )
    return (-1,) * e + (T - 3,)


def best_real_place(T: int, r: float) -> float:
    """Return the real i of least forgetting, T/2 - log(T-2-(T-3) r) / (2 log(1/r)), from the corrected alpha.

    Args:
        T: The number of tasks, at least 2.
        r: The ratio 1 - n/p, between 0 and 1.

    Returns:
        The place as a real number.

    Raises:
        ValueError: If r is not between 0 and 1.

    Example:
        >>> best_real_place(6, 0.25)
        2.574...
    """
    _check(T)
    if not 0 < r < 1:
        raise ValueError(f"r={r}: the overparameterized ratio r = 1 - n/p lies strictly between 0 and 1")
    return T / 2 - log(T - 2 - (T - 3) * r) / (2 * log(1 / r))


def best_places(T: int, r: Fraction | float) -> tuple[int, ...]:
    """Return every place of least forgetting, exactly.

    Args:
        T: The number of tasks, at least 2.
        r: The ratio 1 - n/p, between 0 and 1; a float stands for exactly its binary value.

    Returns:
        The place, or the two places that tie at a breakpoint.

    Raises:
        ValueError: If r is not between 0 and 1.

    Example:
        >>> best_places(6, 0.25), best_places(6, Fraction(1, 3)), best_places(6, 0.9)
        ((3,), (2, 3), (2,))
    """
    _check(T)
    r = Fraction(r)
    if not 0 < r < 1:
        raise ValueError(f"r={r}: the overparameterized ratio r = 1 - n/p lies strictly between 0 and 1")
    if T <= 3:
        return (1, 2)
    best = 2
    while T - 1 - 2 * best > 0 and sign_at(step_polynomial(T, best), r) < 0:
        best += 1
    tie = T - 1 - 2 * best > 0 and sign_at(step_polynomial(T, best), r) == 0
    return (best, best + 1) if tie else (best,)


def breakpoints(T: int) -> tuple[Root, ...]:
    """Return the r where the best place changes: rho_2 > rho_3 > ...

    Args:
        T: The number of tasks, at least 2.

    Returns:
        For i = 2, 3, ...: the r above which place i is better, and below which place i + 1 is better.

    Example:
        >>> [str(rho) for rho in breakpoints(10)]
        ['0.897394', '0.671907', '1/7']
    """
    _check(T)
    return tuple(isolate_roots(step_polynomial(T, i))[0] for i in range(2, T // 2) if 2 * i < T - 1)


def generalization_places(T: int) -> tuple[int, ...]:
    """Return the places of least generalization error, which are the same for every r.

    With the special task at place i, Term G2 is const + (T-2) r^{T-i} up to a factor, which increases with i when
    T > 2: the first place is best, and for T = 2 both are.

    Args:
        T: The number of tasks, at least 2.

    Returns:
        The places.

    Example:
        >>> generalization_places(2), generalization_places(6)
        ((1, 2), (1,))
    """
    _check(T)
    g = [generalization_polynomial("B" * (i - 1) + "A" + "B" * (T - i)) for i in range(1, T + 1)]
    return tuple(i + 1 for i in range(T) if g[i] == g[0])


@dataclass(frozen=True)
class PropositionOrder1:
    """What holds of Prop. order1 at one T.

    Attributes:
        T: The number of tasks.
        places: The best places in order of decreasing r (increasing n/p); for T = 2, 3 they tie at every r.
        changes: The r at which the best place changes.
        every_place: Whether the best places are the numbers from 2 to floor(T/2).
        monotone: Whether the best place does not decrease with n/p.
        differs: Whether no place is best for both forgetting and generalization error, at any r.
    """

    T: int
    places: tuple[int, ...]
    changes: tuple[Root, ...]
    every_place: bool
    monotone: bool
    differs: bool


def check_proposition_order1(T: int) -> PropositionOrder1:
    """Decide Prop. order1 at one T, for every 0 < r < 1.

    Between two breakpoints the best place does not change, so one r decides. At this r the forgetting of all T places
    is compared by the polynomials of the orders, independently of the closed form.

    Args:
        T: The number of tasks, at least 2.

    Returns:
        Which parts of the proposition hold.

    Example:
        >>> p = check_proposition_order1(8)
        >>> p.places, [str(rho) for rho in p.changes], p.every_place, p.monotone, p.differs
        ((2, 3, 4), ['0.782373', '1/5'], True, True, True)
        >>> p = check_proposition_order1(3)
        >>> p.places, p.differs  # places 1 and 2 tie at every r, and 1 is best for G
        ((1, 2), False)
    """
    changes = breakpoints(T)
    ordered = sorted(changes, key=cmp_to_key(Root.compare), reverse=True)
    ends = [Fraction(1), *(end for rho in ordered for end in (rho.hi, rho.lo)), Fraction(0)]
    least = [_least(T, (upper + lower) / 2) for upper, lower in zip(ends[::2], ends[1::2], strict=True)]
    places = tuple(place for found in least for place in found)
    every_place = sorted(places) == list(range(2, T // 2 + 1))
    monotone = all(a <= b for a, b in pairwise(places))
    return PropositionOrder1(T, places, changes, every_place, monotone, not set(places) & set(generalization_places(T)))


def _least(T: int, r: Fraction) -> tuple[int, ...]:
    """Return the places of least forgetting at r, from the polynomials of the orders."""
    orders = ("B" * (i - 1) + "A" + "B" * (T - i) for i in range(1, T + 1))
    values = [sum(c * r**k for k, c in enumerate(forgetting_polynomial(order))) for order in orders]
    return tuple(i + 1 for i, value in enumerate(values) if value == min(values))
