-- What became of the offered requests of a window, by run.
--
-- The nine outcomes of a run always add up to its offered requests; warm-up is never among them.
--
-- @param run_ids VARCHAR[] Runs to account for.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column run_id VARCHAR The run.
-- @column outcome VARCHAR One of the nine outcomes.
-- @column n BIGINT Offered requests that ended so.
-- @column n_inferred BIGINT Of these, how many the importer concluded rather than the source said.
-- @column n_offered BIGINT Offered requests of the run in the window.
WITH kinds AS (
    SELECT unnest(enum_range(NULL::OUTCOME)) AS kind
),

counted AS (
    SELECT
        run_id,
        outcome,
        outcome_basis
    FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
),

totals AS (
    SELECT
        run_id,
        count(*) AS n_offered
    FROM counted
    GROUP BY run_id
)

SELECT
    totals.run_id,
    kinds.kind::VARCHAR AS outcome,
    count(counted.outcome) AS n,
    count(*) FILTER (WHERE counted.outcome_basis = 'inferred') AS n_inferred,
    totals.n_offered
FROM totals
CROSS JOIN kinds
LEFT JOIN counted
    ON totals.run_id = counted.run_id AND kinds.kind::VARCHAR = counted.outcome::VARCHAR
GROUP BY totals.run_id, totals.n_offered, kinds.kind
ORDER BY totals.run_id, enum_code(kinds.kind::VARCHAR::OUTCOME)
