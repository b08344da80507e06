"""Every figure of the package; matplotlib is loaded when one is drawn."""
