"""`maskpredict bench`: latency, throughput and BLEU of our engines, CTranslate2 and Hugging Face transformers.

A *racer* is an engine with a model, decoding settings and a compute type (`racers/`). In each *round* of a *race* every
racer translates the same sentences at each batch size. One such timed run is a *heat*.
"""
