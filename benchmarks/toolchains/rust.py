"""Rust: rustc, 2021 edition, and cargo once for the crates that tests and solutions use (``codegym prepare rust``).

Test functions are called one after another by a main function of ours, in place of libtest, whose results are printed
text. Ignored tests are run. A name of the tests' that the solution declares anew (a macro ``assert_eq``, a type
``Vec``) makes it refused; a build script is not run.

The verdict: a test's key is printed when it has returned, or panicked where it should; ``process::exit`` and what is
printed say nothing. What types of the solution say of their own equality is believed, as always in Rust. Code of the
solution can, with ``unsafe``, read the memory that holds the keys.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_rust

from benchmarks.base import Place, Test, Workspace
from benchmarks.data import home
from benchmarks.toolchains.base import Build, Suite, Toolchain, ToolMissing, drawn, masked, refuse_words, told
from benchmarks.toolchains.names import declared

_INSIDE = Path(__file__).parent / "inside"
#: kind of suite -> crate -> the version that HumanEvalPack's own harness has, and that most exercises ask for
CRATES = {
    "program": {"rand": "0.4", "regex": "1", "md5": "0.7"},
    "exercise": {
        "anyhow": "1",
        "counter": "0.5",
        "itertools": "0.5",
        "num-bigint": "0.4",
        "num-traits": "0.2",
        "permutohedron": "0.2",
        "rand": "0.8",
        "regex": "1",
        "thiserror": "1",
        "time": "0.3",
    },
}
#: Where Debian's packages of crates (librust-rand-dev, ...) keep their sources.
_DEBIAN = Path("/usr/share/cargo/registry")
_COMPILE = ("rustc", "--edition=2021", "-Awarnings", "-Copt-level=1", "-Cdebug-assertions=on", "-Ccodegen-units=1")


@dataclass(frozen=True)
class _Found:
    """A test function: its path, and whether it should panic."""

    path: str
    panics: bool


class Rust(Toolchain):
    language = "rust"
    needs = {"rustc": "rustc", "cargo": "cargo"}

    def find(self, kind: str = "exercise") -> None:
        super().find(kind)
        if kind == "program" and not (_folder() / kind / "done").exists():
            raise ToolMissing("HumanEvalPack's Rust needs crates: run `codegym prepare rust`")

    def place(self) -> Place:
        self.find()
        sysroot = _sysroot()
        shown = [] if str(sysroot).startswith("/usr") else [str(sysroot)]
        crates = [str(folder.resolve()) for kind in CRATES if ((folder := _folder() / kind) / "done").exists()]
        return Place(
            env={"HOME": "/tmp", "PATH": f"{sysroot}/bin:/usr/local/bin:/usr/bin:/bin"}, read_only=(*shown, *crates)
        )

    def prepare(self) -> str:
        """Get and compile the crates, once: from crates.io, else those that Debian's packages have."""
        super().find("exercise")
        return "; ".join(_prepared(kind) for kind in CRATES)

    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        return [each.path for path, text in files.items() if path.endswith(".rs") for each in _tests(text)[1]]

    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        name, made = drawn(), dict(files)
        own = [path for path in files if path.endswith(".rs") and path not in suite.files]
        words = [test.body for test in tests] + [text.decode() for text in suite.files.values()]
        refuse_words([each for path in own for each in declared("rust", files[path])], words, suite.names)
        modules, commands, calls = [], list[list[str]](), list[str]()
        linked = _linked(suite.kind, [*(files[path] for path in own), *suite.files.values()])
        wanted = {test.id: n for n, test in enumerate(tests)}
        if suite.kind == "program":
            text, found = _tests(re.sub(rb"#\[cfg\(test\)\]", b"", tests[0].body.encode()))
            main = suite.solution[0]
            made[f"{name}s.rs"] = made.pop(main, b"") + f'\n#[path = "{name}t.rs"]\npub mod {name}t;\n'.encode()
            # the row's tests say `use super::*` in a module of their own, which is one step further down here
            made[f"{name}t.rs"] = b"use super::*;\n" + text
            modules.append(f"mod {name}s;")
            listed = [(f"{name}s::{name}t::{each.path}", each, 0) for each in found]
        else:
            crate = _crate(files)
            commands.append(
                [
                    *_COMPILE,
                    "--crate-type=lib",
                    f"--crate-name={crate}",
                    *linked,
                    "-o",
                    f"/tmp/lib{crate}.rlib",
                    "src/lib.rs",
                ]
            )
            linked = [*linked, "--extern", f"{crate}=/tmp/lib{crate}.rlib"]
            listed = []
            for at, path in enumerate(path for path in suite.files if re.fullmatch(r"tests/[^/]+\.rs", path)):
                text, found = _tests(suite.files[path])
                made.pop(path)
                made[f"{name}{at}.rs"] = text
                modules.append(f"mod {name}{at};")
                listed += [(f"{name}{at}::{each.path}", each, wanted.get(each.path, -1)) for each in found]
        for path, each, number in listed:
            if number >= 0:
                mask, rest = masked(keys[tests[number].id])
                calls.append(f"    checked({number}, {str(each.panics).lower()}, {path}, {mask}, {rest});")
        harness = (_INSIDE / "harness.rs").read_text().replace("@CALLS@", "\n".join(calls))
        made[f"{name}.rs"] = ("\n".join(modules) + "\n" + harness).encode()
        commands.append([*_COMPILE, *linked, "-o", f"/tmp/{name}", f"{name}.rs"])
        return Build(made, commands, [f"/tmp/{name}"], hidden=[path for path in made if path.startswith(name)])


@functools.cache
def _sysroot() -> Path:
    return Path(told(["rustc", "--print", "sysroot"]).strip()).resolve()


@functools.cache
def _folder() -> Path:
    """Where the compiled crates are kept: they fit one version of rustc only."""
    return home() / "toolchains" / f"rust-{told(['rustc', '--version']).split()[1]}"


def _crate(files: Workspace) -> str:
    named = re.search(rb'^\s*name\s*=\s*"([\w-]+)"', files.get("Cargo.toml", b""), re.M)
    return named[1].decode().replace("-", "_") if named else "solution"


def _prepared(kind: str) -> str:
    """The crates of one kind of suites, compiled. Raises ToolMissing. What was done, in words."""
    folder, crates = _folder() / kind, CRATES[kind]
    if (folder / "done").exists():
        return f"{folder} is ready"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").write_text("")
    failed = _cargo(folder, crates)
    if failed:
        crates = {name: "*" for name in crates if any(_DEBIAN.glob(f"{name}-[0-9]*"))}
        offline = ("--offline", "--config", 'source.crates-io.replace-with="debian"')
        if not crates or _cargo(folder, crates, *offline, "--config", f'source.debian.directory="{_DEBIAN}"'):
            packages = " ".join(f"librust-{name}+default-dev" for name in CRATES[kind])
            raise ToolMissing(f"cargo cannot get the crates ({failed}): go online, or apt-get install {packages}")
    (folder / "done").touch()
    lacking = [name for name in CRATES[kind] if name not in crates]
    note = f" (from Debian's packages, as crates.io gave: {failed})" if failed else ""
    return f"{', '.join(crates)} in {folder}{note}" + (f", without {', '.join(lacking)}" if lacking else "")


def _cargo(folder: Path, crates: Mapping[str, str], *options: str) -> str:
    """Compile crates; the last line of what went wrong, "" if nothing did."""
    listed = "\n".join(f'{name} = "{version}"' for name, version in crates.items())
    package = '[package]\nname = "crates"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
    (folder / "Cargo.toml").write_text(f"{package}{listed}\n")
    (folder / "Cargo.lock").unlink(missing_ok=True)
    built = subprocess.run(["cargo", "build", "--release", *options], cwd=folder, capture_output=True, text=True)
    return (built.stderr.strip().splitlines() or ["no message"])[-1].strip() if built.returncode else ""


def _linked(kind: str, texts: Sequence[bytes]) -> list[str]:
    """What rustc is told to link: the crates of ours that the texts name."""
    names = [name.replace("-", "_") for name in CRATES[kind]]
    named = rb"\b(?:use|extern\s+crate)\s+(?:::)?%s\b|\b%s::"
    crates = [name for name in names if any(re.search(named % (2 * (name.encode(),)), text) for text in texts)]
    if not crates:
        return []
    folder = _folder() / kind
    deps = folder / "target" / "release" / "deps"
    if not (folder / "done").exists():
        raise ToolMissing(f"{', '.join(crates)} is used: run `codegym prepare rust`")
    found = []
    for name in crates:
        library = next(iter(sorted(deps.glob(f"lib{name}-*.rlib"))), None)
        if library is not None:
            found += ["--extern", f"{name}={library.resolve()}"]
    return [*found, "-L", f"dependency={deps.resolve()}"]


def _tests(source: bytes) -> tuple[bytes, list[_Found]]:
    """A text of tests as one whose test functions can be called from outside, and these functions."""
    tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language())).parse(source)
    found: list[_Found] = []
    changes: list[tuple[int, int, bytes]] = []

    def public(node: tree_sitter.Node) -> None:
        if not any(child.type == "visibility_modifier" for child in node.children):
            changes.append((node.start_byte, node.start_byte, b"pub "))

    for path, node, attributes in _functions(tree.root_node, ()):
        texts = [source[each.start_byte : each.end_byte] for each in attributes]
        if not any(re.fullmatch(rb"#\[\s*test\s*\]", text) for text in texts):
            continue
        found.append(_Found("::".join(path), any(b"should_panic" in text for text in texts)))
        public(node)
        for each, text in zip(attributes, texts, strict=True):
            if re.match(rb"#\[\s*(?:test|ignore|should_panic)\b", text):
                changes.append((each.start_byte, each.end_byte, b""))
    for node in _modules(tree.root_node):
        public(node)
    for start, end, new in sorted(changes, reverse=True):
        source = source[:start] + new + source[end:]
    return source, found


def _functions(
    node: tree_sitter.Node, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tree_sitter.Node, list[tree_sitter.Node]]]:
    """Functions of a module and those in it, with their attributes."""
    attributes: list[tree_sitter.Node] = []
    for child in node.children:
        if child.type == "attribute_item":
            attributes.append(child)
            continue
        name = child.child_by_field_name("name")
        if any(b"cfg(" in (each.text or b"") for each in attributes):
            attributes = []  # of a feature that is off
        elif child.type == "function_item" and name is not None and name.text:
            yield (*path, name.text.decode()), child, attributes
        elif child.type == "mod_item" and name is not None and name.text:
            body = child.child_by_field_name("body")
            if body is not None:
                yield from _functions(body, (*path, name.text.decode()))
        if child.type not in ("line_comment", "block_comment"):
            attributes = []


def _modules(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in node.children:
        if child.type == "mod_item":
            yield child
            body = child.child_by_field_name("body")
            if body is not None:
                yield from _modules(body)


CHAIN = Rust()
