"""Published experiments as data: one file each, this table names them all."""

from taut.reproduce.debs20 import DEBS20
from taut.reproduce.experiment import PublishedExperiment
from taut.reproduce.hipnet21 import HIPNET21
from taut.reproduce.nfvi5g import NFVI5G
from taut.reproduce.nfvi18 import NFVI18

EXPERIMENTS: dict[str, PublishedExperiment] = {
    e.name: e for e in (DEBS20, HIPNET21, NFVI18, NFVI5G)
}
