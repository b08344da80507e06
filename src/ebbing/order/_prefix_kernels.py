"""The compiled loops of `_branch_and_bound`: build the prefixes of a set, drop the dominated, bound the others.

Arguments are tuples of arrays, for K types of tasks, T places, c candidates and a number of sets of learned tasks:
- tasks: linear (K, T), distance (K, K), k1 and rho, as in `Types`;
- parents: their length j, and V, H and bound of each, as in `_branch_and_bound`;
- candidates: where each set's candidates start (sets + 1,), unplaced tasks by type (sets, K), parent (c,), added (c,);
- bounding: what `_minorant.minorant` needs besides: places, and the multipliers u (K,) of the path bound;
- limits: tasks by type (K,), the type that must start earlier (K,) or -1, the value to beat, the slack of (D).
"""

import numpy as np

from ebbing.order._compilation import compiled
from ebbing.order._minorant import lap_workspace, minorant, solve_lap


@compiled
def expand(tasks, parents, candidates, bounding, limits):
    """For each set: build its prefixes, drop the dominated, bound the others, note their possible successors."""
    edges, remaining, parent, added = candidates
    count, earlier, prune, slack = limits
    K, T = tasks[0].shape
    m = T - parents[0] - 1
    most = edges[-1] - edges[0]
    who, outV, outH = np.empty(most, np.int64), np.empty(most), np.zeros((most, K))
    bound, successors = np.empty(most), np.zeros(most, np.int64)
    powers = np.zeros(m + 1)  # sums of rho^q, q below the index
    for q in range(m):
        powers[q + 1] = powers[q] + tasks[3] ** q
    lap = lap_workspace(m)
    out = 0
    for s in range(len(edges) - 1):
        lo, hi, left = edges[s], edges[s + 1], remaining[s]
        V, H, score = _build(tasks, parents, (parent[lo:hi], added[lo:hi]), left, powers)
        task, n = np.empty(m, np.int64), 0  # type of each unplaced task
        for x in range(K):
            for _ in range(left[x]):
                task[n] = x
                n += 1
        alive = np.empty(hi - lo, np.int64)
        front = 0
        M, constant = np.empty((0, 0)), 0.0
        for e in np.argsort(score):
            if _dominated(e, alive[:front], (V, H), (left, powers), slack):
                continue
            alive[front] = e
            front += 1
            below, next_ones = V[e], np.int64(0)
            if m > 0:
                if front == 1:
                    M, constant = minorant(tasks, task, H[e], bounding, lap)
                C = M.copy()
                for i in range(m):
                    for q in range(m):
                        C[i, q] -= (powers[q + 1] - powers[q]) * H[e, task[i]]
                below = V[e] + constant + solve_lap(C, lap)
                for i in range(m):
                    first = earlier[task[i]]
                    started = first < 0 or left[first] < count[first]
                    # A reduced cost; a bound that is not a number excludes nothing.
                    if started and not below + C[i, 0] - lap[0][i] - lap[1][0] > prune:
                        next_ones |= np.int64(1) << task[i]
            if not below > parents[3][parent[lo + e]]:
                below = parents[3][parent[lo + e]]
            if below <= prune:
                who[out], outV[out], bound[out], successors[out] = lo + e, V[e], below, next_ones
                outH[out] = H[e]
                out += 1
    return who[:out], outV[:out], outH[:out], bound[:out], successors[:out]


@compiled
def _build(tasks, parents, candidates, left, powers):
    """Return V, H and score of a set's candidates; the score, V of the mean completion, is lower for who dominates."""
    linear, distance, k1, rho = tasks
    j, parent_V, parent_H, _ = parents
    parent, added = candidates
    c, K, m = len(parent), len(left), len(powers) - 1
    V, H, score = np.empty(c), np.empty((c, K)), np.empty(c)
    mean = powers[m] / max(m, 1)
    for e in range(c):
        f, x = parent[e], added[e]
        V[e] = score[e] = parent_V[f] + linear[x, j] - parent_H[f, x]
        for y in range(K):
            H[e, y] = rho * parent_H[f, y] + k1 * distance[x, y]
            score[e] -= mean * left[y] * H[e, y]
    return V, H, score


@compiled
def _dominated(e, alive, prefixes, rest, slack):
    """Return whether (D) holds, up to slack, for prefix e beside one of those alive."""
    V, H = prefixes
    left, powers = rest
    gain, size = np.empty(len(left)), np.empty(len(left), np.int64)
    for a in alive:
        n = 0
        for x in range(len(left)):  # insertion sort, decreasing
            if left[x] > 0:
                g = H[e, x] - H[a, x]
                i = n
                while i > 0 and gain[i - 1] < g:
                    gain[i], size[i] = gain[i - 1], size[i - 1]
                    i -= 1
                gain[i], size[i] = g, left[x]
                n += 1
        worst, q = V[a] - V[e], 0
        for i in range(n):
            worst += gain[i] * (powers[q + size[i]] - powers[q])
            q += size[i]
        if worst <= slack:
            return True
    return False
