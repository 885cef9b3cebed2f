-- When tokens arrived, for the rates of a window.
--
-- A chunk's tokens count at its own instant. Where the source does not say how many tokens a chunk
-- carried, a request's tokens are spread evenly over its chunks. Requests that are known to lie
-- wholly inside the window or wholly outside need no look at their chunks. The window, of each run
-- its own where no other is asked for, is `from_us` to `to_us`.
CREATE MACRO token_instants(run_ids, start_us, end_us) AS TABLE
WITH begun AS (
    SELECT
        requests.*,
        window_end(start_us, bounds.first_us, bounds.n_placed) AS from_us,
        window_end(end_us, bounds.last_us, bounds.n_placed) AS to_us,
        coalesce(requests.sent_us, requests.scheduled_us) AS begun_us
    FROM requests
    INNER JOIN bounds USING (run_id)
    WHERE requests.phase = 'measured' AND list_contains(run_ids, requests.run_id)
)

SELECT
    run_id,
    request_index,
    prompt_tokens,
    output_tokens,
    outcome,
    latency_us,
    n_chunks,
    from_us,
    to_us,
    begun_us + ttft_us AS first_token_us,
    begun_us + latency_us AS completed_us,
    coalesce(
        begun_us + latency_us, ended_us, CASE WHEN n_chunks = 1 THEN begun_us + ttft_us END
    ) AS last_token_us
FROM begun;

CREATE MACRO chunk_instants(run_ids, start_us, end_us) AS TABLE
WITH straddling AS (
    SELECT *
    FROM token_instants(run_ids, start_us, end_us)
    WHERE
        output_tokens > 0
        AND first_token_us < to_us
        AND coalesce(last_token_us >= from_us, TRUE)
        AND coalesce(first_token_us < from_us OR last_token_us >= to_us, TRUE)
),

gaps AS (
    SELECT
        straddling.run_id,
        straddling.request_index,
        straddling.from_us,
        straddling.to_us,
        straddling.first_token_us,
        straddling.output_tokens / straddling.n_chunks AS tokens_per_chunk,
        chunks.chunk_tokens,
        unnest(list_prepend(0::INTEGER, chunks.chunk_gaps_us)) AS gap_us,
        generate_subscripts(list_prepend(0::INTEGER, chunks.chunk_gaps_us), 1) AS place
    FROM straddling
    INNER JOIN chunks
        ON
            straddling.run_id = chunks.run_id
            AND straddling.request_index = chunks.request_index
            AND chunks.phase = 'measured'
)

SELECT
    run_id,
    request_index,
    from_us,
    to_us,
    first_token_us + sum(gap_us) OVER (
        PARTITION BY run_id, request_index
        ORDER BY place
    ) AS at_us,
    coalesce(chunk_tokens[place], tokens_per_chunk) AS n_tokens
FROM gaps;
