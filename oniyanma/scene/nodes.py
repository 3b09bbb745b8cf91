"""A node's attributes, read again: those that are not resident, for a question about them.

Decoding is the same every time, so the arrays go with the resident node's points one by one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from oniyanma.clouds.copc import open_bytes
from oniyanma.clouds.decode import NodeError, decode_node
from oniyanma.clouds.model import CloudError, NodeId, NodeKey
from oniyanma.clouds.opening import Cloud

Arrays = dict[str, npt.NDArray[Any]]


class ReadNode(Protocol):
    """`read_node` with the clouds bound in it."""

    def __call__(self, id: NodeId, names: frozenset[str] | None = None) -> Arrays: ...


def read_node(cloud: Cloud, key: NodeKey, names: frozenset[str] | None = None) -> Arrays:
    """Raw attributes (n,) by name, of the names the cloud has; None: of all.

    Callable on any thread. CloudError where the node can't be read.
    """
    wanted = cloud.names - {"X", "Y", "Z"}
    if names is not None:
        wanted &= names
    if cloud.memory is not None:
        read = cloud.memory.read(key, wanted)
        return {} if read is None else read[1]
    copc = cloud.copc
    job = None if copc is None else copc.job(key, sorted(wanted))
    if copc is None or job is None:
        return {}
    source = open_bytes(copc.path)
    try:
        return decode_node(copc.format, job, source.read_at)[1]
    except NodeError as error:
        raise CloudError(f"{cloud.path}: {error}") from error
    finally:
        source.close()
