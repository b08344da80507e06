"""Every order of a category problem, expanded in blocks of rows, with exact polynomials of forgetting.

Orders are rows of category indices; a block has at most `BLOCK_SIZE` rows.
"""

from collections.abc import Iterator, Sequence
from math import comb, factorial, prod

import numpy as np

from ebbing.paper.proofs.polynomials import Poly

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_ORDERS = 10_000_000  # every order is expanded: about a minute and some gigabytes
BLOCK_SIZE = 1 << 17


def check_counts(counts: Sequence[int]) -> tuple[int, ...]:
    """Return the counts as integers, or raise an error if there are too few or too many tasks or categories."""
    counts = tuple(int(m) for m in counts)
    if not 1 <= len(counts) <= len(LETTERS) or min(counts) < 1 or not 2 <= sum(counts) <= 30:
        raise ValueError(f"counts={counts}: give 1 to 26 categories with at least one task each, 2 to 30 tasks in all")
    return counts


def check_expandable(counts: Sequence[int]) -> tuple[int, ...]:
    """Return the counts as integers, or raise an error if there are too many orders to expand each of them."""
    counts = check_counts(counts)
    if (N := count_orders(counts)) > MAX_ORDERS:
        raise ValueError(f"counts={counts}: {N} orders, more than {MAX_ORDERS}; give fewer tasks or categories")
    return counts


def count_orders(counts: Sequence[int]) -> int:
    """Count the orders of a category problem up to renaming categories of equal counts.

    There are T! / prod m_k! / prod (multiplicity of each count)! of them.

    Args:
        counts: The number of tasks of each category.

    Returns:
        The number of orders.

    Example:
        >>> count_orders((3, 3)), count_orders((2, 2, 2)), count_orders((1, 2, 3))  # the paper's tables: 10, 15
        (10, 15, 60)
    """
    names = prod(factorial(counts.count(m)) for m in set(counts))
    return factorial(sum(counts)) // prod(map(factorial, counts)) // names


def to_letters(row: np.ndarray) -> str:
    """Return an order as a string of letters."""
    return "".join(LETTERS[k] for k in row)


def order_blocks(counts: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Yield blocks (orders, T) of all orders, in lexicographic order: prefixes grow one place at a time."""
    twin = [max((j for j in range(k) if counts[j] == counts[k]), default=None) for k in range(len(counts))]
    stack = [np.zeros((1, 0), np.uint8)]
    while stack:
        prefix = stack.pop()  # (N, t)
        if prefix.shape[1] == sum(counts):
            yield prefix
            continue
        used = np.stack([(prefix == k).sum(axis=1) for k in range(len(counts))], axis=1)  # (N, c)
        grown = []
        for k, twin_k in enumerate(twin):
            allowed = used[:, k] < counts[k]
            if twin_k is not None:  # categories of equal counts are named as they first occur
                allowed &= used[:, twin_k] > 0
            grown.append(np.insert(prefix[allowed], prefix.shape[1], k, axis=1))
        rows = np.concatenate(grown)
        rows = rows[np.lexsort(rows.T[::-1])]
        stack += [rows[i : i + BLOCK_SIZE] for i in reversed(range(0, len(rows), BLOCK_SIZE))]


def forgetting_coefficients(block: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """Return f(o) for a block of orders (N, T): coefficients (N, T) of r^0..r^{T-1}, int16."""
    T = block.shape[1]
    f = (T - np.array(counts, np.int16))[block[:, ::-1]]  # g(o): r^{T-i} (T - m_{o_i})
    for lag in range(1, T):
        f[:, lag] -= (block[:, lag:] != block[:, :-lag]).sum(axis=1, dtype=np.int16)
    return f


def distinct_polynomials(counts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct polynomials f (M, T), one order of each (M, T), and how many orders share it (M,)."""
    T = sum(counts)
    kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for block in order_blocks(counts):
        kept.append(_merge(forgetting_coefficients(block, counts), block, np.ones(len(block), np.int64), T))
        while len(kept) > 1 and len(kept[-1][0]) * 2 > len(kept[-2][0]):
            (f, o, n), (f2, o2, n2) = kept.pop(-2), kept.pop()
            kept.append(_merge(np.concatenate([f, f2]), np.concatenate([o, o2]), np.concatenate([n, n2]), T))
    f, o, n = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return _merge(f, o, n, T)


def _merge(f: np.ndarray, example: np.ndarray, shared: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    key = np.ascontiguousarray(f + T * T).astype(">u2").view(f"S{2 * T}").ravel()  # positive, so never a zero byte pair
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return f[first], example[first], np.bincount(inverse, weights=shared).astype(np.int64)


def bernstein_positive(p: np.ndarray) -> np.ndarray:
    """Return which rows of p (M, T), all with p(1) = 0, have no negative Bernstein coefficient after division by 1 - r.

    The test is exact: every number is an integer below 2^53 (checked), which float64 represents. It is sufficient for
    p > 0 on (0, 1), not necessary.
    """
    if len(p) > BLOCK_SIZE:
        return np.concatenate([bernstein_positive(p[i : i + BLOCK_SIZE]) for i in range(0, len(p), BLOCK_SIZE)])
    quotient = np.cumsum(p.astype(np.int64), axis=1)  # p = (1-r) quotient, last column p(1) = 0
    if quotient[:, -1].any():
        raise ValueError("p(1) != 0: orders of one category problem have the same forgetting at r = 1")
    quotient = quotient[:, :-1]
    n = quotient.shape[1] - 1
    matrix = np.array([[comb(n - k, j - k) if j >= k else 0 for j in range(n + 1)] for k in range(n + 1)])
    if np.abs(quotient).sum(axis=1).max(initial=0) * matrix.max() >= 2**53:
        return np.zeros(len(p), bool)
    return (quotient.astype(float) @ matrix.astype(float)).min(axis=1) >= 0


def pad(p: Poly, length: int) -> np.ndarray:
    """Return a polynomial as a row of coefficients, with zeros up to the given length."""
    return np.array(p + (0,) * (length - len(p)), dtype=np.int16)
