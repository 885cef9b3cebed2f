"""Numbers in the address that are none."""

import pytest

from pages import Open


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [("ttft", "nan", "the TTFT limit as 'nan'"), ("share", "inf", "the share as 'inf'")],
)
def test_a_limit_that_is_no_number_is_refused(
    open_page: Open, key: str, value: str, named: str
) -> None:
    app = open_page("envelope", study="vllm-aiperf", **{key: value})
    assert not app.exception
    assert named in app.error[0].value.replace("\\", "")
    assert not app.title
