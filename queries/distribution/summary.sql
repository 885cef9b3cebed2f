-- Counts, mean and maximum of a metric, by run and stratum.
--
-- The mean exists only where nothing is lost: an average over survivors of an offered population
-- would improve when requests go missing. The maximum is the largest observed value.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param stratum VARCHAR What to split by, such as none, prompt_length, prefix or phase.
-- @param metric VARCHAR ttft_ms, tpot_ms, stall_ms, gap_ms or latency_ms.
-- @param basis VARCHAR Population: offered, completed or source.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @column run_id VARCHAR The run.
-- @column stratum VARCHAR Class of the split; "all" without one.
-- @column n BIGINT Values delivered.
-- @column denominator BIGINT Requests (or gaps) in the population, without the not applicable.
-- @column n_not_applicable BIGINT Completed answers too short for the metric.
-- @column n_unknown BIGINT Successful requests whose value the source does not know.
-- @column mean_ms DOUBLE Mean; NULL where a request of the population never delivered.
-- @column max_ms DOUBLE Largest delivered value.
SELECT
    run_id,
    stratum,
    count(*) FILTER (WHERE isfinite(value_ms)) AS n,
    count(*) FILTER (WHERE applicable) AS denominator,
    count(*) FILTER (WHERE NOT applicable) AS n_not_applicable,
    count(*) FILTER (WHERE unknown) AS n_unknown,
    CASE
        WHEN count(*) FILTER (WHERE isinf(value_ms)) = 0 THEN favg(value_ms)
    END AS mean_ms,
    max(value_ms) FILTER (WHERE isfinite(value_ms)) AS max_ms
FROM
    samples(
        $run_ids::VARCHAR[],
        $start_us::BIGINT,
        $end_us::BIGINT,
        $stratum::VARCHAR,
        $metric::VARCHAR,
        $basis::VARCHAR,
        $origin::VARCHAR
    )
GROUP BY run_id, stratum, stratum_order
ORDER BY run_id, stratum_order, stratum
