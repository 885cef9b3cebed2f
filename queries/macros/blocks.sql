-- Which tenth of a run a request falls into.

-- The tenth of n requests that the nth request (from 0) falls into, 1 to 10: the first
-- n mod 10 tenths are one request larger, as in numpy's array_split.
CREATE MACRO block_of(nth, n) AS
    CASE
        WHEN nth < (n % 10) * (divide(n, 10) + 1)
            THEN 1 + divide(nth, divide(n, 10) + 1)
        ELSE
            1 + n % 10
            + divide(nth - (n % 10) * (divide(n, 10) + 1), nullif(divide(n, 10), 0))
    END;
