-- The worst requests of a metric: lost ones first, in order of arrival, then the slowest.
--
-- @param run_ids VARCHAR[] Runs to search.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param metric VARCHAR ttft_ms, tpot_ms, stall_ms or latency_ms.
-- @param basis VARCHAR Population: offered, completed or source.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @param n_rows BIGINT How many requests to return per run.
-- @column run_id VARCHAR The run.
-- @column request_index INTEGER Position in the workload.
-- @column request_id VARCHAR Name in the source.
-- @column outcome VARCHAR What became of it.
-- @column reason VARCHAR Why it left, in the source's words.
-- @column value_ms DOUBLE Its value; NULL where it never delivered.
-- @column arrival_us BIGINT Scheduled time, or the send where earlier or alone known, from the run's zero.
-- @column prompt_tokens INTEGER Prompt length.
-- @column output_tokens INTEGER Tokens delivered, as the source counts them.
-- @column requested_output_tokens INTEGER Tokens asked for.
WITH ranked AS (
    SELECT
        sample.run_id,
        sample.request_index,
        request.request_id,
        request.outcome::VARCHAR AS outcome,
        request.reason,
        sample.value_ms,
        arrived_us(request.scheduled_us, request.sent_us) AS arrival_us,
        request.prompt_tokens,
        request.output_tokens,
        request.requested_output_tokens,
        row_number() OVER (
            PARTITION BY sample.run_id
            ORDER BY sample.value_ms DESC, arrival_us, sample.request_index
        ) AS place
    FROM
        samples(
            $run_ids::VARCHAR[],
            $start_us::BIGINT,
            $end_us::BIGINT,
            'none',
            $metric::VARCHAR,
            $basis::VARCHAR,
            $origin::VARCHAR
        ) AS sample
    INNER JOIN requests AS request
        ON
            sample.run_id = request.run_id
            AND sample.request_index = request.request_index
            AND request.phase = 'measured'
    WHERE sample.value_ms IS NOT NULL
)

SELECT
    run_id,
    request_index,
    request_id,
    outcome,
    reason,
    CASE WHEN isfinite(value_ms) THEN value_ms END AS value_ms,
    arrival_us,
    prompt_tokens,
    output_tokens,
    requested_output_tokens
FROM ranked
WHERE place <= $n_rows::BIGINT
ORDER BY run_id, place
