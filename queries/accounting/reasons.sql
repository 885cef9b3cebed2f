-- Why offered requests did not complete, in the source's words.
--
-- @param run_ids VARCHAR[] Runs to account for.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column run_id VARCHAR The run.
-- @column outcome VARCHAR What became of the requests.
-- @column outcome_basis VARCHAR stated by the source, or inferred by the importer.
-- @column reason VARCHAR The reason kept, shortened; NULL where the source gives none.
-- @column n BIGINT Requests with this outcome and reason.
SELECT
    run_id,
    outcome::VARCHAR AS outcome,
    outcome_basis,
    reason,
    count(*) AS n
FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
WHERE outcome != 'completed'
GROUP BY run_id, outcome, outcome_basis, reason
ORDER BY run_id, n DESC, outcome, reason
