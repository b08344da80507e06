"""Task orders: the best one with a certificate, the range from best to worst, fronts; and the best replay."""

from ebbing.order._best_order import best_order
from ebbing.order._clock import heed_interrupts
from ebbing.order._front import Front, FrontPoint, front
from ebbing.order._random_orders import RandomOrders, random_orders
from ebbing.order._stakes import Stakes, stakes
from ebbing.order._worst_order import worst_order
from ebbing.order.plan import Plan
from ebbing.order.replay import ReplayPlan, best_replay
from ebbing.order.replay_curve import ReplayCurve, replay_curve
from ebbing.order.replay_order import ReplayOrder, best_order_with_replay
from ebbing.order.tuning import Tuning, best_penalty, best_stopping_time, best_weight

__all__ = [
    "Front",
    "FrontPoint",
    "Plan",
    "RandomOrders",
    "ReplayCurve",
    "ReplayOrder",
    "ReplayPlan",
    "Stakes",
    "Tuning",
    "best_order",
    "best_order_with_replay",
    "best_penalty",
    "best_replay",
    "best_stopping_time",
    "best_weight",
    "front",
    "heed_interrupts",
    "random_orders",
    "replay_curve",
    "stakes",
    "worst_order",
]
