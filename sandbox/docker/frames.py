"""What passes between the host and PID 1 of a container: frames of ``HEADER`` (request, kind, length) and a body.

``inside.py`` says what each kind means. This module runs at both ends.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct("<IBI")
RESULT = struct.Struct("<idBBB")  # wait status, CPU seconds of all processes, timed out, out of memory, truncated
CALL, DATA, OUT, ERR, FILE, DONE, FAIL = range(7)
PIECE = 1 << 18  # bytes of one DATA frame at most
