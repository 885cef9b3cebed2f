-- The window in force for each run, its measured offered load, and the origin of its latencies.
--
-- The measured rate is (n - 1) ÷ (last - first) over all measured arrivals of the run.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @column run_id VARCHAR The run.
-- @column start_us BIGINT Start of the window; NULL where the run has no times.
-- @column end_us BIGINT End of the window, exclusive; NULL where the run has no times.
-- @column origin_used VARCHAR scheduled, sent, or none.
-- @column n_in_window BIGINT Offered requests in the window.
-- @column n_measured BIGINT Offered requests of the whole run.
-- @column n_placed BIGINT Offered requests of the whole run whose arrival is known.
-- @column measured_rps DOUBLE Measured offered load, requests per second.
WITH counted AS (
    SELECT
        run_id,
        count(*) AS n_in_window
    FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
    GROUP BY run_id
)

SELECT
    bounds.run_id,
    window_end($start_us::BIGINT, bounds.first_us, bounds.n_placed) AS start_us,
    window_end($end_us::BIGINT, bounds.last_us, bounds.n_placed) AS end_us,
    origin_used($origin::VARCHAR, bounds.n_placed, bounds.has_schedule) AS origin_used,
    coalesce(counted.n_in_window, 0) AS n_in_window,
    bounds.n_measured,
    bounds.n_placed,
    CASE
        WHEN bounds.last_us - 1 > bounds.first_us
            THEN (bounds.n_placed - 1) * 1000000.0 / (bounds.last_us - 1 - bounds.first_us)
    END AS measured_rps
FROM bounds
LEFT JOIN counted ON bounds.run_id = counted.run_id
WHERE list_contains($run_ids::VARCHAR[], bounds.run_id)
ORDER BY bounds.run_id
