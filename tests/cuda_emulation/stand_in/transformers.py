"""A transformers to be imported beside the stand-in of torch."""
__version__ = "0.0.0"
