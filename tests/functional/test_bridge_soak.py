"""Twenty seconds of `python -m benchmarks soak`, which runs for five minutes. Part of `make full`."""

import pytest

from benchmarks.bench_soak import soak, told


@pytest.mark.full
def test_two_hundred_clients_get_answers_and_memory_stays() -> None:
    out = soak(20, 200)
    print(told(out))
    assert +out.errors == {}
    # Each client was answered; how fast is the benchmark's matter.
    assert out.calls >= 200
    assert out.growth <= 20
