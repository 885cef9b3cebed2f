-- The class of every offered request in a window: what the verdicts by class are cut by.
--
-- @param run_ids VARCHAR[] All runs that are compared: they cut the classes of length together.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param stratum VARCHAR What to split by, such as prompt_length, prefix or segment.
-- @column run_id VARCHAR The run.
-- @column request_index INTEGER Position in the workload.
-- @column stratum VARCHAR The class.
-- @column stratum_order INTEGER Place of the class among the others.
SELECT
    run_id,
    request_index,
    stratum,
    stratum_order
FROM
    stratified(
        $run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $stratum::VARCHAR
    )
WHERE phase = 'measured'
ORDER BY run_id, request_index
