-- The requests behind one cell of the transitions from side A to side B, in order of arrival.
--
-- @param runs_a VARCHAR[] The runs on side A, one of each pair.
-- @param runs_b VARCHAR[] Their partners on side B.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @param a_outcome VARCHAR Outcome in A; NULL is the requests that A did not offer.
-- @param b_outcome VARCHAR Outcome in B; NULL is the requests that B did not offer.
-- @param n_rows BIGINT How many requests to return of each pair.
-- @column pair INTEGER The pair, from 0.
-- @column request_index INTEGER Position in the workload.
-- @column request_id VARCHAR Name in the source of A, else of B.
-- @column arrival_us BIGINT When it was due, from its run's zero.
-- @column prompt_tokens INTEGER Prompt length.
-- @column requested_output_tokens INTEGER Tokens asked for.
-- @column a_reason VARCHAR Why it left A, in the source's words.
-- @column b_reason VARCHAR Why it left B, in the source's words.
-- @column a_ttft_ms DOUBLE TTFT in A; NULL where it never came.
-- @column b_ttft_ms DOUBLE TTFT in B; NULL where it never came.
-- @column a_latency_ms DOUBLE Completion latency in A; NULL where it never completed.
-- @column b_latency_ms DOUBLE Completion latency in B; NULL where it never completed.
-- @column n BIGINT Requests of the pair in the cell, shown or not.
SELECT
    pair,
    request_index,
    coalesce(a.request_id, b.request_id) AS request_id,
    coalesce(a.arrival_us, b.arrival_us) AS arrival_us,
    coalesce(a.prompt_tokens, b.prompt_tokens) AS prompt_tokens,
    coalesce(a.requested_output_tokens, b.requested_output_tokens) AS requested_output_tokens,
    a.reason AS a_reason,
    b.reason AS b_reason,
    CASE WHEN isfinite(a.ttft_ms) THEN a.ttft_ms END AS a_ttft_ms,
    CASE WHEN isfinite(b.ttft_ms) THEN b.ttft_ms END AS b_ttft_ms,
    CASE WHEN isfinite(a.latency_ms) THEN a.latency_ms END AS a_latency_ms,
    CASE WHEN isfinite(b.latency_ms) THEN b.latency_ms END AS b_latency_ms,
    count(*) OVER (PARTITION BY pair) AS n
FROM
    side_of($runs_a::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $origin::VARCHAR) AS a
FULL JOIN
    side_of($runs_b::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $origin::VARCHAR) AS b
    USING (pair, request_index)
WHERE
    a.outcome::VARCHAR IS NOT DISTINCT FROM $a_outcome::VARCHAR
    AND b.outcome::VARCHAR IS NOT DISTINCT FROM $b_outcome::VARCHAR
QUALIFY
    row_number() OVER (
        PARTITION BY pair
        ORDER BY coalesce(a.arrival_us, b.arrival_us) NULLS LAST, request_index
    ) <= $n_rows::BIGINT
ORDER BY pair, arrival_us NULLS LAST, request_index
