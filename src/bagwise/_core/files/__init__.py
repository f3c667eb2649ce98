"""Files: written whole or not at all (`atomic`), with a checksum (`sealed`), found damaged (`damage`)."""
