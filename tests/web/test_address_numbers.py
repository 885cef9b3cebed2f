"""Numbers in the address that are none."""

from pages import Open


def test_a_limit_that_is_no_number_is_not_taken_from_the_address(open_page: Open) -> None:
    app = open_page("envelope", study="vllm-aiperf", ttft="nan", share="inf")
    assert not app.exception
    values = {each.key: each.value for each in app.number_input}
    assert (values["ttft"], values["share"]) == (2000.0, 90.0)
