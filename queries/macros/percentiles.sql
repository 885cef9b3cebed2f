-- Percentiles of a sorted list in which lost requests stand at the end as +infinity.

-- Nearest rank: the smallest observed value that at least the share p of the list does not exceed.
-- The 1e-9 keeps 0.07 * 100 = 7.000000000000001 at rank 7.
CREATE MACRO nearest_rank(ordered, p) AS
    ordered[greatest(1, ceil(len(ordered) * p - 1e-9)::BIGINT)];

-- Linear interpolation between closest ranks, position (n - 1) * p, as numpy's default does it.
-- Between a finite and an infinite value there is nothing to interpolate: the result is infinite.
-- The 1e-9 keeps 0.55 * 100 = 55.00000000000001 at position 55.
CREATE MACRO linear_at(ordered, place) AS
    CASE
        WHEN abs(place - round(place)) < 1e-9 THEN ordered[round(place)::BIGINT + 1]
        WHEN isinf(ordered[floor(place)::BIGINT + 2]) THEN 'infinity'::DOUBLE
        ELSE
            ordered[floor(place)::BIGINT + 1]
            + (place - floor(place))
            * (ordered[floor(place)::BIGINT + 2] - ordered[floor(place)::BIGINT + 1])
    END;

CREATE MACRO linear_rank(ordered, p) AS
    linear_at(ordered, (len(ordered) - 1) * p);

CREATE MACRO percentile_of(ordered, p, method) AS
    CASE method
        WHEN 'linear' THEN linear_rank(ordered, p)
        ELSE nearest_rank(ordered, p)
    END;
