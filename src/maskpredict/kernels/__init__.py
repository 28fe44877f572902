"""Triton kernels, one file an operation, with plain PyTorch references beside them."""
