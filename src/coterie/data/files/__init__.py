"""Read and write tables of texts: CSV, TSV, JSONL, Parquet, Excel and plain text, gzipped, from stdin or from a folder.

One module a format; ``reading.py`` and ``writing.py`` choose among them.
"""

from coterie.data.files.reading import read_table
from coterie.data.files.several import join_tables
from coterie.data.files.table import Format, Table
from coterie.data.files.writing import convert_for, dump_table, write_table

__all__ = ["Format", "Table", "convert_for", "dump_table", "join_tables", "read_table", "write_table"]
