-- One row per value of a metric: the delivered values in milliseconds, and +infinity for every
-- request of the population that never delivered. A value the source does not know is NULL on the
-- populations of survivors and +infinity among the offered, so that it can improve nothing.
-- Answers of one token have no cadence and leave the population of TPOT and longest stall.
CREATE VIEW chunks AS
SELECT
    run_id,
    request_index,
    phase,
    chunk_gaps_us,
    chunk_tokens
FROM request_files;

CREATE MACRO samples(run_ids, start_us, end_us, wanted, metric, basis, origin) AS TABLE
WITH population AS (
    SELECT
        *,
        origin_used(origin, n_placed, has_schedule) AS origin_of_run
    FROM stratified(run_ids, start_us, end_us, wanted)
    WHERE is_in_basis(basis, outcome, source_success)
),

per_request AS (
    SELECT
        run_id,
        request_index,
        stratum,
        stratum_order,
        is_delivered(metric, basis, outcome) AS delivered,
        NOT delivered OR is_applicable(metric, output_tokens, n_chunks) AS applicable,
        basis = 'source' OR outcome = 'completed' AS succeeded,
        metric_us(
            metric,
            ttft_us,
            latency_us,
            output_tokens,
            max_gap_us,
            coalesce(slip_us(origin_of_run, scheduled_us, sent_us), 0)
        ) / 1000 AS known_ms
    FROM population
    WHERE metric != 'gap_ms'
)

SELECT
    run_id,
    request_index,
    stratum,
    stratum_order,
    applicable,
    applicable AND succeeded AND known_ms IS NULL AS unknown,
    CASE
        WHEN NOT applicable THEN NULL
        WHEN delivered AND known_ms IS NOT NULL THEN known_ms
        WHEN basis = 'offered' THEN 'infinity'::DOUBLE
    END AS value_ms
FROM per_request
UNION ALL
SELECT
    population.run_id,
    population.request_index,
    population.stratum,
    population.stratum_order,
    TRUE AS applicable,
    chunks.chunk_gaps_us IS NULL AS unknown,
    unnest(coalesce(chunks.chunk_gaps_us, [NULL])) / 1000.0 AS value_ms
FROM population
INNER JOIN chunks
    ON
        population.run_id = chunks.run_id
        AND population.request_index = chunks.request_index
        AND population.phase = chunks.phase
WHERE metric = 'gap_ms' AND basis != 'offered';
