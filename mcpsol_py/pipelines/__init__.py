"""Decodes what landed for data pipelines: JSON of RPC nodes to rows, JSON lines, Parquet and Ray Data."""
