"""A diff as one HTML page, side by side, nothing loaded from anywhere: changes coloured by kind, moves linked.

Path("diff.html").write_text(html_page(diff, old), encoding="utf-8")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from codegym.diff.model import Diff, FileDiff
from codegym.diff.patch import apply
from codegym.diff.rows import Line, base, heading, moves, rows, shown, summary

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 1.5em; color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; margin-bottom: .5em; border: 1px solid #ddd; }
td { font: 12px/1.45 ui-monospace, monospace; vertical-align: top; padding: 0 .5em; white-space: pre-wrap;
  overflow-wrap: anywhere; }
td.n { width: 3.5em; text-align: right; color: #888; user-select: none; }
tr.changed td { background: #f6f6f2; } td.none { background: #eee !important; }
tbody + tbody tr:first-child td { border-top: 3px double #ccc; }
h2 { font-size: 1em; margin: 1.5em 0 .4em; } ul { margin: 0; padding-left: 1.2em; font-size: 12px; color: #555; }
.insert { background: #b7ebc0; } .delete { background: #ffc4c4; } .update { background: #ffe08a; }
.move { background: #b5dcf5; } a.move { color: inherit; } a.move:target { outline: 2px solid #1474b8; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616; } tr.changed td { background: #222; }
  td.none { background: #2b2b2b !important; } table { border-color: #444; } ul { color: #aaa; }
  .insert { background: #1f5c2c; } .delete { background: #7a2626; } .update { background: #6b5410; }
  .move { background: #1b4f70; } }
"""


def html_page(diff: Diff, old: Mapping[str, bytes], title: str = "Diff") -> str:
    """The page; ``old`` are the files that the diff was made from."""
    new = apply(diff, old)
    files = "".join(
        part
        for number, file in enumerate(diff.files)
        for part in _file(number, file, base(file, old), new.get(file.path, b""))
    )
    legend = " ".join(f"<span class={kind}>{kind}</span>" for kind in ("insert", "delete", "update", "move"))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1><p>{legend}</p>\n{files}</body></html>\n"
    )


def _file(number: int, file: FileDiff, before: bytes, after: bytes) -> Iterator[str]:
    yield f"<h2>{escape(heading(file))}</h2>\n"
    sides = _Side(number, file, "old"), _Side(number, file, "new")
    groups = list(rows(file, before, after))
    if groups:
        yield "<table>\n"
        for group in groups:
            yield "<tbody>\n"
            for row in group:
                kind = " class=changed" if row.changed else ""
                yield f"<tr{kind}>{sides[0].cell(row.old)}{sides[1].cell(row.new)}</tr>\n"
            yield "</tbody>\n"
        yield "</table>\n"
    lines = zip(file.changes, summary(file, before, after), strict=True)
    if file.changes:
        items = (
            f"<li><span class={change.kind}>{escape(shown(line))}</span>{sides[0].ends(k)}{sides[1].ends(k)}</li>\n"
            for k, (change, line) in enumerate(lines)
        )
        yield f"<ul>\n{''.join(items)}</ul>\n"


class _Side:
    """One column. The first piece of a move has an id; every piece of it leads to the other column's.

    The list of changes leads to both. Where changes inside a move hide all of it, or it is not on the page, its id is
    there.
    """

    def __init__(self, file_number: int, file: FileDiff, side: str) -> None:
        self._prefix, self._side, self._file = f"f{file_number}m", side, file
        self._moves = moves(file.changes)
        self._named: set[int] = set()

    def cell(self, line: Line | None) -> str:
        if line is None:
            return '<td class="n none"></td><td class=none></td>'
        return f"<td class=n>{line.number}</td><td>{''.join(self._piece(p.text, p.change) for p in line.pieces)}</td>"

    def _piece(self, text: str, change: int) -> str:
        if change < 0:
            return escape(text)
        what = self._file.changes[change]
        title = escape(shown(f"{what.kind} {what.node} {what.symbol}".strip()))
        if change not in self._moves:
            return f'<span class={what.kind} title="{title}">{escape(text)}</span>'
        there = "new" if self._side == "old" else "old"
        own = "" if change in self._named else f' id="{self._name(change, self._side)}"'
        self._named.add(change)
        return f'<a class=move{own} href="#{self._name(change, there)}" title="{title}">{escape(text)}</a>'

    def _name(self, change: int, side: str) -> str:
        return f"{self._prefix}{self._moves[change]}-{side}"

    def ends(self, change: int) -> str:
        """What the list says after a change; the rows must be written before."""
        if change not in self._moves:
            return ""
        name = self._name(change, self._side)
        where = f'href="#{name}"' if change in self._named else f'id="{name}"'
        return f" <a class=move {where}>{self._side}</a>"
