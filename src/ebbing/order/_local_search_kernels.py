"""The compiled loops of `_local_search`: rounds of shaking and descending, moves, fields and values.

`tasks` and `run` are the tuples `_local_search._Tasks` and `_local_search._Run`; fields are l and r, each (T, D).
"""

import numpy as np

from ebbing.order._compilation import compiled

IDLE, PLACE, ASLEEP = 0, 1, 2  # rounds since top improved (-1 before the first descent); where a descent is, or -1
_HEAT = 0.05  # of the typical worsening: how much worse an order the search moves to


@compiled
def run_rounds(tasks, run, draws, i, budget):
    """Shake and descend once per row of `draws` (rounds, 4) from row i on, until the budget of moves is used up.

    Return the rows used so far and whether the run is stale. A round cut short goes on at the next call.
    """
    pi, top, saved, awake, score, state, left, right = run
    T, fields, enough, window = len(pi), (left, right), tasks[7], tasks[8]
    if state[IDLE] < 0:
        budget = _descend(tasks, pi, fields, awake, state, budget)
        if state[PLACE] >= 0:
            return i, False
        score[:2] = value(tasks, pi, fields)
        top[:] = pi
        state[IDLE] = 0
    while i < len(draws) and budget > 0:
        if state[PLACE] < 0:
            saved[:] = pi
            _shake(pi, awake, draws[i], window)
        budget = _descend(tasks, pi, fields, awake, state, budget)
        if state[PLACE] >= 0:
            return i, False
        i += 1
        new = value(tasks, pi, fields)
        state[IDLE] += 1
        if new < score[1] - enough:
            score[:2], state[IDLE] = new, 0
            top[:] = pi
            continue
        if new > score[0] + enough:
            score[2] += 0.05 * (new - score[0] - score[2])
        if new < score[0] - _HEAT * score[2] * np.log(1 - draws[i - 1, 3]):
            score[0] = new
        else:
            pi[:] = saved
        if state[IDLE] % (5 * T) == 0:
            pi[:] = top
            score[0] = score[1]
        if state[IDLE] > 100 + 20 * T:
            return i, True
    return i, False


@compiled
def _shake(pi, awake, draw, window):
    """Exchange two neighboring stretches of places, or three tasks anywhere, and wake those nearby."""
    T = len(pi)
    if draw[2] < 0.5:
        longest = max(1, min(T // 2, 25))
        p = int(draw[0] * (T - 1))
        one = min(1 + int(draw[1] * longest), T - 1 - p)
        two = min(1 + int(2 * draw[2] * longest), T - p - one)
        for i in range(one):  # carry the first stretch past the second, its last task first
            move(pi, p + one - 1 - i, p + one + two - 1 - i, True)
        q, o = p + two, min(T - 1, p + one + two)
    else:
        p, q, o = int(draw[0] * T), int(draw[1] * T), int((2 * draw[2] - 1) * T)
        pi[p], pi[q] = pi[q], pi[p]
        pi[q], pi[o] = pi[o], pi[q]
    for place in (p, q, o):
        _wake(pi, awake, place, window)


@compiled
def _wake(pi, awake, p, window):
    """Mark the tasks near place p to be tried again."""
    for q in range(max(0, p - window), min(len(pi), p + window + 1)):
        awake[pi[q]] = True


@compiled
def _descend(tasks, pi, fields, awake, state, budget):
    """Let each waking task make its best move, until all sleep or the budget is used up; return what is left of it."""
    T, enough, window = len(pi), tasks[7], tasks[8]
    if state[PLACE] < 0:
        update(tasks, pi, fields, 0, T - 1)
        state[PLACE], state[ASLEEP] = 0, 0
        budget -= 1
    p, asleep = state[PLACE], state[ASLEEP]
    while asleep < T and budget > 0:
        p = p + 1 if p + 1 < T else 0
        if not awake[pi[p]]:
            asleep += 1
            continue
        awake[pi[p]] = False
        asleep = 0
        budget -= 1
        delta, q, carry = best_move(tasks, pi, fields, p)
        if delta < -enough:
            move(pi, p, q, carry)
            update(tasks, pi, fields, min(p, q), max(p, q))
            _wake(pi, awake, p, window)
            _wake(pi, awake, q, window)
    state[PLACE], state[ASLEEP] = -1 if asleep == T else p, asleep
    return budget


@compiled
def move(pi, p, q, carry):
    """Carry the task in place p to place q, the tasks between closing up; or swap the two."""
    if not carry:
        pi[p], pi[q] = pi[q], pi[p]
        return
    a, step = pi[p], 1 if q > p else -1
    for i in range(p, q, step):
        pi[i] = pi[i + step]
    pi[q] = a


@compiled
def update(tasks, pi, fields, lo, hi):
    """Update l_p and r_p of all places after changes between places lo and hi."""
    signed, k1, rho = tasks[2], tasks[5], tasks[6]
    left, right = fields
    T, D = left.shape
    for p in range(lo + 1, T):
        for c in range(D):
            left[p, c] = rho * left[p - 1, c] + k1 * signed[pi[p - 1], c]
    for p in range(hi - 1, -1, -1):
        for c in range(D):
            right[p, c] = rho * right[p + 1, c] + k1 * signed[pi[p + 1], c]


@compiled
def value(tasks, pi, fields):
    """Compute V without its constant."""
    linear, alpha, total = tasks[0], tasks[1], 0.0
    for p in range(len(pi)):
        total += linear[pi[p], p]
        for c in range(alpha.shape[1]):
            total += alpha[pi[p], c] * fields[0][p, c]
    return total


@compiled
def best_move(tasks, pi, fields, p):
    """Return the best move of the task in place p: the change of V, the other place, and whether to carry or swap."""
    linear, alpha, signed, distance, kernel, k1, rho = tasks[:7]
    left, right = fields
    T, D = alpha.shape
    a = pi[p]
    best, place, carry = 0.0, p, False
    field = left[p] + right[p]
    for q in range(T):
        b = pi[q]
        delta = linear[b, p] - linear[a, p] + linear[a, q] - linear[b, q] - 2 * kernel[abs(q - p)] * distance[a, b]
        for c in range(D):
            delta += (alpha[b, c] - alpha[a, c]) * (field[c] - left[q, c] - right[q, c])
        if delta < best:
            best, place, carry = delta, q, False
    for step in (1, -1):
        ahead, behind = (right, left) if step > 0 else (left, right)
        field = behind[p].copy()  # at a's place, of the tasks behind it, those it has passed included
        delta, q = 0.0, p + step
        while 0 <= q < T:
            b = pi[q]
            delta += linear[a, q] - linear[a, q - step] + linear[b, q - step] - linear[b, q]
            for c in range(D):
                delta += (1 - rho) * (alpha[b, c] - alpha[a, c]) * (field[c] - ahead[q, c])
                field[c] = rho * field[c] + k1 * signed[b, c]
            if delta < best:
                best, place, carry = delta, q, True
            q += step
    return best, place, carry
