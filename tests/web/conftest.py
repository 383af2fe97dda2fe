"""What the web tests share: one server for all that leave no trace in it."""

import pytest
from served import served


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server"), wait=0.6, seconds=1.5, canary="CANARY-7731") as running:
        yield running
