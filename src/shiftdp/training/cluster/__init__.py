"""Training on a Dask cluster: records stay on its workers, batches and noise on the driver.

| what | where |
| --- | --- |
| `read_folder`, `fit_folder`, `descend`: what `shiftdp.dask` offers | `doors` |
| `fit` of an estimator or a pipeline on Dask collections | `fitting`, `encoding` |
| which Dask collections are tables, and their blocks | `collection` |
| how a block is read, on its worker | `reading` |
| a worker's share of the records, and its sums of gradients | `shard` |
| who has which blocks; workers that are lost, and their blocks reloaded | `workers` |
| the source of records for the training loop, and the proof of its rounding | `source` |
| errors that come from workers, without their data | `guard` |

Needs the extra `dask`.
"""
