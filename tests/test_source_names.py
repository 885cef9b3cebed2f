"""What the name of a result file says beside its load."""

import pytest

from headway import source_names


@pytest.mark.parametrize(
    ("name", "load", "folder", "file", "replicate"),
    [
        ("chunk256-rate4.json", 4, "", "chunk256", None),
        ("night/chunk256-rate4-rep2.json", 4, "night", "chunk256", "2"),
        ("chunk2048-seqs32-rep2/rate4-burst0.1/result.json", 4, "chunk2048-seqs32", "", "2"),
        ("vllm-4.0qps-Llama-3.1-8B-20260101-123456.json", 4, "", "vllm-Llama-3.1-8B", None),
        ("chunk-256-rate-4.json", 4, "", "chunk-256", None),
        ("chunk-4-rate-4.json", 4, "", "chunk-4", None),
        ("openai-infqps-concurrency8-m.json", None, "", "openai-m", None),
        ("Chunk256_QPS12.5_Run03.json", 12.5, "", "Chunk256", "03"),
        ("result-2026-05-12T10:02:11.json", 3, "", "", None),
        ("rate4/result.json", 4, "", "", None),
        ("a/4.json", 4, "a", "", None),
        ("a/4.json", 8, "a", "4", None),
        ("2048/rate4/result.json", 4, "2048", "", None),
        ("profile_export.jsonl", None, "", "", None),
        ("run1.json", 2, "", "", "1"),
        ("x.tar.gz", None, "", "x", None),
        ("", None, "", "", None),
    ],
)
def test_loads_times_and_replicates_are_no_part_of_a_family(
    name: str, load: float | None, folder: str, file: str, replicate: str | None
) -> None:
    assert source_names.read(name, load) == source_names.SourceName(folder, file, replicate)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["chunk256-seqs32", "chunk2048-seqs32"], ["chunk256", "chunk2048"]),
        (["vllm-a", "vllm-b-c"], ["a", "b-c"]),
        (["a", "a-b"], ["a", "a-b"]),
        (["alone"], ["alone"]),
        ([], []),
    ],
)
def test_words_that_all_names_share_are_left_out(names: list[str], short: list[str]) -> None:
    assert list(source_names.without_common_ends(names).values()) == short
