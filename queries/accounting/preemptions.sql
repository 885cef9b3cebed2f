-- Preemptions of the offered requests of a window, as each request records its own.
--
-- A request belongs by its scheduled time and keeps its whole life, preemptions after the window
-- included.
--
-- @param run_ids VARCHAR[] Runs to account for.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column run_id VARCHAR The run.
-- @column n_preemptions BIGINT Preemptions of all of them; NULL where none records any number.
-- @column n_recorded BIGINT Requests that record a number, 0 included.
-- @column n_offered BIGINT Offered requests of the run in the window.
SELECT
    run_id,
    sum(preemptions)::BIGINT AS n_preemptions,
    count(preemptions) AS n_recorded,
    count(*) AS n_offered
FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
GROUP BY run_id
ORDER BY run_id
