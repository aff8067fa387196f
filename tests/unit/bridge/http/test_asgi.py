"""Headers of a request."""

from __future__ import annotations

import pytest

from mcpsol_py.bridge.http.asgi import bearer_token


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"Basic abc", ""),
        (b"abc", ""),
        (b"", ""),
        (b"Bearer \xff", "\u00ff"),
    ],
)
def test_the_token_of_a_request(header: bytes, token: str) -> None:
    assert (
        bearer_token({"type": "http", "headers": [(b"authorization", header)]}) == token
    )
