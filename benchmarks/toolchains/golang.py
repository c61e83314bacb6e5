"""Go: the go command, 1.18 or later, offline. HumanEvalPack's use of testify is served by a package of ours.

The standard library is compiled once into a build cache with the data sets, which sandboxes read (about 40 MB, half a
minute). Tests belong to the solution's package, as Go's do, so a predeclared name (``true``, ``nil``, ``len``) or one
of the tests' that it declares anew makes it refused, and so does ``go:embed``.

The verdict: each test function is wrapped by one of ours that prints its key when it has passed and was not skipped;
``os.Exit`` and what is printed say nothing. Code of the solution can read the memory that holds the keys.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchmarks.base import Place, Test, Workspace
from benchmarks.data import home
from benchmarks.grading.bounds import PATIENCE
from benchmarks.toolchains.base import (
    Build,
    Refused,
    Suite,
    Toolchain,
    ToolMissing,
    drawn,
    masked,
    refuse_words,
    told,
)
from benchmarks.toolchains.names import declared

_INSIDE = Path(__file__).parent / "inside"
_TEST = re.compile(r"^func (Test[A-Z_]\w*)\(\s*(\w+)\s+\*testing\.T\s*\)", re.M)
_PREDECLARED = frozenset(
    """any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint
    uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max
    min new panic print println real recover""".split()  # noqa: SIM905 - as Go's specification lists them
)
# What solutions and tests import; anything else of the library is compiled when it is needed.
_LIBRARY = tuple(
    """bufio bytes container/heap container/list context crypto/md5 crypto/rand encoding/json errors flag fmt io math
    math/big math/bits math/cmplx math/rand os reflect regexp sort strconv strings sync sync/atomic testing
    text/tabwriter time unicode unicode/utf8""".split()  # noqa: SIM905
)
_ENV = {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GO111MODULE": "on"}
_MODULE = "module solution\n\ngo 1.18\n\nrequire github.com/stretchr/testify v1.0.0\n\n"
_MODULE += "replace github.com/stretchr/testify => ./_testify\n"


class Go(Toolchain):
    language = "go"
    needs = {"go": "golang-go"}

    def place(self) -> Place:
        self.find()
        folder, cache = _prepared()
        env = {**_ENV, "HOME": "/tmp", "GOCACHE": str(cache), "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin"}
        shown = [str(cache)] + ([] if str(folder).startswith("/usr/") else [str(folder)])
        return Place(env=env, read_only=tuple(shown))

    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        return [name for text in files.values() for name, _ in _TEST.findall(text.decode())]

    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        name, made = drawn(), dict(files)
        own = [path for path in files if path.endswith(".go") and path not in suite.files]
        if suite.kind == "program":
            test_files = {f"{name}x_test.go": f"{suite.before}\n{tests[0].body}"}
            made["go.mod"] = _MODULE.encode()
            made["_testify/go.mod"] = b"module github.com/stretchr/testify\n\ngo 1.18\n"
            made["_testify/assert/assert.go"] = (_INSIDE / "assert" / "assert.go").read_bytes()
        else:
            test_files = {path: text.decode() for path, text in suite.files.items() if path.endswith("_test.go")}
            made = {path: text for path, text in made.items() if path not in test_files}
        found = [each for path in own for each in declared("go", files[path])]
        refuse_words(found, test_files.values(), suite.names)
        if taken := sorted(_PREDECLARED & set(found)):
            raise Refused(f"it declares {', '.join(taken)} anew")
        if any(b"go:embed" in files[path] or b"go:linkname" in files[path] for path in own):
            raise Refused("it embeds files or links names")
        numbers = {}
        wanted = {test.id: n for n, test in enumerate(tests)}
        for path, text in test_files.items():
            for function, _ in _TEST.findall(text):
                numbers[function] = 0 if suite.kind == "program" else wanted.get(function, -1)
            # names that no solution knows, so that the files cannot be named either
            made[f"{drawn()}_{PurePosixPath(path).name}"] = _TEST.sub(rf"func {name}\1(\2 *testing.T)", text).encode()
        package = re.search(r"^package (\w+)", next(iter(test_files.values())), re.M)
        assert package is not None
        calls = []
        for function, number in numbers.items():
            mask, rest = masked(keys[tests[number].id] if number >= 0 else drawn().ljust(32))
            calls.append(
                f"func {function}(t *testing.T) {{\n\t{name}(t, {number}, {name}{function}, "
                f"[32]byte{{{_list(mask)}}}, [32]byte{{{_list(rest)}}})\n}}\n"
            )
        harness = (_INSIDE / "harness_test.go").read_text().replace("@NAME@", name).replace("@PACKAGE@", package[1])
        made[f"{drawn()}_test.go"] = (harness + "\n" + "\n".join(calls)).encode()
        return Build(
            made,
            [["go", "test", "-c", "-vet=off", "-o", "/tmp/tests", "."]],
            ["/tmp/tests", f"-test.timeout={PATIENCE * suite.run_s:.0f}s"],
            hidden=[path for path in made if path.endswith("_test.go")],
        )


@functools.cache
def _prepared() -> tuple[Path, Path]:
    """Go's own folder, and a build cache that has the standard library; made at the first call.

    Raises ToolMissing if Go cannot compile its own library here.
    """
    go = shutil.which("go")
    assert go is not None
    root, version = told([go, "env", "GOROOT", "GOVERSION"], _host()).split()
    cache = home() / "toolchains" / version / "cache"
    done = cache.parent / "done"
    if not done.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "go.mod").write_text("module ready\n\ngo 1.18\n")
            (place / "ready_test.go").write_text(
                'package ready\n\nimport "testing"\n\nfunc TestReady(t *testing.T) {}\n'
            )
            for command in (["build", *_LIBRARY], ["test", "-c", "-vet=off", "-o", "ready", "."]):
                built = subprocess.run(
                    [go, *command], cwd=place, env={**_host(), "GOCACHE": str(cache)}, capture_output=True, text=True
                )
                if built.returncode:
                    raise ToolMissing(f"go cannot compile its own library here: {built.stderr.strip()[-200:]}")
        done.touch()
    return Path(root).resolve(), cache.resolve()


def _host() -> dict[str, str]:
    return {**os.environ, **_ENV}


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


CHAIN = Go()
