-- Most requests in flight at once, and preemptions, by run.
--
-- A request is in flight from its send until it ended; one that was open when the run ended, until
-- the last instant of the run.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @column run_id VARCHAR The run.
-- @column max_in_flight BIGINT Most requests sent and not yet ended; NULL without times.
-- @column n_preemptions BIGINT Preemptions of all requests; NULL where they are not recorded.
WITH chosen AS (
    SELECT
        *,
        max(coalesce(sent_us + latency_us, ended_us, sent_us)) OVER (
            PARTITION BY run_id
        ) AS run_end_us
    FROM requests
    WHERE phase = 'measured' AND list_contains($run_ids::VARCHAR[], run_id)
),

spans AS (
    SELECT
        run_id,
        sent_us,
        CASE
            WHEN is_open(outcome) THEN run_end_us
            ELSE coalesce(sent_us + latency_us, ended_us, sent_us)
        END AS left_us
    FROM chosen
    WHERE sent_us IS NOT NULL
),

events AS (
    SELECT
        run_id,
        sent_us AS at_us,
        1 AS step
    FROM spans
    WHERE left_us > sent_us
    UNION ALL
    SELECT
        run_id,
        left_us AS at_us,
        -1 AS step
    FROM spans
    WHERE left_us > sent_us
),

levels AS (
    SELECT
        run_id,
        -- At one instant those that leave make room before those that arrive.
        sum(step) OVER (PARTITION BY run_id ORDER BY at_us, step) AS in_flight
    FROM events
),

peaks AS (
    SELECT
        run_id,
        max(in_flight)::BIGINT AS max_in_flight
    FROM levels
    GROUP BY run_id
),

totals AS (
    SELECT
        run_id,
        sum(preemptions)::BIGINT AS n_preemptions
    FROM chosen
    GROUP BY run_id
)

SELECT
    totals.run_id,
    peaks.max_in_flight,
    totals.n_preemptions
FROM totals
LEFT JOIN peaks ON totals.run_id = peaks.run_id
ORDER BY totals.run_id
