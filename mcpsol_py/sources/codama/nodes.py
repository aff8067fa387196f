"""What all readers of Codama nodes share: the names that links refer to, and the count of keys that
are not read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.types import Type, TypeDef
from mcpsol_py.sources.reader import (
    DocumentReader,
    expected,
    keys,
    named_objects,
    objects_in,
)

__all__ = ["MAX_DEPTH", "Node", "NodeReader", "expected_kind", "kind_name"]

MAX_DEPTH = 48

Node: TypeAlias = dict[str, Any]

#: Kind of node -> the keys that are read. Other keys are counted as not read.
_KNOWN: dict[str, frozenset[str]] = {
    kind: keys(f"kind {names}")
    for kind, names in {
        "rootNode": "standard version program additionalPrograms",
        "programNode": "name publicKey version origin docs accounts instructions definedTypes pdas"
        " events errors constants prefix",
        "instructionNode": "name docs optionalAccountStrategy accounts arguments remainingAccounts"
        " discriminators idlName display",
        "instructionAccountNode": "name isWritable isSigner isOptional docs defaultValue"
        " accountLink display",
        "instructionArgumentNode": "name defaultValueStrategy docs type defaultValue display",
        "structFieldTypeNode": "name defaultValueStrategy docs type defaultValue",
        "accountNode": "name size docs data pda discriminators idlName",
        "eventNode": "name docs data discriminators idlName",
        "definedTypeNode": "name docs type idlName",
        "numberTypeNode": "format endian",
        "instructionRemainingAccountsNode": "isOptional isSigner isWritable docs value",
    }.items()
}
#: What the keys that are not read are for.
_WHY_IGNORED = {
    "display": "how wallets show it",
    "byteDeltas": "rent that it takes or frees",
    "extraArguments": "inputs of a client's own code, not part of the data",
    "subInstructions": "narrower forms of the same instruction",
    "provides": "values for display",
    "status": "its life cycle",
    "plugins": "plug-ins of generators",
}


def kind_name(node: Node) -> str:
    """Return the kind of *node*, or "" if it has none."""
    kind = node.get("kind")
    return kind if type(kind) is str else ""


def expected_kind(kind: str, node: Node) -> SourceError:
    """Return the error for a node of the wrong kind."""
    found = abbr(node.get("kind"), 60)
    return SourceError(f"expected a node of kind {kind}, got {found}.", path="kind")


class NodeReader(DocumentReader):
    """Reads nodes: keeps the names of one document and counts the keys that are not read."""

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        #: (kind of node, key) -> how many nodes have a key that is not read
        self.ignored: Counter[tuple[str, str]] = Counter()
        #: qualified name -> definition, as far as they are read
        self.types: dict[str, TypeDef] = {}
        #: qualified names of all defined types, known before they are read
        self.defined: set[str] = set()
        #: name of a program -> its address
        self.programs: dict[str, str] = {}
        #: qualified name -> pdaNode
        self.pdas: dict[str, Node] = {}
        #: "program::" while an additional program is read
        self.space = ""

    def index(self, program: Node, space: str) -> None:
        """Collect the names of *program* that links may use before they are read."""
        name, address = program.get("name"), program.get("publicKey")
        if type(name) is str and type(address) is str:
            self.programs[name] = address
        for definition in named_objects(program.get("definedTypes")):
            self.defined.add(space + definition["name"])
        for pda in named_objects(program.get("pdas")):
            self.pdas.setdefault(space + pda["name"], pda)

    def space_of(self, program: str) -> str:
        """Return the prefix for names of *program*: "" for the main one."""
        main = next(iter(self.programs), None)
        return "" if program == main else f"{self.clean_name(program)}::"

    def items(self, node: Node, key: str) -> list[Any]:
        """Return the list of nodes node[key]; a missing one is empty."""
        items = node.get(key) or []
        nodes = objects_in(items)
        if nodes != items:
            raise expected("a list of nodes", items, path=key)
        return nodes

    def type(self, node: Any, depth: int = 0) -> Type:
        """Return the type that *node* writes (types.py)."""
        raise NotImplementedError

    # --- keys that are not read

    def count_unread(self, node: Node) -> None:
        """Count the keys of *node* that are not read."""
        kind: Any = node.get("kind")
        known = _KNOWN.get(kind) if type(kind) is str else None
        if known is not None and not known.issuperset(node):
            self._count_others(node, kind, known)

    def _count_others(self, node: Node, kind: str, known: frozenset[str]) -> None:
        for key in node.keys() - known:
            if node[key] not in (None, [], ""):
                shown = kind.removesuffix("Node").removesuffix("Type")
                self.ignored[shown, key] += 1

    def note_unread(self) -> None:
        """Record a finding for each kind of key that was not read."""
        for (kind, key), count in sorted(self.ignored.items()):
            owners = (
                f"{count} {kind.removesuffix('s')}s have"
                if count > 1
                else f"1 {kind} has"
            )
            use = f" ({_WHY_IGNORED[key]})" if key in _WHY_IGNORED else ""
            self.note(f"{owners} the key {abbr(key, 40)}{use}; not read", "", "info")
