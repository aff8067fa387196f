"""Decode JSON lines of blocks on Ray Data: `python on_ray.py IDL INSTRUCTION BLOCKS OUT`."""

import sys

import ray

from mcpsol_py.pipelines.decoders import InstructionDecoder

idl, instruction, blocks, out = sys.argv[1:]

ray.init(num_cpus=3, include_dashboard=False)  # of a cluster, give its address instead
rows = ray.data.read_text(blocks).map_batches(
    InstructionDecoder,
    fn_constructor_args=(idl, instruction),
    batch_format="pyarrow",
    compute=ray.data.ActorPoolStrategy(size=2),  # workers; each loads the IDL once
)
rows.write_parquet(out)
ray.shutdown()
