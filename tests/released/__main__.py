"""Make the archive of this version."""

from tests.released import make

make()
