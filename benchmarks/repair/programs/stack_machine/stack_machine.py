"""Runs assembled programs."""

from assembler import assemble


class MachineError(Exception):
    """The program did what it must not."""


def run(text, variables=None, limit=1000):
    """Run a program; returns the list of what it put ``out``. Stops at ``halt`` or after the last instruction.

    ``sub`` takes the top from the one below. ``jzero`` pops and jumps if it was 0. ``variables``
    ({name: integer}) is read and written; an unknown one loads 0. MachineError "stack underflow" if
    an item lacks, "too many steps" when more than ``limit`` instructions would run.
    """
    code = assemble(text)
    memory = {} if variables is None else variables
    stack, output = [], []
    position = steps = 0
    while position < len(code):
        if steps == limit:
            raise MachineError("too many steps")
        steps += 1
        name, operand = code[position]
        position += 1
        if name == "halt":
            break
        if name == "jump":
            position = operand
        elif name == "jzero":
            if _pop(stack) == 0:
                position = operand
        elif name == "push":
            stack.append(operand)
        elif name == "load":
            stack.append(memory.get(operand, 0))
        elif name == "store":
            memory[operand] = _pop(stack)
        elif name == "out":
            output.append(_pop(stack))
        elif name == "dup":
            top = _pop(stack)
            stack += [top, top]
        else:
            top, below = _pop(stack), _pop(stack)
            stack += _combine(name, below, top)
    return output


def _pop(stack):
    if not stack:
        raise MachineError("stack underflow")
    return stack.pop()


def _combine(name, below, top):
    if name == "add":
        return [below + top]
    if name == "sub":
        return [below - top]
    if name == "mul":
        return [below * top]
    return [top, below]
