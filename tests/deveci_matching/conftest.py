"""All tests of this paper run in the CPU executor."""

import pytest

from papers.common.gpu import device

pytest.register_assert_rewrite(
    "deveci_matching.examples",
    "deveci_matching.kernels.search",
    "deveci_matching.baselines.examples",
)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")
