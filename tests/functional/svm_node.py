"""A URL at which mcpsol_py.client.svm_rpc answers: what talks to a node can be tested where no validator is installed.
tests/functional/validator/ holds the client against a real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from mcpsol_py.client.svm_rpc import GENESIS, SvmNode
from tests.support.loopback import Handler, serving

__all__ = ["GENESIS", "SvmNode", "listening"]


@contextmanager
def listening(node: SvmNode) -> Iterator[str]:
    """The URL at which *node* listens, with an API key in it as providers have."""

    class AsANode(Handler):
        def do_POST(self) -> None:
            raw = self.body()
            if {json.loads(raw)["method"], "*"} & set(node.down):
                self.answer(b"down", 503)
            else:
                self.answer(node.respond(raw))

    with serving(AsANode) as url:
        yield f"{url}/v2/API-KEY?token=TOKEN"
