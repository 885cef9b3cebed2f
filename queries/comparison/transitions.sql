-- What became of each request in run A and in run B: how many went which way.
--
-- Every offered request of either run is counted. One that a run did not offer in the window has no
-- outcome there and is unmatched.
--
-- @param run_a VARCHAR The run on side A.
-- @param run_b VARCHAR The run on side B.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @column a_outcome VARCHAR Outcome in A; NULL where A did not offer it.
-- @column b_outcome VARCHAR Outcome in B; NULL where B did not offer it.
-- @column n BIGINT Requests.
-- @column n_a BIGINT Offered requests of A.
-- @column n_b BIGINT Offered requests of B.
WITH paired AS (
    SELECT
        a.outcome AS a_outcome,
        b.outcome AS b_outcome
    FROM windowed([$run_a::VARCHAR], $start_us::BIGINT, $end_us::BIGINT) AS a
    FULL JOIN windowed([$run_b::VARCHAR], $start_us::BIGINT, $end_us::BIGINT) AS b
        USING (request_index)
)

SELECT
    a_outcome::VARCHAR AS a_outcome,
    b_outcome::VARCHAR AS b_outcome,
    count(*) AS n,
    sum(count(a_outcome)) OVER ()::BIGINT AS n_a,
    sum(count(b_outcome)) OVER ()::BIGINT AS n_b
FROM paired
GROUP BY paired.a_outcome, paired.b_outcome
ORDER BY enum_code(paired.a_outcome) NULLS LAST, enum_code(paired.b_outcome) NULLS LAST
