"""Loaded models, their languages, the sentence queue and the thread that translates batches; knows nothing of HTTP."""
