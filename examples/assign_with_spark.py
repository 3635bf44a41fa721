"""Assign the texts of Parquet files with Spark: one model in every worker.

    python examples/assign_with_spark.py MODEL IN.parquet OUT

Needs pyspark (tried with 4.3.0 on Java 17) and coterie[parquet] in every worker. The model folder must be readable
there under the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import SparkSession

import coterie

NEW = "cluster long, cluster_name string, confidence double, second_cluster long, margin double"


def main(model: str, source: str, target: str) -> None:
    """Write the rows of ``source`` with their clusters to the folder ``target``."""
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 8192)
    assigner = coterie.Assigner(model, column="text")  # travels to the workers without the model

    def assign(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from map(assigner, batches)  # the model is loaded at the first batch of a task

    rows = spark.read.parquet(source)
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in rows.schema)
    rows.mapInPandas(assign, f"{columns}, {NEW}").write.parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
