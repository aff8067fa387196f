"""Limits on what the bridge signs: the policy of the wallet's owner, and the audit log of its sends."""

from mcpsol_py._moved import renamed
from mcpsol_py.bridge.policy.audit_log import AuditLog, verify_log
from mcpsol_py.bridge.policy.rules import (
    CLUSTERS,
    OutflowLimit,
    Policy,
    ProgramRule,
    cluster_of,
)

__all__ = [
    "CLUSTERS",
    "AuditLog",
    "OutflowLimit",
    "Policy",
    "ProgramRule",
    "cluster_of",
    "verify_log",
]


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
