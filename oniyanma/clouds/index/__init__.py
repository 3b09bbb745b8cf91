"""Building the octree: any source to COPC, streaming, in bounded memory."""
