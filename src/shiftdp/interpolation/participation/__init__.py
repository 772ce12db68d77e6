"""The law of mu(V): how much a record is worth whose participation is hidden. [Theorem B7]"""
