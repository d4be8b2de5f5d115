"""A network's matrices and hierarchy as pictures."""

from typing import Literal

import numpy as np

from thalweg import drawing, units
from thalweg.description import Floats
from thalweg.hierarchy import Hierarchy
from thalweg.network import Network

Quantity = Literal["latency", "bandwidth"]
View = Literal["latency", "bandwidth", "hierarchy"]

MATRICES: tuple[Quantity, ...] = ("latency", "bandwidth")


def svg(net: Network, view: View, tree: Hierarchy) -> str:
    """A view as SVG; hosts in the order of `tree`, the network's hierarchy."""
    names = [host.name for host in net.hosts]
    if view == "hierarchy":
        return drawing.hierarchy(tree, names)
    values: Floats = getattr(net, view)
    to_text = units.time_to_text if view == "latency" else units.rate_to_text
    order = drawing.host_order(tree)
    scores = goodness(values, lower_is_better=view == "latency")[order][:, order]
    texts = [[to_text(float(values[a, b])) for b in order] for a in order]
    return drawing.heatmap([names[host] for host in order], scores, texts)


def goodness(values: Floats, *, lower_is_better: bool) -> Floats:
    """Each value's place between the worst (0) and the best (1) of two hosts, logarithmically."""
    off_diagonal = ~np.eye(len(values), dtype=bool)
    logs = np.log(np.maximum(values, 1e-12))
    if not off_diagonal.any():
        return np.ones_like(logs)
    low, high = logs[off_diagonal].min(), logs[off_diagonal].max()
    if high - low < 1e-9:
        return np.ones_like(logs)
    scores: Floats = np.clip((logs - low) / (high - low), 0, 1)
    return 1 - scores if lower_is_better else scores
