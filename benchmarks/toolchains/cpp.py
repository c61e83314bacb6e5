"""C++: g++, C++17. Exercises of Exercism's track are written for Catch 2, whose header comes with them.

A function's tests are compiled apart from it, by its prototype, so that no macro of the solution reaches them; their
``assert`` is ours. Of an exercise the tests include the solution's header, as they must: a macro there whose name is a
word of the tests, or Catch's, makes the solution refused.

The verdict: keys are in the tests' part of the program, whose functions win over the solution's where both have one.
Code of the solution runs in that process and can read its memory; what was written to find a masked key there does.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.base import Place, Test, Workspace
from benchmarks.data import home
from benchmarks.toolchains.base import (
    BUILD_S,
    LIMITS,
    Build,
    Refused,
    Suite,
    Toolchain,
    drawn,
    masked,
    refuse_words,
)
from benchmarks.toolchains.names import declared
from sandbox import SandboxError, open_sandbox

_INSIDE = Path(__file__).parent / "inside"
_COMPILE = ("g++", "-std=c++17", "-w", "-O1")
_CATCH = "test/catch.hpp"
_MAIN = "test/tests-main.cpp"
# Tests of one object: Catch's own, compiled once. Debug checks off, as speed is all that they cost.
_CASE = re.compile(r'\bTEST_CASE(?:_METHOD)?\s*\(\s*(?:\w+\s*,\s*)?"((?:[^"\\]|\\.)*)"')
_BENCHMARKS = re.compile(r"^#\s*if[^\n]*\bEXERCISM_INCLUDE_BENCHMARK\b.*?^#\s*endif", re.M | re.S)  # measure, not test
_CHECKS = re.compile(r"\bint\s+main\s*\(\s*(?:void)?\s*\)")
_HEADERS = (".h", ".hpp", ".hh")


class Cpp(Toolchain):
    language = "cpp"
    needs = {"g++": "g++"}

    def place(self) -> Place:
        self.find()
        return Place(env={"HOME": "/tmp"})

    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        texts = [_BENCHMARKS.sub("", text.decode()) for path, text in files.items() if path.endswith("_test.cpp")]
        found = [name for text in texts for name in _CASE.findall(text)]
        return [json.loads(f'"{name}"') for name in found]

    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        return (self._program if suite.kind == "program" else self._exercise)(suite, keys, tests, files)

    def _program(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        name, main = drawn(), suite.solution[0]
        mask, rest = masked(keys[tests[0].id])
        checks = re.sub(r"^\s*#\s*(?:undef NDEBUG|include\s*<assert\.h>)\s*$", "", tests[0].body, flags=re.M)
        checks, count = _CHECKS.subn(f"static void {name}_checks()", checks)
        if count != 1:
            raise ValueError(f"the tests of {main} have {count} main functions instead of one")
        filled = _filled("harness.cpp", NAME=name, CHECKS=checks, MASK=_list(mask), REST=_list(rest))
        made = {**files, f"{name}.cpp": f"{suite.before}\n{filled}".encode()}
        return Build(
            made,
            [
                [*_COMPILE, "-c", main, "-o", "/tmp/solution.o"],
                [*_COMPILE, "-c", f"{name}.cpp", "-o", f"/tmp/{name}.o"],
                # the tests' object first: of two definitions (a helper that both have) the first is taken
                [
                    "g++",
                    "-Wl,-z,muldefs",
                    f"/tmp/{name}.o",
                    "/tmp/solution.o",
                    "-lcrypto" if "openssl/" in suite.before else "-lm",
                    "-o",
                    f"/tmp/{name}",
                ],
            ],
            [f"/tmp/{name}"],
            hidden=[f"{name}.cpp", f"/tmp/{name}.o"],
        )

    def _exercise(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        name = drawn()
        (test_file,) = (path for path in suite.files if path.endswith("_test.cpp"))
        macros = [
            each
            for path in files
            if path.endswith(_HEADERS) and path not in suite.files
            for each in declared("cpp", files[path])
        ]
        refuse_words(macros, [suite.files[test_file].decode()], suite.names)
        for each in macros:
            if "CATCH" in each:
                raise Refused(f"it defines {each}, which is Catch's")
        rows = []
        for test in tests:
            mask, rest = masked(keys[test.id])
            rows.append((json.dumps(test.id), _list(mask), _list(rest)))
        listed = "\n".join(
            f"static const unsigned char mask{n}[] = {{{mask}}}, rest{n}[] = {{{rest}}};"
            for n, (_, mask, rest) in enumerate(rows)
        )
        listed += (
            "\nstatic const Key keys[] = {"
            + ", ".join(f"{{{text}, mask{n}, rest{n}}}" for n, (text, _, _) in enumerate(rows))
            + "};"
        )
        recorder = _filled("listener.cpp", NAME=name, KEYS=listed)
        source = (
            b'#define CATCH_CONFIG_EXTERNAL_INTERFACES\n#include "test/catch.hpp"\n'
            + suite.files[test_file]
            + b"\n"
            + recorder.encode()
        )
        sources = [path for path in files if path.endswith(".cpp") and path not in suite.files]
        compile_ = [*_COMPILE, "-I.", "-DEXERCISM_RUN_ALL_TESTS", "-pthread"]
        objects = [f"/tmp/solution{n}.o" for n in range(len(sources))]
        made = {**files, f"{name}.cpp": source, "catch_main.o": _catch(suite.files[_CATCH])}
        return Build(
            {path: content for path, content in made.items() if path not in (test_file, _MAIN)},
            [
                *([*compile_, "-c", path, "-o", made_] for path, made_ in zip(sources, objects, strict=True)),
                [*compile_, "-O0", "-c", f"{name}.cpp", "-o", f"/tmp/{name}.o"],
                ["g++", "-pthread", "-Wl,-z,muldefs", f"/tmp/{name}.o", "catch_main.o", *objects, "-o", f"/tmp/{name}"],
            ],
            [f"/tmp/{name}"],
            hidden=[f"{name}.cpp", f"/tmp/{name}.o"],
        )


@functools.cache
def _catch(header: bytes) -> bytes:
    """Catch's own object, for this version of its header: compiled once, and kept with the data sets."""
    folder = home() / "toolchains" / "cpp"
    kept = folder / f"catch-{hashlib.sha256(header).hexdigest()[:16]}.o"
    if kept.exists():
        return kept.read_bytes()
    with open_sandbox(limits=LIMITS) as box:
        box.write({"catch.hpp": header, "main.cpp": b'#define CATCH_CONFIG_MAIN\n#include "catch.hpp"\n'})
        built = box.run([*_COMPILE, "-O0", "-c", "main.cpp", "-o", "main.o"], timeout=BUILD_S)
        if built.exit_code or built.timed_out:
            raise SandboxError(f"Catch does not build here: {built.stderr[-300:].decode(errors='replace')}")
        made = box.read("main.o")
    folder.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(f".{drawn()}")
    new.write_bytes(made)
    new.replace(kept)
    return made


def _filled(name: str, **parts: str) -> str:
    text = (_INSIDE / name).read_text()
    for part, value in parts.items():
        text = text.replace(f"@{part}@", value)
    return text


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


CHAIN = Cpp()
