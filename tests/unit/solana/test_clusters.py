"""Short names of clusters."""

from __future__ import annotations

import pytest

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.clusters import CLUSTER_URLS, cluster_url


@pytest.mark.parametrize("name", CLUSTER_URLS)
def test_a_name_is_a_url(name: str) -> None:
    assert cluster_url(name).startswith("http")
    assert RpcTransport(name).url == cluster_url(name)


def test_both_names_of_mainnet_are_one_cluster() -> None:
    assert cluster_url("mainnet") == cluster_url("mainnet-beta")


def test_a_url_is_itself() -> None:
    assert cluster_url("https://rpc.example.com/KEY") == "https://rpc.example.com/KEY"


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(TransportError, match="Did you mean 'devnet'"):
        RpcTransport("devent")


def test_a_url_of_another_scheme_is_not_shown() -> None:
    with pytest.raises(TransportError, match="expected an http") as caught:
        cluster_url("ws://rpc.example.com/KEY")
    assert "KEY" not in str(caught.value)
