"""A damaged run on the pages: one warning that names it, and the other runs."""

from pathlib import Path

import pyarrow.parquet as pq

from libraries import make_run, offered, write
from pages import Open


def test_the_page_says_which_run_was_left_out_and_why(open_page: Open, tmp_path: Path) -> None:
    write(make_run(offered(60, 57), "r0"), tmp_path)
    for name in ("r1", "r2"):
        path = write(make_run(offered(60, 60), name), tmp_path)
        table = pq.read_table(path)
        pq.write_table(table.slice(1).replace_schema_metadata(table.schema.metadata), path)
    app = open_page("runs", tmp_path)
    assert not app.exception
    (said,) = [each.value.replace("\\", "") for each in app.warning if "left out" in each.value]
    assert "r1.parquet" in said
    assert "r2.parquet" in said
    assert "rows_sha256" in said
    assert "r0.parquet" not in said
