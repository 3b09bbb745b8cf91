"""Decoded nodes kept in memory, least recently used out first, within a limit of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

from oniyanma.clouds.model import NodeId, NodePoints


class NodeCache:
    """An LRU of `NodePoints` that holds at most ``limit`` bytes of arrays."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._nodes: OrderedDict[NodeId, NodePoints] = OrderedDict()

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, id: NodeId, attributes: Iterable[str], generation: int) -> NodePoints | None:
        """The node with at least ``attributes``, or None. What it gives is now the newest."""
        node = self._nodes.get(id)
        if node is None or node.generation != generation:
            return None
        if any(name not in node.attributes for name in attributes):
            return None
        self._nodes.move_to_end(id)
        return node

    def put(self, node: NodePoints) -> None:
        """Keeps a node, dropping the oldest ones as the limit asks; one too large isn't kept."""
        self.drop(node.id)
        size = node_bytes(node)
        if size > self.limit:
            return
        self._nodes[node.id] = node
        self.bytes += size
        while self.bytes > self.limit:
            _, old = self._nodes.popitem(last=False)
            self.bytes -= node_bytes(old)

    def drop(self, id: NodeId) -> None:
        """Forgets a node if it is here."""
        node = self._nodes.pop(id, None)
        if node is not None:
            self.bytes -= node_bytes(node)

    def drop_cloud(self, cloud: str) -> None:
        """Forgets all nodes of a cloud."""
        for id in [id for id in self._nodes if id.cloud == cloud]:
            self.drop(id)

    def keep_attributes(self, names: frozenset[str]) -> None:
        """Lets go of every attribute not in ``names``."""
        for id, node in self._nodes.items():
            if any(name not in names for name in node.attributes):
                kept = {k: v for k, v in node.attributes.items() if k in names}
                self.bytes -= node_bytes(node)
                self._nodes[id] = replace(node, attributes=kept)
                self.bytes += node_bytes(self._nodes[id])


def node_bytes(node: NodePoints) -> int:
    """Bytes of a node's arrays."""
    return int(node.xyz.nbytes) + sum(int(a.nbytes) for a in node.attributes.values())
