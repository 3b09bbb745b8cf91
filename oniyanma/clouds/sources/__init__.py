"""One module per file format; each opens a file as a stream of LAS records."""
