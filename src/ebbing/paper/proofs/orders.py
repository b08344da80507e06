"""The orders of a category problem: how many there are, all of them, and the alternating one.

A category problem is given by its counts: (1, 2, 3) are one task of A, two of B and three of C. Orders are strings such
as "CBACBC". Orders that differ by renaming categories of equal counts are one and the same; the representative names
these categories in order of first occurrence.
"""

from collections.abc import Iterator, Sequence

from ebbing.paper.proofs._blocks import LETTERS, check_counts, count_orders, order_blocks, to_letters

__all__ = ["LETTERS", "alternating_order", "count_orders", "enumerate_orders"]


def alternating_order(counts: Sequence[int]) -> str:
    """Return the order that takes the categories in turn, the largest first, each until it is used up.

    Args:
        counts: The number of tasks of each category.

    Returns:
        The order.

    Example:
        >>> alternating_order((2, 2, 2)), alternating_order((1, 2, 3))
        ('ABCABC', 'CBACBC')
    """
    counts = check_counts(counts)
    turn = sorted(range(len(counts)), key=lambda k: -counts[k])
    return "".join(LETTERS[k] for lap in range(max(counts)) for k in turn if counts[k] > lap)


def enumerate_orders(counts: Sequence[int], reversal: bool = False) -> Iterator[str]:
    """Enumerate the orders up to renaming categories of equal counts.

    Args:
        counts: The number of tasks of each category.
        reversal: Whether to give one order of each mirror pair only; a symmetry of equal counts alone.

    Yields:
        The orders, sorted.

    Raises:
        ValueError: If `reversal` is asked for unequal counts.

    Example:
        >>> list(enumerate_orders((2, 2)))
        ['AABB', 'ABAB', 'ABBA']
        >>> sum(1 for _ in enumerate_orders((3, 3), reversal=True))
        7
    """
    counts = check_counts(counts)
    if reversal and len(set(counts)) > 1:
        raise ValueError(f"counts={counts}: reversal is a symmetry only of equal counts; use reversal=False")
    for block in order_blocks(counts):
        for order in map(to_letters, block):
            if not reversal or order <= _rename_by_occurrence(order[::-1]):
                yield order


def _rename_by_occurrence(order: str) -> str:
    return order.translate({ord(k): LETTERS[i] for i, k in enumerate(dict.fromkeys(order))})
