-- The two sides of a comparison, and what cuts their requests into classes.

-- The first place of each prefix group in a run; a group that the warm-up touched has none.
CREATE MACRO coldest(run) AS TABLE
SELECT
    prefix_group,
    min(coalesce(place, 1000000000 + request_index)) AS first_place
FROM requests
WHERE run_id = run AND prefix_group IS NOT NULL
GROUP BY prefix_group
HAVING count(*) FILTER (WHERE phase = 'warmup') = 0;

-- Quartiles of the lengths of several runs together, as the splits cut them.
CREATE MACRO length_cuts(run_ids, start_us, end_us) AS TABLE
SELECT
    quantile_disc(prompt_tokens, [0.25, 0.5, 0.75]) AS of_prompt,
    quantile_disc(coalesce(requested_output_tokens, output_tokens), [0.25, 0.5, 0.75]) AS of_output
FROM windowed(run_ids, start_us, end_us);

-- One side of a comparison: the offered requests of a run, each with its fate, metrics and classes.
CREATE MACRO side_of(run, start_us, end_us, origin) AS TABLE
WITH sizes AS (
    SELECT
        count(place) AS n,
        min(place) AS first_place
    FROM windowed([run], start_us, end_us)
)

SELECT
    found.*,
    coalesce(found.requested_output_tokens, found.output_tokens) AS wanted_tokens,
    CASE
        WHEN found.prefix_group IS NULL THEN NULL
        WHEN coalesce(found.place, 1000000000 + found.request_index) = coldest.first_place
            THEN 'cold'
        ELSE 'eligible'
    END AS prefix,
    block_of(found.place - sizes.first_place, sizes.n)::INTEGER AS tenth
FROM valued([run], start_us, end_us, origin) AS found
CROSS JOIN sizes
LEFT JOIN coldest(run) AS coldest ON found.prefix_group = coldest.prefix_group;
