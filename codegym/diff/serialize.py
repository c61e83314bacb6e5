"""Diffs as plain JSON data and back; ``schema.json`` beside this module describes the data.

Bytes stand as text with surrogateescape (``json.dumps`` writes that as ``\\\\udcXX``), spans as pairs, nothing is left
out, so that the same diff gives the same data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codegym.diff.model import SCHEMA_VERSION, Change, Diff, FileDiff, Hunk
from codegym.spans import Span, reply_bytes, reply_text

#: Version 1 had no ``only``, which is then taken as "": not known to be less than a change of code.
_READ = (1, SCHEMA_VERSION)


def to_dict(diff: Diff) -> dict[str, Any]:
    """See :meth:`codegym.diff.model.Diff.to_dict`."""
    return {"version": SCHEMA_VERSION, "files": [_file(file) for file in diff.files]}


def from_dict(data: Mapping[str, Any]) -> Diff:
    """See :meth:`codegym.diff.model.Diff.from_dict`."""
    if data.get("version") not in _READ:
        raise ValueError(f"a diff of version {data.get('version')!r}; this reads versions {_READ[0]} to {_READ[-1]}")
    return Diff(tuple(_read_file(file) for file in data["files"]))


def _file(file: FileDiff) -> dict[str, Any]:
    return {
        "path": file.path,
        "old_path": file.old_path,
        "status": file.status,
        "language": file.language,
        "parsed": file.parsed,
        "note": file.note,
        "only": file.only,
        "hunks": [
            {
                "old": list(hunk.old),
                "new": list(hunk.new),
                "text": reply_text(hunk.text),
                "source": _pairs(hunk.source),
                "place": _pairs(hunk.place),
                "only": hunk.only,
            }
            for hunk in file.hunks
        ],
        "changes": [
            {
                "kind": change.kind,
                "node": change.node,
                "symbol": change.symbol,
                "old": list(change.old) if change.old else None,
                "new": list(change.new) if change.new else None,
                "source": _pairs(change.source),
                "place": _pairs(change.place),
            }
            for change in file.changes
        ],
    }


def _read_file(data: Mapping[str, Any]) -> FileDiff:
    return FileDiff(
        path=data["path"],
        old_path=data["old_path"],
        status=data["status"],
        language=data["language"],
        parsed=data["parsed"],
        note=data["note"],
        only=data.get("only", ""),
        hunks=tuple(
            Hunk(
                Span(*hunk["old"]),
                Span(*hunk["new"]),
                reply_bytes(hunk["text"]),
                _spans(hunk["source"]),
                _spans(hunk["place"]),
                hunk.get("only", ""),
            )
            for hunk in data["hunks"]
        ),
        changes=tuple(
            Change(
                change["kind"],
                change["node"],
                change["symbol"],
                Span(*change["old"]) if change["old"] else None,
                Span(*change["new"]) if change["new"] else None,
                _spans(change["source"]),
                _spans(change["place"]),
            )
            for change in data["changes"]
        ),
    )


def _pairs(spans: Sequence[Span]) -> list[list[int]]:
    return [list(span) for span in spans]


def _spans(pairs: Sequence[Sequence[int]]) -> tuple[Span, ...]:
    return tuple(Span(*pair) for pair in pairs)
