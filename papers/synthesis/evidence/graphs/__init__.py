"""The calls on graphs as a whole: `matchings` and `cuts`, and the calls as solvers (`calling`)."""
