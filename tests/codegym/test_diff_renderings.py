"""Side by side on a terminal and as a page; and the patch of a renamed file."""

import re
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import codegym.diff
from codegym.diff import diff_files, unified
from codegym.diff.page import html_page
from codegym.diff.terminal import side_by_side

OLD = {
    "m.py": b"def a(x):\n    y = 1\n    return x\n\n\ndef b(z):\n    return z\n",
    "t.txt": b"wide \xe4\xbd\xa0 \x1b[31m\xe2\x80\xae\n" + b"w" * 50 + b"\n",
    "<b>&.txt": b"a\n",
    "z": b"\0",
}
NEW = {
    "m.py": b"def b(z):\n    return z\n\n\ndef a(x):\n    y = 10\n    return x\n",
    "t.txt": b"wide \xe4\xbd\xa0 \x1b[31m\xe2\x80\xae!\n" + b"w" * 50 + b"\n",
    "<b>&.txt": b"<script>\n",
    "z": b"\0\0",
}
DIFF = diff_files(OLD, NEW)


def test_the_terminal_shows_both_sides_and_the_changes():
    text = side_by_side(DIFF, OLD, width=60, colour=False)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert re.search(r"^2     y = 1 +\| 6     y = 10$|^2     y = 1 +  +\|? *6     y = 10$", text, re.MULTILINE)
    assert "  update integer in a, line 2 to line 6\n" in text
    assert re.search(r"  \[1\] move function_definition in [ab], line \d to line \d\n", text)
    assert "z (modified, binary)" in text
    rows = [line for line in text.splitlines() if re.match(r" *\d+ w+", line)]
    assert rows
    assert all(len(row) <= 60 for row in rows)
    assert text.count("w" * 50) == 0
    assert sum(line.count("w") for line in text.splitlines()) >= 100


def test_colours_go_by_kind():
    text = side_by_side(DIFF, OLD, colour=True)
    assert "\x1b[33m10\x1b[0m" in text
    assert re.search("\x1b\\[36mdef [ab]", text)
    assert re.sub("\x1b\\[[0-9;]*m", "", text) == side_by_side(DIFF, OLD, colour=False)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_its_moves_are_linked():
    text = html_page(DIFF, OLD, "A & B")
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.links
    assert {link[1:] for link in page.links} == set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "<span class=update" in text
    assert "&lt;script&gt;" in text
    assert "A &amp; B" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "http" not in text


MODULES = [path.read_bytes() for path in sorted(Path(codegym.diff.__file__).parent.glob("*.py"))]


@pytest.mark.parametrize("pair", list(pairwise(MODULES)), ids=range(len(MODULES) - 1))
def test_both_ends_of_every_move_are_on_the_page(pair):
    """Of modules that have little in common: moves far from all hunks, or with changes all over inside."""
    old, new = ({"a.py": text} for text in pair)
    diff = diff_files(old, new)
    page = Page(html_page(diff, old))
    moves = sum(change.kind == "move" for change in diff.files[0].changes)
    assert sorted(page.ids) == sorted(f"f0m{k + 1}-{side}" for k in range(moves) for side in ("old", "new"))
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_git_takes_the_patch_of_a_renamed_file_that_changed(tmp_path):
    long = b"".join(b"line %d\n" % k for k in range(30))
    old, new = {"a b.txt": long}, {"c.txt": long.replace(b"line 3\n", b"line three\n")}
    diff = diff_files(old, new)
    assert [file.status for file in diff.files] == ["renamed"]
    (tmp_path / "a b.txt").write_bytes(long)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=unified(diff, old).encode(), check=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == new
