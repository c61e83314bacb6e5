"""The grammars that a diff can use: which files are read by which, and what gives a symbol its name in each.

    register(Language("ruby", "tree_sitter_ruby", ("rb",), {"class": Definition(), "method": Definition()}))

adds one whose wheel is installed. Grammars are imported when the first file of their language is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node


@dataclass(frozen=True)
class Definition:
    """A kind of node that makes a level of a symbol path.

    Attributes:
        name: the grammar's field that holds the name. Followed as long as the node found has it too (C declarators).
        needs: a field without which the node only mentions the name (``struct point p;`` has no ``body``).
        of: the kinds of node that ``needs`` may hold; empty for any.
        owner: the field that holds the type that a method belongs to, where that is not the node around it (Go).
    """

    name: str = "name"
    needs: str = ""
    of: frozenset[str] = frozenset()
    owner: str = ""


@dataclass(frozen=True, eq=False)
class Language:
    """How to read one language.

    Attributes:
        name: as it stands in ``FileDiff.language``.
        grammar: the module of its tree-sitter wheel.
        endings: of file names, without the dot.
        definitions: kind of node -> where its name stands.
        wrappers: kinds of node around a definition that belong to it (decorators, ``export``).
        comments: kinds of node that are comments.
        function: the function of the module that gives the grammar.
    """

    name: str
    grammar: str
    endings: tuple[str, ...]
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    wrappers: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})
    function: str = "language"


def language_of(path: str) -> Language | None:
    """The language of a file by its name."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _BY_ENDING.get(ending) if dot else None


def register(language: Language) -> None:
    """Add a language. Raises ValueError if another one has an ending of it."""
    for ending in language.endings:
        if _BY_ENDING.get(ending, language).name != language.name:
            raise ValueError(f".{ending} files are {_BY_ENDING[ending].name}; leave the ending out of {language.name}")
    _BY_ENDING.update(dict.fromkeys(language.endings, language))


def own_name(node: Node, language: Language) -> str:
    """The symbol that a node defines, or "". A wrapper has the name of its one definition."""
    while node.type in language.wrappers:
        inner = [c for c in node.named_children if c.type in language.definitions or c.type in language.wrappers]
        if len(inner) != 1:
            return ""
        node = inner[0]
    rule = language.definitions.get(node.type)
    if rule is None:
        return ""
    if rule.needs:
        needed = node.child_by_field_name(rule.needs)
        if needed is None or (rule.of and needed.type not in rule.of):
            return ""
    name = node.child_by_field_name(rule.name)
    while name is not None and (inside := name.child_by_field_name(rule.name)) is not None and rule.name != "name":
        name = inside
    if name is None:
        return ""
    owner = node.child_by_field_name(rule.owner) if rule.owner else None
    return ".".join(filter(None, (_type_name(owner) if owner is not None else "", _plain(name))))


def _plain(name: Node) -> str:
    """A name as it stands in a symbol path: ``a::b<T>`` is a.b."""
    text = (name.text or b"").decode("utf-8", "replace")
    if text.isidentifier():
        return text
    return "".join(text.partition("<")[0].split()).replace("::", ".") if not text.startswith("operator") else text


def _type_name(node: Node) -> str:
    """The first name of a type in a subtree, in the order of the text."""
    todo = [node]
    while todo:
        node = todo.pop()
        if node.type == "type_identifier":
            return _plain(node)
        todo.extend(reversed(node.named_children))
    return ""


_NAMED = Definition()
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_JAVASCRIPT = {
    **dict.fromkeys(
        ("function_declaration", "generator_function_declaration", "class_declaration", "method_definition"), _NAMED
    ),
    "variable_declarator": Definition(needs="value", of=_FUNCTIONS),
    "field_definition": Definition("property", needs="value", of=_FUNCTIONS),
}
_TYPESCRIPT = {
    **_JAVASCRIPT,
    **dict.fromkeys(
        ("abstract_class_declaration", "interface_declaration", "enum_declaration", "type_alias_declaration",
         "internal_module", "module", "function_signature", "method_signature", "abstract_method_signature"), _NAMED
    ),
    "public_field_definition": Definition(needs="value", of=_FUNCTIONS),
}  # fmt: skip
_SCRIPT_WRAPPERS = frozenset({"export_statement", "lexical_declaration", "variable_declaration"})
_C = {
    "function_definition": Definition("declarator"),
    **dict.fromkeys(("struct_specifier", "union_specifier", "enum_specifier"), Definition(needs="body")),
}
_CPP = {
    **_C,
    "class_specifier": Definition(needs="body"),
    "namespace_definition": _NAMED,
    "concept_definition": _NAMED,
}

_BY_ENDING: dict[str, Language] = {}

PYTHON = Language(
    "python",
    "tree_sitter_python",
    ("py", "pyi"),
    dict.fromkeys(("function_definition", "class_definition"), _NAMED),
    frozenset({"decorated_definition"}),
)
for _language in (
    PYTHON,
    Language("javascript", "tree_sitter_javascript", ("js", "jsx", "mjs", "cjs"), _JAVASCRIPT, _SCRIPT_WRAPPERS),
    *(
        Language(
            name, "tree_sitter_typescript", endings, _TYPESCRIPT,
            _SCRIPT_WRAPPERS | {"ambient_declaration"}, function=f"language_{name}",
        )
        for name, endings in (("typescript", ("ts", "mts", "cts")), ("tsx", ("tsx",)))
    ),
    Language(
        "java",
        "tree_sitter_java",
        ("java",),
        dict.fromkeys(
            ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
             "annotation_type_declaration", "method_declaration", "constructor_declaration",
             "compact_constructor_declaration"), _NAMED
        ),
    ),
    Language(
        "go",
        "tree_sitter_go",
        ("go",),
        {"function_declaration": _NAMED, "type_spec": _NAMED, "method_declaration": Definition(owner="receiver")},
        frozenset({"type_declaration"}),
    ),
    Language(
        "rust",
        "tree_sitter_rust",
        ("rs",),
        {
            **dict.fromkeys(
                ("function_item", "function_signature_item", "struct_item", "enum_item", "union_item", "trait_item",
                 "mod_item", "macro_definition", "type_item"), _NAMED
            ),
            "impl_item": Definition("type"),
        },
    ),
    Language("c", "tree_sitter_c", ("c", "h"), _C),
    Language("cpp", "tree_sitter_cpp", ("cc", "cpp", "cxx", "hh", "hpp", "hxx"), _CPP,
             frozenset({"template_declaration"})),
):  # fmt: skip
    register(_language)
