"""Notes what is enqueued on which stream, and what the host waits for, in the executor."""

from papers.common.gpu import device
from papers.common.gpu.launch import Launch


def note(monkeypatch):
    """Return a list that grows: ``(name, stream)`` of each launch, copy, clearing and wait.

    A copy of words waits for its stream; a wait for the whole device has the stream None.
    """
    seen = []
    call, copy, clear = Launch.__call__, device.copy_words, device.clear

    def launched(launch):
        seen.append((launch.name, launch.stream))
        call(launch)

    def copied(*given, stream=device.DEFAULT_STREAM, **named):
        seen.append(("copy", stream))
        copy(*given, stream=stream, **named)

    def cleared(array, stream=device.DEFAULT_STREAM):
        seen.append(("clear", stream))
        clear(array, stream)

    monkeypatch.setattr(Launch, "__call__", launched)
    monkeypatch.setattr(device, "copy_words", copied)
    monkeypatch.setattr(device, "clear", cleared)
    monkeypatch.setattr(device, "synchronize", lambda stream=None: seen.append(("wait", stream)))
    return seen
