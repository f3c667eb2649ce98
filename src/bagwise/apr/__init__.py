"""Axis-parallel rectangles: a box that holds an instance of every positive bag and few of negative ones."""

from bagwise.apr.classifier import APRClassifier

__all__ = ["APRClassifier"]
