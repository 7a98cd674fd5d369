"""From an experiment file to a run directory: spec, plan, runner."""
