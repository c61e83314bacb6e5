"""Runs the driver in a child process and passes its records on: the only writer of the sandbox's standard output.

The graded code lives in the child. It has the records' pipe, because the test runner is in the same process, but not
this process's standard output: its own is a pipe that is read here and kept as the log. This process cannot be traced
or opened through /proc by the child (it is not dumpable), so an exit code, a printed line or a killed run proves
nothing to the caller; a record must bear the token, in unbroken sequence.

Standard input: the job as JSON. Standard output, once, at the end: JSON with records, forged, ended, exit, log.
"""

import base64
import ctypes
import json
import os
import select
import signal
import sys
import time

PR_SET_DUMPABLE = 4
LOG_BYTES = 4 << 20  # the tail of what the tests printed
DRAIN_S = 5  # to read what is in the pipes when the child has ended
RECORD_BYTES = 32 << 20  # 100,000 tests take 20 MB
# The driver's module is not on the stack of the tests: its code object holds all others.
BOOT = (
    "import os;d={{'__name__':'driver'}};exec(compile(os.fdopen({0},'rb').read().decode(),'<driver>','exec'),d);"
    "d['main']({1})"
)


def start(job, records, output, program, config):
    """The child's side after the fork: descriptors in place, everything else closed, then the driver."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.setsid()
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    kept = (records, program, config)
    for number in kept:
        os.set_inheritable(number, True)
    for number in set(range(3, 256)).difference(kept):
        try:
            os.close(number)
        except OSError:
            pass
    environment = dict(os.environ)
    environment.update(job["env"])
    # -I: neither the workspace nor the environment may say what is imported before the driver
    command = [job["python"], "-I", "-B", *job["options"], "-c", BOOT.format(program, config)]
    os.execve(job["python"], command, environment)


def send(pipe, text):
    try:
        with os.fdopen(pipe, "wb") as file:
            file.write(text.encode())
    except BrokenPipeError:
        pass  # the child did not start; its exit code and output say why


def supervise(job):
    """Run the child to its end; returns what it recorded."""
    source_read, source_write = os.pipe()
    config_read, config_write = os.pipe()
    record_read, record_write = os.pipe()
    output_read, output_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            start(job, record_write, output_write, source_read, config_read)
        except BaseException as error:
            os.write(2, repr(error).encode())
        os._exit(125)
    for number in (source_read, config_read, record_write, output_write):
        os.close(number)
    config = dict(job["driver"], records=record_write, token=job["token"])
    send(source_write, job["source"])
    send(config_write, json.dumps(config))  # apart from the source, whose text stays readable in the child
    parts, log = [], bytearray()
    deadline = time.time() + job["seconds"]
    open_pipes, status, timed_out, size = {record_read, output_read}, None, False, 0
    while True:
        ready = select.select(list(open_pipes), [], [], 0.05 if status is None else 0)[0]
        for number in ready:
            data = os.read(number, 1 << 16)
            if not data:
                open_pipes.discard(number)
            elif number == record_read:
                size += len(data)
                if size <= RECORD_BYTES:
                    parts.append(data)
            else:
                log += data
                del log[: max(0, len(log) - LOG_BYTES)]
        if status is not None and (not ready or time.time() > deadline):
            break  # what it left behind may hold the pipes open; that is killed with the sandbox
        if status is None:
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                status, deadline = code, min(deadline, time.time() + DRAIN_S)
            elif time.time() > deadline:
                timed_out = True
                os.killpg(child, signal.SIGKILL)
                status, deadline = os.waitpid(child, 0)[1], time.time() + DRAIN_S
        if not open_pipes and status is None:
            time.sleep(0.01)
    rows, forged, ended = read_records(b"".join(parts), job["token"])
    return {
        "records": rows,
        "forged": forged or size > RECORD_BYTES,
        "ended": ended,
        "timed_out": timed_out,
        "exit": -(status & 0x7F) if status & 0x7F else status >> 8,
        "log": base64.b64encode(bytes(log)).decode(),
    }


def read_records(data, token):
    """The payloads, whether anything else was written, and whether the run came to its end."""
    rows, ended = [], False
    lines = data.split(b"\n")
    torn = lines.pop()
    for number, line in enumerate(lines):
        fields = line.decode("ascii", "replace").split(" ")
        if ended or fields[:2] != [token, str(number)]:
            return rows, True, False
        try:
            record = [bytes.fromhex(each).decode("utf-8", "surrogatepass") for each in fields[2:]]
        except ValueError:
            return rows, True, False
        ended = record == ["end"]
        rows.append(record)
    return rows, bool(torn) and ended, ended


def main():
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    job = json.loads(sys.stdin.buffer.read().decode())
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    for path in job["executable"]:
        os.chmod(path, 0o755)
    answer = json.dumps(supervise(job)).encode()
    while answer:
        answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    main()
