"""Any folder this project makes, as a few flat files of limited size, and back again.

Rented machines are reached through narrow doors: small files, few at a time, no folders. `pack` turns a folder into

    NAME.part000, NAME.part001, ...   the folder's files one after another, cut into parts of one size
    NAME.manifest.json                name, size and SHA-256 of each part and of each file

and `unpack` checks every sum and puts the folder back.
"""

from maskpredict.packing.pack import pack
from maskpredict.packing.unpack import unpack

__all__ = ["pack", "unpack"]
