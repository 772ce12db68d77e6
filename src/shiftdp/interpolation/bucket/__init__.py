"""The leaky bucket: how far apart two runs are whose record took part at random. [Theorem B6]"""
