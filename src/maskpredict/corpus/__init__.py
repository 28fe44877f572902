"""From raw parallel text to memory-mapped ids: reading, cleaning, vocabulary, encoding, data folder."""
