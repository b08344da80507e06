"""The bounds of `_bounds`, compiled, for the m unplaced tasks of a set and the last m places.

`minorant` gives a linear function below the costs of all arrangements, which the exact search needs once per set. It
rests on a linear assignment problem, solved by shortest augmenting paths (`solve_lap`).
"""

from functools import lru_cache

import numpy as np

from ebbing.order._assignment import Floats
from ebbing.order._bounds import projected_eigenvectors
from ebbing.order._compilation import compiled

_SUBGRADIENTS = 12  # in the compiled version, where the next set starts from the last one's u
_FRANK_WOLFE = 8

_projected_eigenvectors = compiled(projected_eigenvectors)


@lru_cache(maxsize=256)
def last_places(k1: float, rho: float, m: int) -> tuple[float, Floats, Floats, Floats]:
    """Return for the last m places the share beta of k_1, A without it (m, m), and its projected eigendecomposition."""
    beta = (1 - rho) ** 2 * k1
    k = np.concatenate(([0.0], k1 * rho ** np.arange(m)))[:m]
    k[1:2] -= beta
    A = -0.5 * k[np.abs(np.subtract.outer(np.arange(m), np.arange(m)))]
    return beta, A, *projected_eigenvectors(A)


@compiled
def minorant(tasks, task, H, bounding, lap):
    """Return M (m, m), c: in any arrangement the unplaced tasks' linear and mutual costs are >= c + sum_x M[x, place].

    `task` (m,) are their types; it is tightest near H (K,). `bounding` are the places, and u (K,), which is improved.
    """
    linear, distance, _, rho = tasks
    places, u = bounding
    beta, m, j = places[0], len(task), linear.shape[1] - len(task)
    L, B, C = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    for x in range(m):
        for q in range(m):
            L[x, q] = linear[task[x], j + q]
            B[x, q] = distance[task[x], task[q]]
    if m == 1:
        return L, 0.0
    if beta > 0:
        inner, end = _path(B, beta, task, u)
        for x in range(m):
            for q in range(m):
                L[x, q] += end[x] if q in (0, m - 1) else inner[x]
    for x in range(m):
        for q in range(m):
            C[x, q] = L[x, q] - rho**q * H[task[x]]
    Z, c = _frank_wolfe(B, C, places, lap)
    for x in range(m):
        for q in range(m):
            L[x, q] += 2 * Z[x, q]
    return L, c


@compiled
def _with_eigenvalues(vectors, values):
    """Return the matrix with these eigenvalues (m-1,) on these vectors (m, m-1)."""
    m, n = vectors.shape
    out = np.zeros((m, m))
    for x in range(m):
        for y in range(m):
            for i in range(n):
                out[x, y] += vectors[x, i] * values[i] * vectors[y, i]
    return out


@compiled
def _frank_wolfe(B, L, places, lap):
    """Return q'/2 (m, m) at a nearly best point Z of <L, Z> + q(Z), and sum s + sum t - q(Z)."""
    _, A, a, a_vectors = places
    m = len(B)
    b, vectors = _projected_eigenvectors(B)
    s, t = np.zeros(m - 1), np.empty(m - 1)
    for i in range(1, m - 1):
        s[i] = s[i - 1] + 0.5 * (b[i] - b[i - 1]) * (a[m - 1 - i] + a[m - 2 - i])
    for i in range(m - 1):
        t[m - 2 - i] = b[i] * a[m - 2 - i] - s[i]
    S, R = _with_eigenvalues(vectors, s), _with_eigenvalues(a_vectors, t)

    Z, Zy, best_Z, C = np.empty((m, m)), np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    for x in range(m):
        for p in range(m):
            Z[x, p] = B[x].sum() * A[p].sum() / m  # at the flat point
    q, linear = Z.sum() / m, L.sum() / m
    best, best_q = -np.inf, 0.0
    for step in range(_FRANK_WOLFE + 1):
        for x in range(m):
            for p in range(m):
                C[x, p] = L[x, p] + 2 * Z[x, p]
        below = solve_lap(C, lap) - q
        if below > best:
            best, best_q = below, q
            best_Z[:] = Z
        if step == _FRANK_WOLFE:
            break
        at, place = lap[2], lap[3]  # task in each place, place of each task
        qy, qxy, linear_y = 0.0, 0.0, 0.0
        for x in range(m):
            for p in range(m):
                Zy[x, p] = -S[x, at[p]] - R[place[x], p]
            for y in range(m):
                for p in range(m):
                    Zy[x, p] += B[x, y] * A[place[y], p]
            qy += Zy[x, place[x]]
            qxy += Z[x, place[x]]
            linear_y += L[x, place[x]]
        bend, slope = qy - 2 * qxy + q, 2 * (qxy - q) + linear_y - linear
        if slope >= 0:
            break
        w = min(1.0, -slope / (2 * bend)) if bend > 0 else 1.0
        for x in range(m):
            for p in range(m):
                Z[x, p] += w * (Zy[x, p] - Z[x, p])
        q = (1 - w) ** 2 * q + 2 * w * (1 - w) * qxy + w * w * qy
        linear += w * (linear_y - linear)
    return best_Z, s.sum() + t.sum() - best_q


@compiled
def _path(B, beta, task, u):
    """Return the costs beta e_x of an inner and of an end place (m,) each; improve `u` in place."""
    m = len(B)
    inner, end = np.zeros(m), np.zeros(m)
    if m == 2:
        end[:] = -0.5 * beta * B[0, 1]
        return inner, end
    v, best_v, ascent = np.empty(m), np.empty(m), np.empty(m)
    first, both = np.empty(m), np.empty(m)
    scale, best = 0.0, -np.inf
    for x in range(m):
        v[x] = u[task[x]]
        for y in range(m):
            scale += abs(B[x, y])
    for step in range(_SUBGRADIENTS + 1):
        ascent[:] = 1.0
        total = 0.0
        for x in range(m):
            one, two, at_one, at_two = -np.inf, -np.inf, 0, 0
            for y in range(m):
                if y != x:
                    g = B[x, y] + v[y]
                    if g > one:
                        two, at_two = one, at_one
                        one, at_one = g, y
                    elif g > two:
                        two, at_two = g, y
            first[x], both[x] = 0.5 * (v[x] - one), v[x] - 0.5 * (one + two)
            total += both[x]
            ascent[at_one] -= 0.5
            ascent[at_two] -= 0.5
        if total > best:
            best = total
            best_v[:] = v
            inner[:] = beta * both
            end[:] = beta * first
        norm = np.sqrt(np.sum(ascent**2))
        if norm == 0:
            break
        v += 0.5 * scale / m**2 / (1 + 0.25 * step) / norm * ascent
    for x in range(m):
        u[task[x]] = best_v[x]
    return inner, end


@compiled
def lap_workspace(m):
    """Return potentials of rows and columns (kept between calls: a warm start), the matching both ways, and scratch."""
    return (
        np.zeros(m), np.zeros(m), np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m, np.int64),
        np.empty(m, np.bool_),
    )  # fmt: skip


@compiled
def solve_lap(C, lap):
    """Return the least sum of C over assignments, by shortest augmenting paths from the last column potentials."""
    row, column, at, place = lap[:4]
    m = len(C)
    column -= column[0]  # keeps the potentials from drifting
    at[:] = -1
    place[:] = -1
    for x in range(m):  # the rows' potentials that fit, and as much of a matching as they give
        least, q_least = np.inf, 0
        for q in range(m):
            c = C[x, q] - column[q]
            if c < least:
                least, q_least = c, q
        row[x] = least
        if at[q_least] < 0:
            at[q_least], place[x] = x, q_least
    for x in range(m):
        if place[x] < 0:
            _augment(C, lap, x)
    return row.sum() + column.sum()


@compiled
def _augment(C, lap, start):
    """Match row `start` too, along a shortest path of reduced costs (Dijkstra)."""
    row, column, at, place, reach, via, done = lap
    m = len(C)
    reach[:] = np.inf
    done[:] = False
    x, length, q = start, 0.0, -1
    while x >= 0:
        least, q = np.inf, -1
        for p in range(m):
            if not done[p]:
                c = length + C[x, p] - row[x] - column[p]
                if c < reach[p]:
                    reach[p], via[p] = c, x
                if reach[p] < least:
                    least, q = reach[p], p
        if q < 0:  # costs that are not numbers: there is no path
            row[:] = np.nan
            return
        length = least
        done[q] = True
        x = at[q]
    row[start] += length
    for p in range(m):
        if done[p] and p != q:
            row[at[p]] += length - reach[p]
            column[p] -= length - reach[p]
    x = -1
    while x != start:
        x = via[q]
        at[q] = x
        q, place[x] = place[x], q
