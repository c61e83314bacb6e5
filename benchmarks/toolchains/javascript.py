"""JavaScript: node. Exercises of Exercism's track are written for Jest; a harness of our own runs them without it.

``expect`` has the matchers that these exercises use (inside/harness.mjs); another one fails its test, so ``codegym
check`` finds it. Tests marked ``xtest`` or ``skip`` run too. Imports may lack ``.js``, as with Babel.

The verdict: the built-ins are frozen (``--frozen-intrinsics``) and their names locked before the solution is loaded,
so it cannot make ``JSON.stringify`` or ``===`` on it say what tests want; the harness keeps its functions and keys in
its own scope and removes its file first. Node's inspector can still show them to code that was written for it.
"""

from __future__ import annotations

import functools
import json
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from benchmarks.base import Place, Test, Workspace
from benchmarks.toolchains.base import Build, Suite, Toolchain, drawn, masked

_HARNESS = Path(__file__).parent / "inside" / "harness.mjs"
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}/[^'"]+)\2""")
_SITE = re.compile(r"^([ \t]*)(?:x|f)?(?:test|it)((?:\.(?:only|skip))?(?:\.each\([^)]*\))?)(?=\s*\(|\.each)", re.M)
_NAME = re.compile(r"""\s*\(\s*(['"`])((?:\\.|(?!\1).)*)\1""", re.S)
_FILE = re.compile(r"\.(?:c|m)?js$|\.json$")
# The one package that HumanEvalPack's rows use.
_MD5 = b"""const { createHash } = require('crypto');
module.exports = (text) => createHash('md5').update(text).digest('hex');
"""


class JavaScript(Toolchain):
    language = "javascript"
    needs = {"node": "nodejs"}

    def place(self) -> Place:
        self.find()
        return Place(env={"HOME": "/tmp"})

    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        names: list[str] = []
        for content in files.values():
            text = content.decode()
            for number, found in enumerate(_SITE.finditer(text), start=1):
                named = _NAME.match(text, found.end())
                name = named[2] if named else f"test {number}"
                names.append(name if name not in names else f"{name} ({len(names) + 1})")
        return names

    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        site, harness = drawn(), f"{drawn()}.mjs"
        made = dict(files)
        if suite.kind == "program":
            main = suite.solution[0]
            given = ", ".join(suite.names)
            made[main] = files.get(main, b"") + f"\n;module.exports = {{ {given} }};\n".encode()
            made["package.json"] = b'{"type": "commonjs"}'
            made["node_modules/js-md5/index.js"] = _MD5
            # in a module, so strict: the solution cannot reach this function, and its text, through `caller`
            program = f"(({{ {given}, console, require }}) => {{\n{tests[0].body}\n}})"
            order, ran = [0], [f"./{main}"]
        else:
            program, ran, specs = "null", [], list[str]()
            count = 0

            def numbered(found: re.Match[str]) -> str:
                nonlocal count
                count += 1
                return f"{found[1]}{site}({count - 1}){found[2]}"

            older = {
                path.removesuffix(".js") for path, content in files.items() if path.endswith(".js") and _older(content)
            }
            scripts = {path: content for path, content in files.items() if path.endswith(".js")}
            if len(older) == len(scripts):  # all may keep their names, by which tests may start them
                older = set()
                made["package.json"] = b'{"type": "commonjs"}'
            else:
                made["package.json"] = b'{"type": "module"}'
            for path, content in scripts.items():
                renamed = path.removesuffix(".js") + ".cjs" if path.removesuffix(".js") in older else path
                ending = functools.partial(_with_ending, older, posixpath.dirname(path))
                text = _IMPORT.sub(ending, content.decode(errors="surrogateescape"))
                if path in suite.files and path.endswith((".spec.js", ".test.js")):
                    text = _SITE.sub(numbered, text)
                    specs.append(path)
                    ran.append(renamed)
                del made[path]
                made[renamed] = text.encode(errors="surrogateescape")
            every = self.tests({path: suite.files[path] for path in specs})
            order = [every.index(test.id) for test in tests]
        pairs = {at: masked(keys[test.id]) for at, test in zip(order, tests, strict=True)}
        # sites that are not asked for get a key that nobody knows
        hidden = [
            pairs.get(at) or masked(drawn()) for at in range(max(order) + 1 if suite.kind == "program" else len(every))
        ]
        head = (
            f"const KEYS = {json.dumps(hidden)};\nconst SITE = {json.dumps(site)};\n"
            f"const FILES = {json.dumps(ran)};\nconst PROGRAM = {program};\n"
        )
        made[harness] = (head + _HARNESS.read_text()).encode()
        return Build(made, (), ["node", "--no-warnings", "--frozen-intrinsics", harness])


def _older(content: bytes) -> bool:
    """Whether a file is a CommonJS module: node wants to know it by its ending, where Babel takes both."""
    modern = re.search(rb"^\s*(?:import\b[^(]|export\b)", content, re.M)
    return not modern and re.search(rb"\brequire\(|\bexports\b", content) is not None


def _with_ending(older: Collection[str], folder: str, found: re.Match[str]) -> str:
    path = found[3].removesuffix(".js")
    if _FILE.search(path):
        return found[0]
    ending = ".cjs" if posixpath.normpath(posixpath.join(folder, path)) in older else ".js"
    return f"{found[1]}{found[2]}{path}{ending}{found[2]}"


CHAIN = JavaScript()
