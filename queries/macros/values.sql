-- Requests of a window with their metrics on the offered basis, in milliseconds: infinity where a
-- request never delivered or the value is not known, NULL where an answer is too short for a cadence.
-- A first token counts whatever came later; everything else takes a completed answer.
CREATE MACRO valued(run_ids, start_us, end_us, origin) AS TABLE
WITH chosen AS (
    SELECT
        *,
        outcome = 'completed' AS completed,
        coalesce(
            slip_us(origin_used(origin, n_placed, has_schedule), scheduled_us, sent_us), 0
        ) AS slip
    FROM windowed(run_ids, start_us, end_us)
)

SELECT
    *,
    coalesce((ttft_us + slip) / 1000, 'infinity'::DOUBLE) AS ttft_ms,
    CASE
        WHEN NOT completed THEN 'infinity'::DOUBLE
        WHEN is_applicable('tpot_ms', output_tokens, n_chunks)
            THEN coalesce(tpot_us(latency_us, ttft_us, output_tokens) / 1000, 'infinity'::DOUBLE)
    END AS tpot_ms,
    CASE
        WHEN NOT completed THEN 'infinity'::DOUBLE
        WHEN is_applicable('stall_ms', output_tokens, n_chunks)
            THEN coalesce(max_gap_us / 1000, 'infinity'::DOUBLE)
    END AS stall_ms,
    CASE
        WHEN completed THEN coalesce((latency_us + slip) / 1000, 'infinity'::DOUBLE)
        ELSE 'infinity'::DOUBLE
    END AS latency_ms
FROM chosen;

-- What a counter rose by; NULL where it fell, having begun again.
CREATE MACRO rise(first_value, last_value) AS
    CASE WHEN last_value >= first_value THEN last_value - first_value END;
