"""Background jobs of payments: charges, reconciliation, webhooks, alerts, channel redemption.

Names are imported when they are first used, because the jobs need most other packages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcpsol_py._moved import renamed

if TYPE_CHECKING:
    from mcpsol_py.x402.worker.alerts import webhook_alert
    from mcpsol_py.x402.worker.periodic_jobs import PeriodicJob, PeriodicJobs, run_job
    from mcpsol_py.x402.worker.procrastinate_queue import run_on_procrastinate
    from mcpsol_py.x402.worker.reconcile import (
        reconcile_calls,
        reconcile_settlements,
        reconcile_spendings,
    )
    from mcpsol_py.x402.worker.seller_jobs import add_vouchers, merchant_jobs
    from mcpsol_py.x402.worker.webhooks import deliver_due, sign, verify
    from mcpsol_py.x402.worker.worker import Worker

__all__ = [
    "PeriodicJob",
    "PeriodicJobs",
    "Worker",
    "add_vouchers",
    "deliver_due",
    "merchant_jobs",
    "reconcile_calls",
    "reconcile_settlements",
    "reconcile_spendings",
    "run_job",
    "run_on_procrastinate",
    "sign",
    "verify",
    "webhook_alert",
]

_MODULES = {
    "PeriodicJob": "periodic_jobs",
    "PeriodicJobs": "periodic_jobs",
    "Worker": "worker",
    "add_vouchers": "seller_jobs",
    "deliver_due": "webhooks",
    "merchant_jobs": "seller_jobs",
    "reconcile_calls": "reconcile",
    "reconcile_settlements": "reconcile",
    "reconcile_spendings": "reconcile",
    "run_job": "periodic_jobs",
    "run_on_procrastinate": "procrastinate_queue",
    "sign": "webhooks",
    "verify": "webhooks",
    "webhook_alert": "alerts",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        return renamed(__name__, name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
