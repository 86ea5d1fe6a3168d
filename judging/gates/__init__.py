"""Gates of canaries: statistics, comparability, verdicts and their words, all from plain counts."""
