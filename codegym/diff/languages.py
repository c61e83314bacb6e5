"""The grammars that a diff can use. A language is one line of :data:`LANGUAGES` and its wheel in the dependencies."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Tree


@dataclass(frozen=True)
class Language:
    """How to read one language.

    Attributes:
        grammar: the module of its tree-sitter wheel.
        definitions: kinds of node that have a ``name`` and make a level of a symbol path.
        wrappers: kinds of node around a definition that belong to it (decorators).
    """

    name: str
    grammar: str
    definitions: frozenset[str]
    wrappers: frozenset[str] = frozenset()


PYTHON = Language(
    "python",
    "tree_sitter_python",
    frozenset({"function_definition", "class_definition"}),
    frozenset({"decorated_definition"}),
)

#: By the end of the file's name.
LANGUAGES = {"py": PYTHON, "pyi": PYTHON}


def language_of(path: str) -> Language | None:
    """The language of a file by its name."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return LANGUAGES.get(ending) if dot else None


@lru_cache
def _parser(grammar: str) -> Parser:
    return Parser(Grammar(importlib.import_module(grammar).language()))


# An episode compares the same few files turn after turn, and the trajectories of a group start from the same ones.
@lru_cache(maxsize=64)
def parse(grammar: str, text: bytes) -> Tree:
    """The syntax tree of a text; 12 MB/s."""
    return _parser(grammar).parse(text)
