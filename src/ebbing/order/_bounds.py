"""Lower bounds on V over all orders: a path bound for neighbors, a convex quadratic for the rest.

With X[x, p] = 1 if task x takes place p, A = -1/2 k_|p-q| (zero diagonal) and B = d,

    V = <linear, X> + tr(B X A X').

1. *Path.* A share beta of k_1 is taken out of A. Neighbors alone cost  -beta sum d(pi_j, pi_{j+1}); as
   sum (u_a + u_b) over neighbors is linear in X, for any u
       -beta sum d  >=  sum_x beta e_x,   e_x = 2 u_x - 1/2 (the two largest d_xy + u_x + u_y)   (one, at an end).
   The best u gives the fractional 2-matching bound; it rises by subgradients.
2. *Convex.* Let a_i, b_i be the eigenvalues of A and B on vectors of zero sum. Choose s, t with s_i + t_j <= b_i a_j,
   equality along the pairing of least product, and S, R with these eigenvalues on the eigenvectors of B and A. Then
       q(X) = tr(B X A X') - tr(S X X') - tr(X R X')
   is convex on matrices of unit row and column sums, where  V = <linear, X> + q(X) + sum s + sum t  for permutations
   (projection bound: Hadley, Rendl, Wolkowicz 1992; with the quadratic program: Anstreicher, Brixius 2001).
3. *Frank-Wolfe.* At any such Z,  q(X) >= q(Z) + <q'(Z), X - Z>, so one linear assignment bounds all orders; steps
   toward its solution improve Z.

For the paper's tasks B has few negative eigenvalues (their dimension), which makes 2 tight when memory is long (r near
1); 1 is tight when memory is short. beta = (1 - rho)^2 k_1 is a rule of thumb read off one random problem (T = 16, six
values of rho, beta / k_1 in steps of 0.2): any beta is valid. `benchmarks/bench_order.py` sets the gap beside that of
the Gilmore-Lawler bound, which is much larger for r >= 0.3 and comes near only as r -> 0.

`convex_bound` is the plain version for one problem of any size; `_minorant.minorant` does the same, compiled, for the
unplaced tasks of a set inside the exact search; they are tested against each other.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ebbing.order._assignment import Assignment, Floats
from ebbing.order._clock import SOON, Clock
from ebbing.order._quick_bound import eigh_seconds, quick_bound

_PATH_STEPS = 100  # subgradients, in the plain version
_STAGES = 6  # two eigendecompositions and an assignment take about this many times one eigendecomposition


@dataclass(frozen=True)
class Bound:
    """A lower bound: no order has V below `value`."""

    value: float
    steps: int  # of Frank-Wolfe
    name: str = "convex lower bound"


def convex_bound_seconds(T: int) -> float:
    """Return about how long one Frank-Wolfe step takes here and now, with all that precedes it."""
    return _STAGES * eigh_seconds(T)


def convex_bound(problem: Assignment, *, steps: int = 200, seconds: float = inf) -> Bound:
    """Return the best bound over `steps` Frank-Wolfe steps, or as many as fit in the time.

    If not even one fits into the time and a second, the weaker `quick_bound` is returned.

    >>> line = Assignment(np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> round(convex_bound(line).value, 2)      # the best order has -2.75
    -2.79
    """
    from scipy.optimize import linear_sum_assignment  # takes half a second to load, before the clock starts

    clock = Clock(seconds)
    T, k = problem.T, problem.kernel
    if T == 1:
        return Bound(float(problem.linear[0, 0]), 0)
    if convex_bound_seconds(T) > clock.left + SOON / 2:
        return Bound(quick_bound(problem), 0, "quick lower bound")
    sign = 1.0 if k[1] >= 0 else -1.0
    B, k = sign * problem.distance, sign * k
    rho = min(1.0, max(0.0, k[2] / k[1])) if T > 2 and k[1] else 0.0
    beta = (1 - rho) ** 2 * k[1]
    k = np.concatenate(([0.0, k[1] - beta], k[2:]))
    A = -0.5 * k[np.abs(np.subtract.outer(np.arange(T), np.arange(T)))]  # (T, T)
    L = problem.linear + beta * _path_costs(B, clock)  # (T, T)
    S, R, constant = _convexify(B, A)

    Z = np.full((T, T), B.sum(1)[:, None] * A.sum(0) / T)  # q'(X)/2 at the flat X; S and R vanish there
    q, linear = Z.mean() * T, L.sum() / T  # q(X), <L, X>
    best, step = -inf, 0
    for step in range(steps + 1):
        rows, p = linear_sum_assignment(C := L + 2 * Z)
        best = max(best, float(C[rows, p].sum() - q + constant))
        if step == steps or clock.late:
            break
        Zy = B @ A[p] - S[:, np.argsort(p)] - R[p]  # at the permutation Y: task x in place p_x
        qy, qxy, linear_y = Zy[rows, p].sum(), Z[rows, p].sum(), L[rows, p].sum()
        bend, slope = qy - 2 * qxy + q, 2 * (qxy - q) + linear_y - linear
        if slope >= 0:  # X is optimal
            break
        a = min(1.0, -slope / (2 * bend)) if bend > 0 else 1.0
        Z += a * (Zy - Z)
        q = (1 - a) ** 2 * q + 2 * a * (1 - a) * qxy + a * a * qy
        linear += a * (linear_y - linear)
    return Bound(best, step)


def _path_costs(B: Floats, clock: Clock) -> Floats:
    """Return e[x, p] of the module's part 1: the cost of task x's share in the path, in each place (T, T)."""
    T = len(B)
    off = B + np.diag(np.full(T, -inf))
    u, best = -0.75 * B.sum(1) / T, -inf
    costs = np.empty((T, T))
    if T == 2:
        return np.full((2, 2), -0.5 * B[0, 1])
    for step in range(_PATH_STEPS):
        shifted = off + u  # (T, T): d_xy + u_y
        two = np.argpartition(-shifted, 1, axis=1)[:, :2]  # (T, 2) the best neighbors
        top = -np.sort(-np.take_along_axis(shifted, two, axis=1), axis=1)  # (T, 2)
        inner = u - 0.5 * top.sum(1)
        if inner.sum() > best:
            best = inner.sum()
            costs[:] = inner[:, None]
            costs[:, [0, -1]] = 0.5 * (u - top[:, 0])[:, None]
        chosen = np.bincount(two.ravel(), minlength=T)
        ascent = 1 - 0.5 * chosen  # (T,) a task chosen less than twice is worth more
        if not ascent.any() or clock.late:
            break
        u = u + 0.125 * np.sqrt(T) * np.abs(B).mean() / (1 + 0.25 * step) * ascent / np.linalg.norm(ascent)
    return costs


def projected_eigenvectors(A: Floats) -> tuple[Floats, Floats]:
    """Return increasing eigenvalues (m-1,) and eigenvectors (m, m-1) of A on the vectors of zero sum."""
    m = len(A)
    if m < 2:
        return np.zeros(0), np.zeros((m, 0))
    mean = A.sum(1) / m
    lift = 2 * np.abs(A).sum() / m  # makes (1, ..., 1) the last eigenvector, to be dropped
    values, vectors = np.linalg.eigh(A - mean - mean.reshape(m, 1) + mean.sum() / m + lift)
    return values[:-1].copy(), vectors[:, :-1].copy()


def _convexify(B: Floats, A: Floats) -> tuple[Floats, Floats, float]:
    """Return S, R (T, T) and sum s + sum t of the module's part 2."""
    (b, Vb), (a, Va) = projected_eigenvectors(B), projected_eigenvectors(A)
    down = a[::-1]  # least product: increasing b with decreasing a
    s = np.concatenate(([0.0], np.cumsum(np.diff(b) * 0.5 * (down[1:] + down[:-1]))))
    t = (b * down - s)[::-1]
    return (Vb * s) @ Vb.T, (Va * t) @ Va.T, float(s.sum() + t.sum())
