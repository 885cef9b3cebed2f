-- Points of the empirical distribution of a metric, thinned to about 600 per curve.
--
-- Ranks are taken evenly over the curve and ever denser towards its end, so that the tail is kept
-- to its last request. The share is of the denominator: where requests never delivered, the curve
-- ends below one.
--
-- @param run_ids VARCHAR[] Runs to draw.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param stratum VARCHAR What to split by, such as none, prompt_length, prefix or phase.
-- @param metric VARCHAR ttft_ms, tpot_ms, stall_ms, gap_ms or latency_ms.
-- @param basis VARCHAR Population: offered, completed or source.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @column run_id VARCHAR The run.
-- @column stratum VARCHAR Class of the split; "all" without one.
-- @column value_ms DOUBLE Delivered value.
-- @column drawn_ms DOUBLE The value on a logarithmic axis: at least 0.001, the record's resolution.
-- @column n_at_most BIGINT Requests (or gaps) delivered within the value.
-- @column denominator BIGINT Requests (or gaps) the share is of.
-- @column share DOUBLE n_at_most ÷ denominator.
-- @column share_at_least DOUBLE Share at or beyond this rank, the lost among them; never 0.
WITH ordered AS (
    SELECT
        run_id,
        stratum,
        stratum_order,
        list(value_ms ORDER BY value_ms) FILTER (WHERE isfinite(value_ms)) AS values_ms,
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

ranks AS (
    SELECT
        run_id,
        stratum,
        unnest(
            list_distinct(
                list_concat(
                    list_transform(
                        range(0, 401), LAMBDA k: greatest(1, ceil(n * k / 400.0)::BIGINT)
                    ),
                    list_transform(
                        range(0, 200), LAMBDA k: n + 1 - ceil(pow(n, k / 200.0))::BIGINT
                    )
                )
            )
        ) AS n_at_most
    FROM ordered
    WHERE n > 0
)

SELECT
    ordered.run_id,
    ordered.stratum,
    ordered.values_ms[ranks.n_at_most] AS value_ms,
    greatest(ordered.values_ms[ranks.n_at_most], 0.001) AS drawn_ms,
    ranks.n_at_most,
    ordered.denominator,
    ranks.n_at_most / ordered.denominator AS share,
    (ordered.denominator - ranks.n_at_most + 1) / ordered.denominator AS share_at_least
FROM ordered
INNER JOIN ranks
    ON ordered.run_id = ranks.run_id AND ordered.stratum = ranks.stratum
ORDER BY ordered.run_id, ordered.stratum_order, ordered.stratum, ranks.n_at_most
