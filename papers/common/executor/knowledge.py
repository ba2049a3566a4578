"""Versions of words, and the knowledge of threads, of which a weak memory is made.

The model is in `papers.common.executor.weak_memory`.
"""

from __future__ import annotations

from typing import Any

from papers.common.executor.threads import Block

PLAIN, BLOCK, GPU, SYSTEM = -1, 0, 1, 2
"""Scopes of an access; a plain one has none."""

SCOPES = (BLOCK, GPU, SYSTEM)

News = tuple[dict[int, float], dict[int, float]]
"""A thread's knowledge at some time: by word, the place of the version that it knew."""

Carried = tuple[News | None, News | None, News | None]
"""The news that a version carries to readers within its block, its GPU, its system."""

NOTHING: Carried = (None, None, None)


class Version:
    """One value of a word.

    Attributes
    ----------
    at : float
        Its place in the order of the word's versions.
    value : int, float or bool
    carries : Carried
    block, rank
        The writer's; None for the value before the launch.
    by_atomic : bool
        It belongs right behind the version before it: nothing may come between.
    """

    __slots__ = ("at", "block", "by_atomic", "carries", "rank", "value")

    def __init__(
        self,
        at: float,
        value: Any,
        carries: Carried = NOTHING,
        knows: Knowledge | None = None,
        by_atomic: bool = False,
    ) -> None:
        self.at, self.value, self.carries, self.by_atomic = at, value, carries, by_atomic
        self.block = None if knows is None else knows.block
        self.rank = None if knows is None else knows.rank


class Knowledge:
    """The versions that a thread knows, and what its fences have made of them.

    `shared`, which several threads may hold after a barrier, is never changed; `own` is newer.
    """

    __slots__ = ("block", "heard", "own", "rank", "released", "shared")

    def __init__(self, block: Block, rank: int, shared: dict[int, float]) -> None:
        self.block, self.rank, self.shared = block, rank, shared
        self.forget(shared)

    def forget(self, shared: dict[int, float]) -> None:
        """Know nothing but `shared`."""
        self.shared = shared
        self.own: dict[int, float] = {}
        self.released: list[News | None] = [None, None, None]  # at the last fence of each scope
        # Carried by what was loaded; learned at the next fence of the scope.
        self.heard: list[dict[int, News]] = [{}, {}, {}]

    def of(self, word: int) -> float:
        """Place of the known version."""
        own = self.own.get(word)
        return self.shared.get(word, 0.0) if own is None else own

    def news(self) -> News:
        """All of it, as it is now."""
        return self.shared, dict(self.own)

    def learn(self, news: News) -> None:
        """Know at least that much."""
        for part in news:
            if part is not self.shared:
                for word, at in part.items():
                    if at > self.of(word):
                        self.own[word] = at


def both(mine: News | None, other: News | None) -> News | None:
    """Either's news, or both together."""
    if mine is None or other is None or mine is other:
        return mine or other
    whole = dict(mine[0])
    for part in (mine[1], *other):
        for word, at in part.items():
            if at > whole.get(word, 0.0):
                whole[word] = at
    return whole, {}
