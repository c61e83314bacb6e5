"""Shortest paths in directed graphs: ``{node: {neighbour: length}}``, lengths not negative."""

import heapq


def distances(graph, start):
    """The least distance from ``start`` to each node it reaches, as a dict. ValueError at a negative length."""
    best = {start: 0}
    done = set()
    heap = [(0, start)]
    while heap:
        distance, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for neighbour, length in graph.get(node, {}).items():
            if length < 0:
                raise ValueError(f"negative length from {node} to {neighbour}")
            reached = distance + length
            if neighbour not in best or reached < best[neighbour]:
                best[neighbour] = reached
                heapq.heappush(heap, (reached, neighbour))
    return best


def reverse(graph):
    """The graph with every edge turned round; nodes without edges are left out."""
    turned = {}
    for node, edges in graph.items():
        for neighbour, length in edges.items():
            turned.setdefault(neighbour, {})[node] = length
    return turned


def path(graph, start, goal):
    """The nodes of a shortest path, ``start`` and ``goal`` included; None if there is none.

    Of several shortest paths, the one that is least when compared as lists. All lengths must be above 0.
    """
    to_goal = distances(reverse(graph), goal)
    if start not in to_goal:
        return None
    nodes = [start]
    while nodes[-1] != goal:
        node = nodes[-1]
        left = to_goal[node]
        choices = [
            neighbour
            for neighbour, length in graph[node].items()
            if neighbour in to_goal and length + to_goal[neighbour] == left
        ]
        nodes.append(min(choices))
    return nodes


def eccentricity(graph, start):
    """The greatest of the least distances from ``start``: 0 if it reaches only itself."""
    return max(distances(graph, start).values())
