"""Clients: one module for each thing that is asked of the nodes."""
