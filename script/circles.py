"""Circles in what includes, or imports, what."""

from collections.abc import Collection, Mapping


def circle(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Names of which each leads to the next, the last being the first; none if there are none."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for target in graph.get(name, ()):
            if found := search(target, [*path, name]):
                return found
        done.add(name)
        return []

    for name in graph:
        if found := search(name, []):
            return found
    return []
