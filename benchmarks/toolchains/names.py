"""What a solution declares at its top, where it could stand in for a name that the tests use. Read with tree-sitter."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator

import tree_sitter

# language -> the module of its grammar, and where a node of a kind keeps the name that it declares
_KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "cpp": ("tree_sitter_cpp", {"preproc_def": "name", "preproc_function_def": "name"}),
    "java": (
        "tree_sitter_java",
        dict.fromkeys(("class_declaration", "interface_declaration", "enum_declaration", "record_declaration"), "name"),
    ),
    "go": (
        "tree_sitter_go",
        dict.fromkeys(("function_declaration", "type_spec", "type_alias", "var_spec", "const_spec"), "name"),
    ),
    "rust": (
        "tree_sitter_rust",
        dict.fromkeys(
            (
                *("macro_definition", "function_item", "struct_item", "enum_item", "trait_item", "type_item"),
                *("union_item", "mod_item", "const_item", "static_item"),
            ),
            "name",
        ),
    ),
}
# What is inside these is local, or belongs to what it stands in.
_INSIDE = {
    *("block", "class_body", "interface_body", "enum_body", "record_body", "constructor_body"),
    *("declaration_list", "field_declaration_list", "token_tree"),
}


@functools.cache
def _parser(language: str) -> tree_sitter.Parser:
    grammar = importlib.import_module(_KINDS[language][0])
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def declared(language: str, source: bytes) -> set[str]:
    """The names at the top of a source text: macros of C++, types of Java, package names of Go, items of Rust.

    A text that does not parse gives what is found in it: it will hardly compile.
    """
    kinds = _KINDS[language][1]
    parser = _parser(language)
    found: set[str] = set()
    for node in _top(parser.parse(source).root_node, all_levels=language == "cpp"):
        if node.type in kinds:
            for name in node.children_by_field_name(kinds[node.type]):
                found.add(name.text.decode(errors="replace") if name.text else "")
    return found


def _top(root: tree_sitter.Node, *, all_levels: bool) -> Iterator[tree_sitter.Node]:
    """Nodes in order. A macro may be defined anywhere, so for C++ all of them; else what is not inside of something."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if all_levels or node.type not in _INSIDE:
            waiting += node.children
