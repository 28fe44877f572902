"""Splits a folder into checksummed parts of a fixed size, for transfers that limit the size or number of files.

`pack` writes

    NAME.part000, NAME.part001, ...   the files of the folder, concatenated and split into parts of one size
    NAME.manifest.json                name, size and SHA-256 of each part and of each file

and `unpack` verifies all checksums and restores the folder.
"""

from maskpredict.packing.pack import pack
from maskpredict.packing.unpack import unpack

__all__ = ["pack", "unpack"]
