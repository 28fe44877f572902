"""Loaded models, the sentence queue and the thread that translates its batches; knows nothing of HTTP."""
