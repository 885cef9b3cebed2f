-- Output tokens over the makespan: from the first send to the last thing known of any request.
--
-- This is the throughput that most tools print. It includes the drain after the last arrival, so it
-- rises with the load even while requests queue; rates over the window do not.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @column run_id VARCHAR The run.
-- @column n_output_tokens BIGINT Output tokens of all requests; NULL where none are known.
-- @column makespan_s DOUBLE Length of the makespan in seconds; NULL without times.
-- @column output_tokens_per_s DOUBLE n_output_tokens ÷ makespan_s; NULL under one second.
WITH spans AS (
    SELECT
        run_id,
        sum(output_tokens)::BIGINT AS n_output_tokens,
        (
            max(coalesce(coalesce(sent_us, scheduled_us) + latency_us, ended_us))
            - min(coalesce(sent_us, scheduled_us))
        ) / 1000000.0 AS makespan_s
    FROM requests
    WHERE phase = 'measured' AND list_contains($run_ids::VARCHAR[], run_id)
    GROUP BY run_id
)

SELECT
    run_id,
    n_output_tokens,
    makespan_s,
    CASE WHEN makespan_s >= 1 THEN n_output_tokens / makespan_s END AS output_tokens_per_s
FROM spans
ORDER BY run_id
