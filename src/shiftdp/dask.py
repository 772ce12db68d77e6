"""Training on a Dask cluster, with the certificate of one machine. Needs the extra `dask`."""

from shiftdp.training.cluster.doors import descend, fit, fit_folder, read_folder
from shiftdp.training.cluster.guard import ClusterFailed, RecordsChanged
from shiftdp.training.descent.state_file import EncryptedState, StateRefused, new_key

__all__ = [
    "ClusterFailed",
    "EncryptedState",
    "RecordsChanged",
    "StateRefused",
    "descend",
    "fit",
    "fit_folder",
    "new_key",
    "read_folder",
]
