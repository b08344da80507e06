"""Task orders: the best one with a certificate, the range from best to worst, fronts, and simple rules."""

from ebbing.order._best_order import best_order
from ebbing.order._clock import heed_interrupts
from ebbing.order._front import Front, FrontPoint, front
from ebbing.order._random_orders import RandomOrders, random_orders
from ebbing.order._stakes import Stakes, stakes
from ebbing.order._worst_order import worst_order
from ebbing.order.plan import Plan

__all__ = [
    "Front",
    "FrontPoint",
    "Plan",
    "RandomOrders",
    "Stakes",
    "best_order",
    "front",
    "heed_interrupts",
    "random_orders",
    "stakes",
    "worst_order",
]
