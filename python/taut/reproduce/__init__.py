"""Published experiments as data: one file each, this table names them all."""

from taut.reproduce.debs20 import DEBS20
from taut.reproduce.experiment import PublishedExperiment

EXPERIMENTS: dict[str, PublishedExperiment] = {e.name: e for e in (DEBS20,)}
