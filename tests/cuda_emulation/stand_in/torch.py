"""A torch that has a GPU and nothing else: for the questions of ci/gpu-peers.sh. It measures nothing."""
__version__ = "0.0.0"


class version:
    cuda = "0.0"


class cuda:
    @staticmethod
    def is_available():
        return True
