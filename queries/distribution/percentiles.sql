-- Percentiles of a metric, by run and stratum.
--
-- On the offered basis every offered request stands in the sorted list, those that never delivered
-- at +infinity: a percentile that falls among them is not reached.
--
-- @param run_ids VARCHAR[] Runs to describe.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param stratum VARCHAR What to split by, such as none, prompt_length, prefix or phase.
-- @param metric VARCHAR ttft_ms, tpot_ms, stall_ms, gap_ms or latency_ms.
-- @param basis VARCHAR Population: offered, completed or source.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @param method VARCHAR nearest or linear.
-- @param shares DOUBLE[] Percentiles as shares, 0.99 for p99.
-- @column run_id VARCHAR The run.
-- @column stratum VARCHAR Class of the split; "all" without one.
-- @column share DOUBLE The percentile as a share.
-- @column value_ms DOUBLE Its value; NULL where it is not reached.
-- @column not_reached BOOLEAN Too few requests delivered for this percentile.
-- @column n BIGINT Values delivered.
-- @column denominator BIGINT Requests (or gaps) the percentile is a share of.
WITH ordered AS (
    SELECT
        run_id,
        stratum,
        stratum_order,
        list(value_ms ORDER BY value_ms) FILTER (WHERE value_ms IS NOT NULL) AS values_ms,
        count(*) FILTER (WHERE isfinite(value_ms)) AS n,
        count(value_ms) AS denominator
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
),

shares AS (
    SELECT unnest($shares::DOUBLE[]) AS share
),

valued AS (
    SELECT
        ordered.*,
        shares.share,
        percentile_of(ordered.values_ms, shares.share, $method::VARCHAR) AS value_ms
    FROM ordered
    CROSS JOIN shares
    WHERE ordered.denominator > 0
)

SELECT
    run_id,
    stratum,
    share,
    CASE WHEN isfinite(value_ms) THEN value_ms END AS value_ms,
    NOT isfinite(value_ms) AS not_reached,
    n,
    denominator
FROM valued
ORDER BY run_id, stratum_order, stratum, share
