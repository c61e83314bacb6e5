"""Java: a JDK of 11 or later. Exercises are run with JUnit 5 and AssertJ, from their Debian packages' jars.

Everything is compiled in one run of javac into one folder, so a solution cannot bring a second ``Main``; a class of its
own whose name is a word of the tests (``Arrays``, ``AssertionError``) would come before the library's and makes it
refused. Tests that are disabled for the learner are run.

The verdict: keys are local variables of our main method, which ends the process itself; ``System.exit`` and what is
printed say nothing. Code of the solution runs in that process and may, with reflection, do what our class does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchmarks.base import Place, Test, Workspace
from benchmarks.toolchains.base import Build, Refused, Suite, Toolchain, ToolMissing, drawn, masked, refuse_words
from benchmarks.toolchains.names import declared

_INSIDE = Path(__file__).parent / "inside"
_JARS = Path("/usr/share/java")
#: jar -> its Debian package
_NEEDED = {
    **dict.fromkeys(("junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params"), "junit5"),
    **dict.fromkeys(("junit-platform-commons", "junit-platform-engine", "junit-platform-launcher"), "junit5"),
    **dict.fromkeys(("opentest4j", "apiguardian-api"), "junit5"),
    **dict.fromkeys(("assertj-core", "byte-buddy"), "libassertj-core-java"),
}
_TEST = re.compile(r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b[^;{]*?\bvoid\s+(\w+)\s*\(", re.S)
# A small heap and one collector thread: many graders run at once. C1 alone, as programs are short.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx1g", "-Xss64m")


class Java(Toolchain):
    language = "java"
    needs = {"java": "default-jdk-headless", "javac": "default-jdk-headless"}

    def find(self, kind: str = "exercise") -> None:
        super().find(kind)
        if kind == "exercise":
            _jars()

    def place(self) -> Place:
        self.find("program")
        # Debian keeps a JDK's configuration below /etc, which is not shown
        shown = [str(path) for path in Path("/etc").glob("java-*") if path.is_dir()]
        return Place(env={"HOME": "/tmp"}, read_only=tuple(sorted(shown)))

    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        return [name for text in files.values() for name in _TEST.findall(text.decode())]

    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        name = drawn().upper()
        pairs = [masked(keys[test.id]) for test in tests]
        own = [path for path in files if path.endswith(".java") and path not in suite.files]
        words = [test.body for test in tests] + [text.decode() for text in suite.files.values()]
        refuse_words([each for path in own for each in declared("java", files[path])], words, suite.names)
        if suite.kind == "program":
            (mask, rest), jars = pairs[0], []
            parts = {"MASK": _list(mask), "REST": _list(rest)}
            extra = {"Main.java": f"{suite.before}\n{tests[0].body}".encode()}
        else:
            jars = _jars()
            listed = [path for path in suite.files if path.endswith("Test.java")]
            classes = [f"{PurePosixPath(path).stem}.class" for path in listed]
            parts = {
                "TESTS": ", ".join(json.dumps(test.id) for test in tests),
                "CLASSES": ", ".join(classes),
                "MASKS": ", ".join(f"{{{_list(mask)}}}" for mask, _ in pairs),
                "RESTS": ", ".join(f"{{{_list(rest)}}}" for _, rest in pairs),
            }
            extra = {}
        text = (_INSIDE / ("Harness.java" if suite.kind == "program" else "Listener.java")).read_text()
        for part, value in {"NAME": name, **parts}.items():
            text = text.replace(f"@{part}@", value)
        made = {**files, **extra, f"{name}.java": text.encode()}
        if any(b"\\u" in files[path] for path in own):
            raise Refused("its text has \\u escapes, which could hide what it declares")
        sources = [path for path in made if path.endswith(".java")]
        classpath = ":".join(["/tmp/classes", *jars])
        compile_ = ["javac", "-nowarn", "-proc:none", "-J-XX:TieredStopAtLevel=1", "-encoding", "UTF-8"]
        return Build(
            made,
            [[*compile_, "-d", "/tmp/classes", "-cp", classpath, *sources]],
            ["java", *_JVM, "-cp", classpath, name],
            hidden=[path for path in sources if path not in own],
        )


def _jars() -> list[str]:
    missing = {package for jar, package in _NEEDED.items() if not (_JARS / f"{jar}.jar").exists()}
    if missing:
        raise ToolMissing(f"java exercises need JUnit 5 and AssertJ: apt-get install {' '.join(sorted(missing))}")
    return [str((_JARS / f"{jar}.jar").resolve()) for jar in _NEEDED]


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


CHAIN = Java()
