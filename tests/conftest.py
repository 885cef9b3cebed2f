"""What every test shares: settings, and libraries of real results."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from headway import catalog, ingest

TESTS = Path(__file__).parent
SAMPLES = TESTS.parent / "sample_data"

# No deadline: a machine under load is not a failed property.
settings.register_profile("desk", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is known of run files in a folder of the tests, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def real_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of every real result among the importers' fixtures."""
    library = tmp_path_factory.mktemp("real") / "library"
    sources = [TESTS / "importers" / name for name in ("vllm", "vidur")]
    assert ingest.import_paths(sources, library).imported
    return library


@pytest.fixture(scope="session")
def real(real_library: Path) -> catalog.Catalog:
    return catalog.open_catalog([real_library])


@pytest.fixture(scope="session")
def study() -> catalog.Catalog:
    """Return the sample study: 20 complete simulations of one workload, and one cut off."""
    return catalog.open_catalog([SAMPLES / "vidur-azure-conversation"])
