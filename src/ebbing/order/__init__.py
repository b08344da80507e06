"""Task orders: the best one with a certificate, what is at stake, rules of thumb, and proofs about categories."""

from ebbing.order._front import Front, FrontPoint, front
from ebbing.order._stakes import RandomOrders, Stakes, random_orders, stakes, worst_order
from ebbing.order.plan import Plan, best_order

__all__ = [
    "Front",
    "FrontPoint",
    "Plan",
    "RandomOrders",
    "Stakes",
    "best_order",
    "front",
    "random_orders",
    "stakes",
    "worst_order",
]
