"""How strong the suite is, as numbers that later code is held against; `docs/testing.md` says how to run it."""
