"""A decode worker that ends at once, as one whose libraries are missing does."""
