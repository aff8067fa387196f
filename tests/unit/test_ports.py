from __future__ import annotations

import socket

from tests.ports import free_port


def test_ports_are_given_once_and_not_those_that_connections_get() -> None:
    given = [free_port() for _ in range(200)]
    assert len(set(given)) == 200
    assert max(given) < 32_768


def test_a_port_with_a_listener_in_its_row_is_passed_over() -> None:
    with socket.socket() as taken:
        first = free_port(5)
        taken.bind(("127.0.0.1", first + 7))  # in the next five
        taken.listen()
        following = free_port(5)
        assert not following <= first + 7 < following + 5
