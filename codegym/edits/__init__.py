"""Applies the edits of an action to a workspace: bytes in, bytes out, all or nothing.

::

    applied = apply_edits({"a.py": b"x = 1\\n"}, [Replace("a.py", Text(b"1"), Text(b"2"))])
    applied.files["a.py"]              # b"x = 2\\n"
    applied.origins["a.py"][0].new     # Span(start=4, end=5)

An edit touches only what it names. In a file whose lines end in CRLF, text written with LF gets CRLF (``Write``
excepted: it gives the whole file as it shall be), line ends of unchanged lines stay as they are, and so do a byte
order mark and a missing newline at the end. ``origins`` say for every byte that edits wrote where in the reply it
came from; they follow their text through later edits of the same file.
"""

from codegym.edits.apply import Applied as Applied
from codegym.edits.apply import apply_edits as apply_edits
from codegym.edits.apply import safe_path as safe_path
from codegym.finding import EditError as EditError
