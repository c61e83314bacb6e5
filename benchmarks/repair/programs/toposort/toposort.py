"""Orders of tasks that wait for each other: ``{task: [tasks it needs]}``."""


class CycleError(ValueError):
    """The tasks wait for each other in a circle."""


def _waiting(needs):
    waiting = {task: set(before) for task, before in needs.items()}
    for before in needs.values():
        for task in before:
            waiting.setdefault(task, set())
    return waiting


def layers(needs):
    """The tasks in sorted lists: those that need nothing, those that need only the former, and so on.

    Tasks that are only named as needed count too. CycleError "cycle among: a, b" names, sorted,
    the tasks that are in a circle or need one that is.
    """
    waiting = _waiting(needs)
    result = []
    while waiting:
        ready = sorted(task for task, before in waiting.items() if not before)
        if not ready:
            raise CycleError("cycle among: " + ", ".join(sorted(waiting)))
        result.append(ready)
        for task in ready:
            del waiting[task]
        for before in waiting.values():
            before.difference_update(ready)
    return result


def order(needs):
    """One list of all tasks, each after all it needs: at each place the least task that can be there."""
    layers(needs)
    waiting = _waiting(needs)
    result = []
    while waiting:
        task = min(task for task, before in waiting.items() if not before)
        del waiting[task]
        result.append(task)
        for before in waiting.values():
            before.discard(task)
    return result


def finish_times(needs, durations):
    """``{task: earliest time at which it ends}`` if each starts as soon as all it needs have ended, in order's order.

    The first start at 0. A task without a duration takes 1.
    """
    ends = {}
    for task in order(needs):
        start = max((ends[before] for before in needs.get(task, ())), default=0)
        ends[task] = start + durations.get(task, 1)
    return ends
