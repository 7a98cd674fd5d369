"""Count all metrics of packets in a folder of Parquet files by a Spark cluster, for scale.py.

scale_spark.py FOLDER spark://HOST:PORT

It prints how many values of them there were, as JSON.
"""

import json
import sys
from pathlib import Path

from taut.analysis.distribution import measure_packets
from taut.storage.engines import open_engine

if __name__ == "__main__":
    with open_engine("spark", sys.argv[2]) as engine:
        measured = measure_packets(engine, Path(sys.argv[1]), 1)
    json.dump({"values": measured.distribution.num_rows}, sys.stdout)
