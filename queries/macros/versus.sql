-- The two sides of a comparison, and what cuts their requests into classes.

-- The first place of each prefix group in a run; a group that the warm-up touched has none.
CREATE MACRO coldest(run_ids) AS TABLE
SELECT
    run_id,
    prefix_group,
    min(coalesce(place, 1000000000 + request_index)) AS first_place
FROM requests
WHERE list_contains(run_ids, run_id) AND prefix_group IS NOT NULL
GROUP BY run_id, prefix_group
HAVING count(*) FILTER (WHERE phase = 'warmup') = 0;

-- The runs of one side with the number of their pair, from 0.
CREATE MACRO numbered(run_ids) AS TABLE
SELECT
    unnest(range(len(run_ids)))::INTEGER AS pair,
    unnest(run_ids) AS run_id;

-- Quartiles of the lengths of the two runs of each pair together, as the splits cut them.
CREATE MACRO length_cuts(runs_a, runs_b, start_us, end_us) AS TABLE
WITH members AS (
    SELECT * FROM numbered(runs_a)
    UNION
    SELECT * FROM numbered(runs_b)
)

SELECT
    members.pair,
    quantile_disc(found.prompt_tokens, [0.25, 0.5, 0.75]) AS of_prompt,
    quantile_disc(
        coalesce(found.requested_output_tokens, found.output_tokens), [0.25, 0.5, 0.75]
    ) AS of_output
FROM members
INNER JOIN windowed(list_concat(runs_a, runs_b), start_us, end_us) AS found USING (run_id)
GROUP BY members.pair;

-- One side of a comparison: the offered requests of its runs, each with its pair, fate, metrics and
-- classes.
CREATE MACRO side_of(run_ids, start_us, end_us, origin) AS TABLE
WITH sizes AS (
    SELECT
        run_id,
        count(place) AS n,
        min(place) AS first_place
    FROM windowed(run_ids, start_us, end_us)
    GROUP BY run_id
)

SELECT
    numbered.pair,
    found.*,
    coalesce(found.requested_output_tokens, found.output_tokens) AS wanted_tokens,
    CASE
        WHEN found.prefix_group IS NULL THEN NULL
        WHEN coalesce(found.place, 1000000000 + found.request_index) = coldest.first_place
            THEN 'cold'
        ELSE 'eligible'
    END AS prefix,
    block_of(found.place - sizes.first_place, sizes.n)::INTEGER AS tenth
FROM valued(run_ids, start_us, end_us, origin) AS found
INNER JOIN numbered(run_ids) AS numbered USING (run_id)
INNER JOIN sizes USING (run_id)
LEFT JOIN coldest(run_ids) AS coldest USING (run_id, prefix_group);
