"""The plan explorer: a sweep as one interactive page."""
