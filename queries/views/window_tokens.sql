-- Tokens inside the window of the requests that reach over its start or end.
CREATE MACRO straddling_tokens(run_ids, start_us, end_us) AS TABLE
SELECT
    run_id,
    sum(n_tokens) AS n_tokens
FROM chunk_instants(run_ids, start_us, end_us)
WHERE at_us >= from_us AND at_us < to_us
GROUP BY run_id;
