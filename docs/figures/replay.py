"""Draw docs/figures/replay.svg: forgetting and generalization error against the replay ratio."""

from pathlib import Path

from ebbing import Problem
from ebbing.order import replay_curve
from ebbing.plot.replay import save

if __name__ == "__main__":
    curve = replay_curve(Problem.categories("AAAB", n=50, p=400, sigma=0.3))
    save(curve, Path(__file__).with_name("replay.svg"))
