"""The compiled loops of `_unequal`: the recursion, moves in an order, annealing, and the depth-first search.

The arrays retained, replaced, noise, noise_floor (T,), gaps (T, T) and the weights a, b are those of
`_unequal.Recursion`. rows (T+1, T) holds the errors after each place, learned (T+1,) the running sum of D_t.
"""

import numpy as np

from ebbing.order._compilation import compiled


@compiled
def learn_rest(retained, replaced, noise, gaps, order, rows, learned, first):
    """Fill rows[first+1:] (T+1, T) and the running sum of D_t in learned[first+1:]."""
    T = len(order)
    for place in range(first, T):
        t = order[place]
        r, s, q = retained[t], replaced[t], noise[t]
        learned[place + 1] = learned[place] + r * rows[place, t] + q
        for i in range(T):
            rows[place + 1, i] = r * rows[place, i] + s * gaps[t, i] + q


@compiled
def _v(a, b, rows, learned):
    return a * rows[-1].mean() - b * learned[-1]


@compiled
def _carry(order, p, q):
    """Take the task at p out and put it in at q."""
    task = order[p]
    step = 1 if q > p else -1
    for place in range(p, q, step):
        order[place] = order[place + step]
    order[q] = task


@compiled
def _move(order, p, q, swap):
    """Swap two tasks, or carry one from p to q; the same with p and q exchanged undoes it."""
    if swap:
        order[p], order[q] = order[q], order[p]
    else:
        _carry(order, p, q)


@compiled
def anneal(retained, replaced, noise, gaps, a, b, order, rows, learned, draws, temperatures):
    """Try one random move per row of `draws`; keep it if V falls, or randomly if it rises little."""
    T = len(order)
    learn_rest(retained, replaced, noise, gaps, order, rows, learned, 0)
    value = _v(a, b, rows, learned)
    for k in range(len(draws)):
        p = int(draws[k, 0] * T)
        q = int(draws[k, 1] * (T - 1))
        if q >= p:
            q += 1
        swap = draws[k, 2] < 0.5
        _move(order, p, q, swap)
        learn_rest(retained, replaced, noise, gaps, order, rows, learned, min(p, q))
        new = _v(a, b, rows, learned)
        if new <= value or draws[k, 3] < np.exp((value - new) / temperatures[k]):
            value = new
        else:
            _move(order, q, p, swap)
            learn_rest(retained, replaced, noise, gaps, order, rows, learned, min(p, q))


@compiled
def descend(retained, replaced, noise, gaps, a, b, order, rows, learned, tolerance, state, budget):
    """Try every move until none lowers V, at most `budget` moves at a time; return whether it has ended.

    state (2,): the number of the next move, and whether one of those before it helped.
    """
    T = len(order)
    learn_rest(retained, replaced, noise, gaps, order, rows, learned, 0)
    value = _v(a, b, rows, learned)
    for _ in range(budget):
        if state[0] == 2 * T * T:
            if state[1] == 0:
                return True
            state[:] = 0
        p, q, swap = state[0] // (2 * T), state[0] // 2 % T, state[0] % 2 == 0
        state[0] += 1
        if p == q or (swap and q < p):
            continue
        _move(order, p, q, swap)
        learn_rest(retained, replaced, noise, gaps, order, rows, learned, min(p, q))
        new = _v(a, b, rows, learned)
        if new < value - tolerance:
            value, state[1] = new, 1
        else:
            _move(order, q, p, swap)
            learn_rest(retained, replaced, noise, gaps, order, rows, learned, min(p, q))
    return False


@compiled
def completion_bound(retained, replaced, noise, gaps, noise_floor, a, b, by_error, row, learned, used):
    """V of every completion of a prefix is at least this."""
    T = len(retained)
    mean = row.mean()
    most = learned
    for t in by_error:
        if used[t]:
            continue
        mean = retained[t] * mean + replaced[t] * gaps[t].mean() + noise[t]
        first, second, top = row[t], -np.inf, -1  # the two largest that L[t] can be mixed from
        for k in range(T):
            if not used[k] and k != t:
                v = gaps[k, t] + noise_floor[k]
                if v > first:
                    first, second, top = v, first, k
                elif v > second:
                    second = v
        reach = row[t]  # t comes next
        for k in range(T):
            if not used[k] and k != t:
                others = second if k == top else first
                reach = max(reach, replaced[k] * (gaps[k, t] + noise_floor[k]) + retained[k] * others)
        most += retained[t] * reach + noise[t]
    return a * mean - b * most


@compiled
def depth_first(
    retained, replaced, noise, gaps, noise_floor, a, b, by_error, twins, rows, learned, bounds, prefix, following, used,
    best, score, depth, tolerance, budget,
):  # fmt: skip
    """Continue the depth-first search for `budget` prefixes; return the depth reached (-1: done) and the prefixes."""
    T = len(retained)
    nodes = 0
    while depth >= 0 and nodes < budget:
        t = following[depth]
        if t == T:  # all successors tried: back
            depth -= 1
            if depth >= 0:
                used[prefix[depth]] = False
            continue
        following[depth] = t + 1
        if used[t] or (twins[t] >= 0 and not used[twins[t]]):
            continue
        nodes += 1
        r, s, q = retained[t], replaced[t], noise[t]
        learned[depth + 1] = learned[depth] + r * rows[depth, t] + q
        for i in range(T):
            rows[depth + 1, i] = r * rows[depth, i] + s * gaps[t, i] + q
        prefix[depth] = t
        if depth == T - 1:
            value = a * rows[T].mean() - b * learned[T]
            if value < score[0]:
                score[0] = value
                best[:] = prefix
            continue
        used[t] = True
        bound = completion_bound(
            retained, replaced, noise, gaps, noise_floor, a, b, by_error, rows[depth + 1], learned[depth + 1], used
        )
        if bound >= score[0] - tolerance:
            used[t] = False
            continue
        depth += 1
        bounds[depth] = max(bound, bounds[depth - 1])
        following[depth] = 0
    return depth, nodes
