"""Mutants of the compiler of bodies: small edits of its sources, each of which must be noticed."""

from __future__ import annotations

from dataclasses import dataclass

_EXPRESSIONS = "render/handlers/expressions.py"
_STATEMENTS = "render/handlers/statements.py"
_DIALECTS = "render/handlers/dialects.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit: in a file below mcpsol_py, `old` becomes `new`."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = [
    # --- expressions as Rust
    Mutant(
        "a sum's named error is dropped",
        _EXPRESSIONS,
        '{call}.ok_or({self.error(node.error)})?")',
        '{call}.ok_or({_OVERFLOW})?")',
    ),
    Mutant(
        "a checked sum wraps",
        _EXPRESSIONS,
        'if node.how != "checked":\n            return Text(call)',
        'if True:\n            return Text(call.replace("checked", "wrapping", 1))',
    ),
    Mutant(
        "a wrapping sum saturates",
        _EXPRESSIONS,
        "            return Text(call)\n",
        '            return Text(call.replace("wrapping", "saturating"))\n',
    ),
    Mutant(
        "a saturating sum wraps",
        _EXPRESSIONS,
        "            return Text(call)\n",
        '            return Text(call.replace("saturating", "wrapping"))\n',
    ),
    Mutant(
        "addition subtracts",
        _EXPRESSIONS,
        "{node.how}_{node.operation}(",
        "{node.how}_{node.operation.replace('add', 'sub')}(",
    ),
    Mutant(
        "the remainder is the quotient",
        _EXPRESSIONS,
        "{node.how}_{node.operation}(",
        "{node.how}_{node.operation.replace('rem', 'div')}(",
    ),
    Mutant(
        "| is &",
        _EXPRESSIONS,
        "{left} {node.sign} {self.text(node.right)",
        "{left} {node.sign.replace('|', '&')} {self.text(node.right)",
    ),
    Mutant(
        "bits lose parentheses",
        _EXPRESSIONS,
        "{left} {node.sign} {self.text(node.right).at(Level.UNARY)}",
        "{self.typed(node.left).code} {node.sign} {self.text(node.right).code}",
    ),
    Mutant(
        "the smallest number is its own negative",
        _EXPRESSIONS,
        ".checked_neg().ok_or({self.error(node.error)})?",
        ".wrapping_neg()",
    ),
    Mutant(
        "a negation's named error is dropped",
        _EXPRESSIONS,
        ".checked_neg().ok_or({self.error(node.error)})?",
        ".checked_neg().ok_or({_OVERFLOW})?",
    ),
    Mutant(
        "a conversion cuts off",
        _EXPRESSIONS,
        "{wanted}::try_from({value}).map_err(|_| {self.error(node.error)})?",
        "(({value}) as {wanted})",
    ),
    Mutant(
        "a conversion's named error is dropped",
        _EXPRESSIONS,
        "map_err(|_| {self.error(node.error)})?",
        "map_err(|_| {_OVERFLOW})?",
    ),
    Mutant("a conversion cannot fail", _EXPRESSIONS, "if node.widens:", "if True:"),
    Mutant(
        "min is max",
        _EXPRESSIONS,
        ".{node.which}(",
        ".{'max' if node.which == 'min' else 'min'}(",
    ),
    Mutant(
        "max is min",
        _EXPRESSIONS,
        ".{node.which}(",
        ".{node.which.replace('max', 'min')}(",
    ),
    Mutant(
        "other addresses are the same",
        _EXPRESSIONS,
        'if node.sign == "==":',
        "if True:",
    ),
    Mutant(
        "<= is <",
        _EXPRESSIONS,
        "{first} {node.sign} {",
        "{first} {node.sign.replace('<=', '<')} {",
    ),
    Mutant(
        "> is >=",
        _EXPRESSIONS,
        "{first} {node.sign} {",
        "{first} {'>=' if node.sign == '>' else node.sign} {",
    ),
    Mutant(
        "and is or", _EXPRESSIONS, 'f" {node.sign} ".join(parts)', '" || ".join(parts)'
    ),
    Mutant(
        "conditions lose parentheses",
        _EXPRESSIONS,
        "parts = [self.text(part).at(Level.UNARY)",
        "parts = [self.text(part).code",
    ),
    Mutant(
        "not is lost",
        _EXPRESSIONS,
        'f"!{self.text(node.value).at(Level.ATOM)}"',
        'f"{self.text(node.value).at(Level.ATOM)}"',
    ),
    Mutant(
        "a choice takes the other value",
        _EXPRESSIONS,
        "{{ {yes} }} else {{ {no} }}",
        "{{ {no} }} else {{ {yes} }}",
    ),
    Mutant(
        "state is borrowed before it is read",
        _EXPRESSIONS,
        "sorted(node.arguments, key=_is_state)",
        "node.arguments",
    ),
    Mutant(
        "a helper's overflow keeps its name",
        _EXPRESSIONS,
        'if node.error is None:\n            return Text(f"{call}?")',
        'if True:\n            return Text(f"{call}?")',
    ),
    Mutant(
        "all errors of a helper are renamed",
        _EXPRESSIONS,
        "if error == {self.dialect.overflow} {{ {error}.into() }} else {{ error }}",
        "{{ let _ = error; {error}.into() }}",
    ),
    Mutant(
        "the slot is the epoch",
        _EXPRESSIONS,
        'Level.ATOM)}.{node.name}")\n\n    # --- operators',
        "Level.ATOM)}.{node.name.replace('slot', 'epoch')}\")\n\n    # --- operators",
    ),
    Mutant(
        "seven is eight",
        _EXPRESSIONS,
        "return Text(number(node.value), Level",
        "return Text(number(node.value + (node.value == 7)), Level",
    ),
    Mutant(
        "a fixed address is another one",
        _EXPRESSIONS,
        "new_from_array({byte_array(node.value)})",
        "new_from_array({byte_array(node.value[::-1])})",
    ),
    Mutant(
        "every variant is the first",
        _EXPRESSIONS,
        "{names.type}::{names.fields[node.name]}",
        "{names.type}::{next(iter(names.fields.values()))}",
    ),
    Mutant(
        "a flag is its opposite",
        _EXPRESSIONS,
        '"true" if node.value',
        '"true" if not node.value',
    ),
    Mutant(
        "fixed bytes are turned round",
        _EXPRESSIONS,
        "return Text(byte_array(node.value))",
        "return Text(byte_array(node.value[::-1]))",
    ),
    Mutant(
        "values that may be None differ",
        _EXPRESSIONS,
        'joined = " == ".join',
        'joined = " != ".join',
    ),
    Mutant(
        "an account is there if it is left out",
        _EXPRESSIONS,
        "[node.account]}.is_none()",
        "[node.account]}.is_some()",
    ),
    Mutant(
        "a struct in state stays as it was",
        _DIALECTS,
        "{{ let {new} = {value}; {call}; }}",
        "{{ let {new} = {value}; }}",
    ),
    Mutant(
        "an optional account is not compared",
        "render/handlers/build.py",
        "lines += _differ(names, dialect, one, other)",
        "lines += []",
    ),
    Mutant(
        "a value becomes None",
        _EXPRESSIONS,
        'f"Some({self.code(node.value)})"',
        '"None"',
    ),
    Mutant(
        "what a loop takes away is there",
        "bodies/loops.py",
        "if fact[0] not in changed",
        "if True",
    ),
    Mutant(
        "what one branch shows is known after both",
        "bodies/checker.py",
        "facts_then & facts_other",
        "facts_then | facts_other",
    ),
    Mutant(
        "something is None",
        _EXPRESSIONS,
        "(node.value)}.is_none()",
        "(node.value)}.is_some()",
    ),
    Mutant(
        "the rest of data begins at its start",
        _EXPRESSIONS,
        "crate::bytes::from({data}, {start})",
        "crate::bytes::from({data}, 0 * {start})",
    ),
    Mutant(
        "a part of data is longer",
        _EXPRESSIONS,
        "crate::bytes::part({data}, {start}, {self.code(node.stop)})",
        "crate::bytes::part({data}, {start}, 1 + {self.code(node.stop)})",
    ),
    Mutant(
        "bytes of an extension begin at its start",
        _EXPRESSIONS,
        ".is_zero({node.start}, ",
        ".is_zero(0, ",
    ),
    # --- the libraries
    Mutant(
        "require fails if its condition holds",
        _DIALECTS,
        'f"checks::ensure({condition}, {error})?;"',
        'f"checks::ensure(!({condition}), {error})?;"',
    ),
    Mutant(
        "one account may be in two places",
        _DIALECTS,
        'return f"checks::different({one}, {other})?;"',
        'return "();"',
    ),
    Mutant(
        "the destination is closed",
        _DIALECTS,
        'f"checks::close({account}, {destination})?;"',
        'f"checks::close({destination}, {account})?;"',
    ),
    Mutant("an event is not logged", _DIALECTS, ".emit()?;", ";"),
    Mutant(
        "accounts of a call are reversed",
        _DIALECTS,
        "accounts = [names.accounts[account] for _, account in call.accounts]",
        "accounts = [names.accounts[account] for _, account in reversed(call.accounts)]",
    ),
    Mutant(
        "the program does not sign",
        _DIALECTS,
        '        signers = ""\n        if call.signer is not None:',
        '        signers = ""\n        if False:',
    ),
    Mutant(
        "state is borrowed to read",
        _DIALECTS,
        '        if not writes:\n            return [\n                f"let {data} = {self.read',
        '        if True:\n            return [\n                f"let {data} = {self.read',
    ),
    # --- statements
    Mutant(
        "a borrow stays open when state is closed",
        "bodies/tree.py",
        "    OpenState,\n    CloseAccount,\n)",
        "    OpenState,\n)",
    ),
    Mutant(
        "a borrow stays open during a call",
        _STATEMENTS,
        'return [*lines, *give_back, f"{call};"]',
        'return [*lines, f"{call};"]',
    ),
    Mutant(
        "a condition before calls is read afterwards",
        _STATEMENTS,
        'return [f"let {name} = {head};", *give_back, *lines]',
        'return [*give_back, f"let {name} = {head};", *lines]',
    ),
    Mutant(
        "both blocks of an if are the first",
        _STATEMENTS,
        "other = self.block(statement.other, held, is_tail=is_tail)",
        "other = self.block(statement.then, held, is_tail=is_tail)",
    ),
    Mutant(
        "a range has its end",
        _EXPRESSIONS,
        'Text(f"{start}..{self.typed',
        'Text(f"{start}..={self.typed',
    ),
    Mutant(
        "break is continue",
        _STATEMENTS,
        'return f"{statement.word};"',
        'return "continue;"',
    ),
    Mutant(
        "continue is break",
        _STATEMENTS,
        'return f"{statement.word};"',
        'return "break;"',
    ),
    Mutant(
        "every raised error is the first",
        _STATEMENTS,
        "Err({self.names.errors[statement.error]}.into())",
        "Err({next(iter(self.names.errors.values()))}.into())",
    ),
    Mutant(
        "every required error is the first",
        _STATEMENTS,
        "self.dialect.require(condition, self.names.errors[statement.error])",
        "self.dialect.require(condition, next(iter(self.names.errors.values())))",
    ),
    Mutant(
        "variables are declared where they are first assigned",
        _STATEMENTS,
        "    return early - {name",
        "    return set() and early - {name",
    ),
    Mutant(
        "nothing is reassigned",
        _STATEMENTS,
        "is_mut = self.function.locals[name].is_reassigned or name in self.assigned_often",
        "is_mut = False",
    ),
    # --- type rules
    Mutant(
        "no accounts must differ",
        "bodies/aliases.py",
        "if not _is_compared(other) and",
        "if False and",
    ),
    Mutant(
        "x -= is x +=",
        "bodies/checker.py",
        "ast.BinOp(_as_value(node.target), node.op, node.value)",
        "ast.BinOp(_as_value(node.target), ast.Add(), node.value)",
    ),
    Mutant(
        "a case takes all other values",
        "bodies/checker.py",
        "ast.Compare(subject, [ast.Eq()], [part.value])",
        "ast.Compare(subject, [ast.NotEq()], [part.value])",
    ),
    Mutant(
        "with overflow names what follows too",
        "bodies/checker.py",
        "        self.context.overflow = outer\n",
        "",
    ),
    Mutant(
        "one path may leave a variable without a value",
        "bodies/checker.py",
        "context.assigned &= after_then",
        "context.assigned |= after_then",
    ),
    Mutant(
        "a loop gives variables a value",
        "bodies/checker.py",
        "        context.assigned = before\n",
        "",
    ),
    Mutant(
        "what is read can be written",
        "bodies/checker.py",
        "if not self.context.accounts[account].writable:",
        "if False:",
    ),
    Mutant(
        "helpers may recur",
        "bodies/checker.py",
        "if name in _reached(called, calls):",
        "if False:",
    ),
    Mutant(
        "statements follow a return",
        "bodies/checker.py",
        "            if leaves(out):",
        "            if False:",
    ),
    Mutant(
        "a function may end without its value",
        "bodies/checker.py",
        "if context.returns is not None and not leaves(body):",
        "if False:",
    ),
    Mutant(
        "widths mix",
        "bodies/expressions.py",
        "self.need(kind == without_none(b.type), right, why)",
        "self.need(True, right, why)",
    ),
    Mutant(
        "a number need not fit",
        "bodies/expressions.py",
        "if not low <= found.value <= high:",
        "if False:",
    ),
    Mutant(
        "signed numbers divide",
        "bodies/expressions.py",
        'not (kind.signed and operation in ("div", "rem"))',
        "True",
    ),
    Mutant(
        "i128 multiplies",
        "bodies/expressions.py",
        "self.need(not is_i128_product, node",
        "self.need(True, node",
    ),
    Mutant(
        "a number is a condition",
        "bodies/expressions.py",
        "if found.type in (BOOL, UNKNOWN):",
        "if found.type in (BOOL, UNKNOWN) or isinstance(found.type, Int):",
    ),
    Mutant(
        "24 - 60 is 84",
        "bodies/expressions.py",
        "ast.Sub: int.__sub__",
        "ast.Sub: int.__add__",
    ),
    Mutant(
        "addresses have an order",
        "bodies/expressions.py",
        "isinstance(kind, _NUMBERS) or is_equality",
        "True",
    ),
    Mutant(
        "nobody signs",
        "bodies/calls.py",
        "if account.pda is None or account.pda.program is not None:",
        "if False:",
    ),
    Mutant(
        "all is any",
        _EXPRESSIONS,
        "crate::items::{node.which}(",
        "crate::items::any(",
    ),
    Mutant(
        "a condition on items is its opposite",
        _EXPRESSIONS,
        'holds = f"Ok({self.code(condition)})"',
        'holds = f"Ok(!({self.code(condition)}))"',
    ),
    Mutant(
        "flags of a list are their opposites",
        _EXPRESSIONS,
        'decides = "Ok"',
        'decides = "|it| Ok(!it)"',
    ),
    Mutant(
        "zip leaves items out",
        _EXPRESSIONS,
        'f"crate::items::zip({other}, {joined})?"',
        'f"{other}.zip({joined})"',
    ),
    Mutant(
        "items are counted from one",
        _EXPRESSIONS,
        'f"(0_u64..).zip({joined})"',
        'f"(1_u64..).zip({joined})"',
    ),
    Mutant(
        "a value inside an expression has a variable's name",
        "render/handlers/names.py",
        "self.inside[name] = self.variables.take(name)",
        "self.inside[name] = name",
    ),
    Mutant(
        "a division may leave its loop",
        _EXPRESSIONS,
        'f"core::hint::black_box({text})" if may_move else text',
        "text",
    ),
    Mutant(
        "all counts what its filter leaves out",
        "bodies/calls.py",
        'if which == "all":',
        'if which == "any":',
    ),
    Mutant(
        "all and any have no filter",
        "bodies/calls.py",
        "ast.BoolOp(join, [*tests, condition])",
        "ast.BoolOp(join, [condition])",
    ),
    Mutant(
        "an item may have the name of a value",
        "bodies/calls.py",
        "self.need(name not in context.assigned, target, why)",
        "",
    ),
    Mutant(
        "an item lives on behind any",
        "bodies/function.py",
        "self.local_names, self.assigned, self.maybe_assigned = before",
        "pass",
    ),
    Mutant(
        "an item hides a name of the module",
        "bodies/checker.py",
        "isinstance(n, ast.Name) and n not in inner",
        "isinstance(n, ast.Name)",
    ),
    Mutant(
        "an expression changes state",
        "bodies/calls.py",
        "not signature.writes_state or node is self.whole",
        "True",
    ),
    Mutant(
        "a loop closes an account",
        "bodies/calls.py",
        "not self.context.loops",
        "True",
    ),
    Mutant(
        "an account is closed twice",
        "bodies/calls.py",
        "source not in self.context.closed",
        "True",
    ),
    Mutant(
        "a helper gets one account twice",
        "bodies/calls.py",
        "self.need(len(names) == len(set(names))",
        "self.need(True",
    ),
    Mutant(
        "every conversion widens",
        "bodies/calls.py",
        "widens = to_low <= low and high <= to_high",
        "widens = True",
    ),
    Mutant(
        "min takes a number without a width",
        "bodies/calls.py",
        "not self._is_bare(arg)",
        "True",
    ),
]
