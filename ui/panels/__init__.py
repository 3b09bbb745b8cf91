"""Panels: each reads the scene's view, and asks the bridge for every change."""
