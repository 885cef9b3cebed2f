-- The first request, by arrival, that did not complete: which outcome appears first under load.
--
-- @param run_ids VARCHAR[] Runs to describe; one that completed everything is absent.
-- @column run_id VARCHAR The run.
-- @column outcome VARCHAR What became of that request.
-- @column arrival_us BIGINT When it was due, from the run's zero.
SELECT
    run_id,
    outcome::VARCHAR AS outcome,
    arrived_us(scheduled_us, sent_us) AS arrival_us
FROM requests
WHERE
    phase = 'measured'
    AND outcome != 'completed'
    AND list_contains($run_ids::VARCHAR[], run_id)
QUALIFY
    row_number() OVER (
        PARTITION BY run_id
        ORDER BY arrived_us(scheduled_us, sent_us), request_index
    ) = 1
ORDER BY run_id
