"""A Bloom filter: a small set of words that may say yes wrongly, but never no."""


def hash_text(text, seed):
    """A number below 2**32: starts as ``seed``; each character makes it ``(33 * it) XOR the code``, modulo 2**32.

    At the end its upper 16 bits are XORed into its lower 16 bits.
    """
    value = seed
    for char in text:
        value = (33 * value ^ ord(char)) % 2**32
    return value ^ (value >> 16)


class BloomFilter:
    """Words in ``size`` bits, with ``hashes`` hash functions. ValueError "bad size" if one of them is below 1."""

    def __init__(self, size, hashes):
        if size < 1 or hashes < 1:
            raise ValueError("bad size")
        self.size = size
        self.hashes = hashes
        self._bits = bytearray((size + 7) // 8)
        self.added = 0

    def positions(self, word):
        """The bits of a word: ``first + i * step`` modulo size for i from 0, in this order, repeats kept.

        ``first`` is the hash with seed 5381; ``step`` the hash with seed 7, made odd by setting its lowest bit.
        """
        first = hash_text(word, 5381)
        step = hash_text(word, 7) | 1
        return [(first + i * step) % self.size for i in range(self.hashes)]

    def _get(self, position):
        return self._bits[position // 8] >> position % 8 & 1 == 1

    def add(self, word):
        """Put a word in; False if the filter said already that it was in. ``added`` counts those that were not."""
        if word in self:
            return False
        for position in self.positions(word):
            self._bits[position // 8] |= 1 << position % 8
        self.added += 1
        return True

    def __contains__(self, word):
        """False if the word is not in for sure."""
        return all(self._get(position) for position in self.positions(word))

    def ones(self):
        """How many bits are set."""
        return sum(byte.bit_count() for byte in self._bits)

    def merge(self, other):
        """Put in all that the other holds; ``added`` becomes the sum.

        ValueError "filters differ" if sizes or numbers of hashes do.
        """
        if (self.size, self.hashes) != (other.size, other.hashes):
            raise ValueError("filters differ")
        for place, byte in enumerate(other._bits):
            self._bits[place] |= byte
        self.added += other.added

    def dump(self):
        """The bits as text of 0 and 1, bit 0 first."""
        return "".join("1" if self._get(position) else "0" for position in range(self.size))
