"""The ends that a run does not choose: signals and full disks. Finished cells survive all of them.

`resumable` turns each into one line that says how to go on, and an exit code: 128 and the signal's
number, as shells count, or 3 for a disk.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from papers.reproduce.registry import UsageError
from papers.reproduce.screen.console import warn

FAILED = 3
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that a batch system or a terminal sends before it kills."""


class StoppedError(BaseException):
    """A signal asks the command to end; no ``except Exception`` on the way keeps it.

    Parameters
    ----------
    number : int
        The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def on_signals() -> Iterator[None]:
    """Raise `StoppedError` where one of `ENDING` comes, inside the block.

    Signals can be handled in the main thread only; in another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise StoppedError(number)

    before = {number: signal.signal(number, stop) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def resumable(folder: Path, command: str = "reproduce run") -> Iterator[None]:
    """End a command that is stopped inside the block with the line that goes on with its run.

    Parameters
    ----------
    folder : Path
        The run folder.
    command : str
        The command that goes on with it by ``--resume``.
    """
    how = f"finished cells are kept: {command} --resume {shlex.quote(str(folder))}"
    try:
        yield
    except KeyboardInterrupt:
        warn(f"stopped; {how}")
        raise SystemExit(128 + signal.SIGINT) from None
    except StoppedError as error:
        warn(f"stopped by {error}; {how}")
        raise SystemExit(128 + error.number) from None
    except UsageError:
        raise
    except OSError as error:
        warn(f"reproduce: {error.strerror or error}; {how}")
        raise SystemExit(FAILED) from None
