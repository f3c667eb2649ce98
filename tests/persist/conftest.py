import pytest
from tests.persist.models import DATA

from bagwise import MILogisticRegression


@pytest.fixture(scope="session")
def fitted():
    return MILogisticRegression(random_state=0).fit(DATA.bags, DATA.y)
