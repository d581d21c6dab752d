"""A file that is written whole or not at all: under a random name beside it first, which takes the right one at the end."""
import os
import secrets


def whole_file_write(path, text):
    """Replaces what is at path. A reader sees the old text or the new one, also where the disk is full or we are killed."""
    beside = os.path.join(os.path.dirname(path), f".assay-{secrets.token_hex(8)}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)  # less the umask
    try:
        with os.fdopen(file, "w", encoding="utf-8") as sink:
            sink.write(text)
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
