"""A made trial in which every packet comes back once, and none takes longer than 20 us."""

from made_run import MadeTrial

CALM = MadeTrial(
    tail_share=0.0,
    n_lost=0,
    device_stall=None,
    generator_gap=None,
    n_duplicates=0,
    n_orphans=0,
)
