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


def enumerate_orders(counts: Sequence[int]) -> Iterator[str]:
    """Enumerate the orders up to renaming categories of equal counts.

    Args:
        counts: The number of tasks of each category.

    Yields:
        The orders, sorted.

    Example:
        >>> list(enumerate_orders((2, 2)))
        ['AABB', 'ABAB', 'ABBA']
    """
    for block in order_blocks(check_counts(counts)):
        yield from map(to_letters, block)
