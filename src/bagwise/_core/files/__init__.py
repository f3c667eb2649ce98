"""Files written whole or not at all (`atomic`), files with a checksum (`sealed`), checks for `damage`."""
