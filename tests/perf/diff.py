"""Measures the diff engine and says which targets are met.

    python -m tests.perf.diff                               # stdlib, this repository's history, difflib, apted
    python -m tests.perf.diff --releases                    # and releases of packages, kept in ~/.cache/codegym-perf
    python -m tests.perf.diff --pairs FOLDER --limit 300    # FOLDER/before/**/x.py against FOLDER/after/**/x.py

Times are CPU time of this process, so that they bear company; ratios are taken in the same run.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import io
import random
import statistics
import subprocess
import sys
import sysconfig
import tarfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from tree_sitter import Node

from codegym.diff import apply, diff_files, languages, trees
from codegym.diff.lines import cut_file
from codegym.diff.match import Matching
from codegym.diff.script import script_of
from codegym.diff.sources import Written
from codegym.diff.syntax import compare

ROOT = Path(__file__).parents[2]
CACHE = Path.home() / ".cache" / "codegym-perf"
Pair = tuple[str, bytes, bytes]

#: Consecutive releases, small and in several languages.
RELEASES = [
    ("pip", "click", "8.1.7", "8.1.8"),
    ("pip", "attrs", "23.2.0", "24.2.0"),
    ("pip", "requests", "2.31.0", "2.32.3"),
    ("pip", "psutil", "5.9.8", "6.0.0"),
    ("pip", "tiktoken", "0.7.0", "0.8.0"),
    ("pip", "pybind11", "2.12.0", "2.13.1"),
    ("npm", "zod", "3.22.3", "3.22.4"),
    ("npm", "express", "4.18.2", "4.19.2"),
]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, value: str, target: str, met: bool | None) -> None:
    print(f"{name:58} {value:>24}   {target:16} {'' if met is None else 'met' if met else 'MISSED'}", flush=True)


# Pairs


def folder_pairs(folder: Path, limit: int) -> list[Pair]:
    before, after = folder / "before", folder / "after"
    files = sorted(path for path in before.rglob("*.*") if languages.language_of(path.name))
    files = [path for path in files if (after / path.relative_to(before)).exists()]
    random.Random(0).shuffle(files)
    return [
        (str(path.relative_to(before)), path.read_bytes(), (after / path.relative_to(before)).read_bytes())
        for path in files[:limit]
    ]


def history_pairs(limit: int) -> list[Pair]:
    """Files before and after the last commits of this repository."""

    def git(*argv: str) -> bytes:
        return subprocess.run(["git", "-C", str(ROOT), *argv], capture_output=True, check=True).stdout

    pairs: list[Pair] = []
    log = git("log", "--no-merges", "--diff-filter=M", "--raw", "--no-abbrev", "--format=", "-n", "400")
    for row in log.decode("utf-8", "surrogateescape").splitlines():
        fields, _, path = row.partition("\t")
        if languages.language_of(path) and len(pairs) < limit:
            blobs = fields.split(" ")[2:4]
            pairs.append((path, *(git("cat-file", "blob", blob) for blob in blobs)))  # type: ignore[arg-type]
    return pairs


def release_pairs() -> Iterator[tuple[str, list[Pair]]]:
    """Files of each two releases that differ. Raises RuntimeError where a release cannot be fetched."""
    for client, name, old, new in RELEASES:
        texts = [_sources(client, name, version) for version in (old, new)]
        common = sorted(path for path in texts[0].keys() & texts[1].keys() if texts[0][path] != texts[1][path])
        yield f"{name} {old} to {new}", [(path, texts[0][path], texts[1][path]) for path in common]


def _sources(client: str, name: str, version: str) -> dict[str, bytes]:
    folder = CACHE / f"{client}-{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]
    if not archives:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, f"{name}=={version}"]
        command = pip if client == "pip" else ["npm", "pack", f"{name}@{version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
        archives = [*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]
        if not archives:
            raise RuntimeError(f"{' '.join(command[-3:])}: {done.stderr.strip()[-200:]}")
    with tarfile.open(fileobj=io.BytesIO(archives[0].read_bytes())) as archive:
        members = [member for member in archive if member.isfile() and languages.language_of(member.name)]
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def measure_pairs(name: str, pairs: list[Pair], target: str = "", most: int | None = None, seconds: float = 0) -> None:
    """Replay, count and time: matching and script, after parsing."""
    if not pairs:
        raise ValueError(f"{name}: no pairs; --pairs takes a folder with before/ and after/")
    wrong, total, spent, by_lines, counts = 0, 0, 0.0, 0, []
    for path, old, new in pairs:
        language = languages.language_of(path)
        assert language is not None
        for text in (old, new):
            trees.parse(language, text)
        start = time.process_time()
        cuts = cut_file(old, new, Written()).cuts
        found = compare(old, new, language, cuts)
        script = script_of(old, new, found if isinstance(found, Matching) else cuts)
        spent += time.process_time() - start
        by_lines += isinstance(found, str)
        files = {path: old}, {path: new}
        wrong += script.replay(old) != new or apply(diff_files(*files), files[0]) != files[1]
        counts.append(sum(a.kind != "space" and a.node not in language.comments for a in script.actions))
        total += counts[-1]
    report(f"{name}: {len(pairs)} pairs, replay and apply exact", f"{len(pairs) - wrong}", "all", wrong == 0)
    middle = int(statistics.median(counts))
    report(
        f"  actions (median {middle}; {by_lines} by lines)", str(total), target, None if most is None else total <= most
    )
    report(
        "  matching and script",
        f"{spent:.2f} s",
        f"<= {seconds:g} s" if seconds else "",
        None if not seconds else spent <= seconds,
    )


# Files of a given length


def long_file(lines: int) -> bytes:
    """The standard library's modules, one after the other, up to a number of lines."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    rows: list[bytes] = []
    for path in sorted(folder.glob("*.py")):
        rows += path.read_bytes().rstrip(b"\n").split(b"\n")
        if len(rows) >= lines + 300:
            break
    end = next((k for k in range(lines, len(rows)) if rows[k].startswith((b"def ", b"class ", b"@"))), len(rows))
    return b"\n".join(rows[:end]) + b"\n"


def edited(text: bytes, edits: int, rng: random.Random) -> bytes:
    """Small edits that parse: a name replaced, a statement doubled, a statement taken out beside another."""
    rows = text.split(b"\n")
    plain = [
        k
        for k, row in enumerate(rows)
        if row.startswith(b"        ")
        and b"(" in row
        and row.count(b"(") == row.count(b")")
        and row.strip()[:1].isalpha()
        and row.strip().endswith(b")")
        and not rows[k + 1].startswith(row[: len(row) - len(row.lstrip())] + b" ")
    ]
    for k in sorted(rng.sample(plain, edits), reverse=True):
        kind = rng.randrange(3)
        indent = rows[k][: len(rows[k]) - len(rows[k].lstrip())]
        if kind == 0:
            rows[k] = rows[k].replace(b"(", b"(changed, ", 1).replace(b", )", b")")
        elif kind == 1:
            rows[k : k + 1] = [rows[k], indent + b"value = compute(1, [2, 3])"]
        else:
            rows[k] = indent + b"pass"
    return b"\n".join(rows)


def measure_sizes(repeats: int) -> None:
    rng = random.Random(0)
    for lines, edits, most, most_ratio in ((1_000, 2, 0.010, 3.0), (10_000, 50, 0.250, 1.0)):
        text = long_file(lines)
        whole, known, parsed, theirs, as_syntax = [], [], [], [], 0
        for _ in range(repeats):
            old, new = {"a.py": text}, {"a.py": edited(text, edits, rng)}
            work = functools.partial(diff_files, old, new)
            trees.forget()
            whole.append(cpu(work))
            parsed.append(cpu(work))
            trees.forget()
            trees.parse(languages.PYTHON, text)
            known.append(cpu(work))
            as_syntax += work().files[0].parsed
            rows = text.split(b"\n"), new["a.py"].split(b"\n")
            theirs.append(cpu(lambda: difflib.SequenceMatcher(None, *rows).get_opcodes()))  # noqa: B023 - called at once
        p50 = statistics.median(whole)
        name = f"{len(rows[0])} lines, {edits} edits, both parsed ({as_syntax} of {repeats} as syntax)"
        report(name, f"p50 {p50 * 1e3:.1f} ms", f"<= {most * 1e3:g} ms", p50 <= most)
        # In an episode the old text is the one that the turn before left, or the task's own: its tree is there.
        for label, times in (("after parsing", parsed), ("the new text parsed", known), ("both parsed", whole)):
            ratio = statistics.median(times) / statistics.median(theirs)
            report(f"  against difflib's lines, {label}", f"{ratio:.2f} x", f"<= {most_ratio:g} x", ratio <= most_ratio)


# Pathological inputs

#: 1.2 MB that parse to 1.2 million nodes take 213 MiB, nearly all of it tree-sitter's trees of both sides.
MOST_MIB = 256


def hard(n: int) -> dict[str, tuple[bytes, bytes]]:
    """Inputs of a size that goes with ``n``; 1 is full size."""
    deep = b"x = " + b"(" * (5_000 * n // 10) + b"1" + b")" * (5_000 * n // 10) + b"\n"
    chain = b"x = " + b"a + " * (5_000 * n // 10) + b"1\n"
    equal = b"x = 1\n" * (10_000 * n // 10)
    half = long_file(1_000 * n // 10) + b"def half(a,\n"
    return {
        "half-written function": (half, half.replace(b"self", b"this")),
        "mixed tabs": (b"if x:\n\ty = 1\n" * (2_000 * n // 10), b"if x:\n        y = 1\n\tz = 2\n" * (2_000 * n // 10)),
        "equal lines, one less": (equal, equal[:-6]),
        "equal lines, all others": (equal, equal.replace(b"x", b"y")),
        "equal lines, every second new": (equal, b"x = 1\ny = 2\n" * (5_000 * n // 10)),
        "one line of 1 MB": (b"s = '" + b"x" * (100_000 * n) + b"'\n", b"s = '" + b"y" * (100_000 * n) + b"'\n"),
        "one list of 300,000": (b"x = [" + b"1," * (30_000 * n) + b"]\n", b"x = [" + b"2," * (30_000 * n) + b"]\n"),
        "expression 5,000 deep": (deep, deep.replace(b"1", b"2")),
        "chain of 5,000 sums": (chain, chain.replace(b"1", b"2")),
    }


def measure_hard() -> None:
    for (name, pair), (_, half) in zip(hard(10).items(), hard(5).items(), strict=True):
        trees.forget()
        seconds = cpu(lambda: diff_files({"a.py": pair[0]}, {"a.py": pair[1]}))  # noqa: B023 - called at once
        note = diff_files({"a.py": pair[0]}, {"a.py": pair[1]}).files[0].note
        report(f"{name} ({note[:34]})", f"{seconds:.2f} s", "<= 2 s", seconds <= 2)
        peaks = []
        for old, new in (half, pair):
            trees.forget()
            tracemalloc.start()
            diff_files({"a.py": old}, {"a.py": new})
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        growth = peaks[1] / peaks[0] / (sum(map(len, pair)) / sum(map(len, half)))
        report(
            "  peak of memory, trees included; growth against the size's",
            f"{peaks[1] / 2**20:.0f} MiB, {growth:.1f} x",
            f"<= {MOST_MIB}, 1.5 x",
            peaks[1] <= MOST_MIB << 20 and growth <= 1.5,
        )


# The oracle


def measure_apted(pairs: list[Pair], most_nodes: int = 60) -> None:
    """Our actions against the tree edit distance (insert, delete, relabel; no moves) on small functions."""
    try:
        from apted import APTED, Config
    except ImportError:
        print("apted is not installed (pip install codegym[dev]): no oracle")
        return

    class Labels(Config):  # type: ignore[misc]
        def __init__(self, other_kind: int) -> None:
            self.other_kind = other_kind

        def rename(self, a: Tree, b: Tree) -> int:
            return 0 if a.label == b.label else 1 if a.label[0] == b.label[0] else self.other_kind

        def children(self, node: Tree) -> list[Tree]:
            return node.children

    ours = theirs = relabelled = count = 0
    for path, old, new in pairs:
        if not path.endswith(".py"):
            continue
        functions = [_functions(text) for text in (old, new)]
        for name in functions[0].keys() & functions[1].keys():
            texts = functions[0][name], functions[1][name]
            if texts[0] == texts[1]:
                continue
            trees = [_tree(text) for text in texts]
            if max(tree.size() for tree in trees) > most_nodes:
                continue
            cuts = cut_file(*texts, Written()).cuts
            found = compare(*texts, languages.PYTHON, cuts)
            script = script_of(*texts, found if isinstance(found, Matching) else cuts)
            ours += sum(a.kind != "space" and a.node != "comment" for a in script.actions)
            theirs += APTED(trees[0], trees[1], Labels(2)).compute_edit_distance()
            relabelled += APTED(trees[0], trees[1], Labels(1)).compute_edit_distance()
            count += 1
    # A node of another kind is no update of ours: it costs two there too. One is said beside it.
    ratio = ours / max(1, theirs)
    name = f"apted on {count} changed functions of up to {most_nodes} nodes"
    report(name, f"{ours} / {theirs} = {ratio:.2f} x", "<= 1.1 x", ratio <= 1.1)
    report("  if another kind were one action", f"{ours} / {relabelled} = {ours / max(1, relabelled):.2f} x", "", None)


class Tree:
    def __init__(self, label: tuple[str, bytes], children: list[Tree]) -> None:
        self.label, self.children = label, children

    def size(self) -> int:
        return 1 + sum(child.size() for child in self.children)


def _tree(text: bytes) -> Tree:
    def build(node: Node) -> Tree:
        kids = [build(child) for child in node.children if child.type != "comment"]
        return Tree((node.type, b"" if kids else node.text or b""), kids)

    return build(trees.parse(languages.PYTHON, text).root_node)


def _functions(text: bytes) -> dict[str, bytes]:
    """Functions and methods by name, dedented as a file of their own; names that come twice are left out."""
    found: dict[str, list[bytes]] = {}
    todo = [trees.parse(languages.PYTHON, text).root_node]
    while todo:
        node = todo.pop()
        if node.type == "function_definition" and not node.has_error:
            name = node.child_by_field_name("name")
            body = b" " * node.start_point.column + (node.text or b"")
            lines = [line[node.start_point.column :] for line in body.split(b"\n")]
            found.setdefault(name.text.decode("utf-8", "replace") if name and name.text else "", []).append(
                b"\n".join(lines) + b"\n"
            )
        todo.extend(node.named_children)
    return {name: texts[0] for name, texts in found.items() if len(texts) == 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, help="a folder with before/ and after/, measured alone")
    parser.add_argument("--limit", type=int, default=300, help="pairs, drawn at random with seed 0")
    parser.add_argument("--most-actions", type=int, help="a target for --pairs")
    parser.add_argument("--most-seconds", type=float, default=0, help="a target for --pairs")
    parser.add_argument("--releases", action="store_true", help="fetch releases of packages too")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    if options.pairs:
        pairs = folder_pairs(options.pairs, options.limit)
        target = f"<= {options.most_actions}" if options.most_actions else ""
        measure_pairs(options.pairs.name, pairs, target, options.most_actions, options.most_seconds)
        measure_apted(pairs)
        return
    measure_sizes(options.repeats)
    measure_hard()
    pairs = history_pairs(options.limit)
    measure_pairs("this repository's history", pairs)
    measure_apted(pairs)
    if options.releases:
        for name, found in release_pairs():
            measure_pairs(name, found)


if __name__ == "__main__":
    main()
