"""Places in a tree of plain values, such as a configuration or a rendered object."""

from typing import Self


class Path(tuple[str | int, ...]):
    """Keys of mappings and indices of lists, from the top of the tree downwards.

    It becomes text where somebody reads it: `services.qwen.engine.args[2]`.
    """

    __slots__ = ()

    def __new__(cls, *parts: str | int) -> Self:
        """Make the path of these parts."""
        return super().__new__(cls, parts)

    def __getnewargs__(self) -> tuple[str | int, ...]:
        return tuple(self)

    def __truediv__(self, part: str | int) -> "Path":
        """Return the path of what stands directly below."""
        return Path(*self, part)

    def __str__(self) -> str:
        text = ""
        for part in self:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text

    def __lt__(self, other: tuple[str | int, ...], /) -> bool:
        """Order paths as their texts: what is sorted by path is sorted as it reads."""
        return str(self) < str(Path(*other))

    @property
    def parent(self) -> "Path":
        """Return the path of what stands directly above."""
        return Path(*self[:-1])

    def below(self, top: "Path") -> "Path":
        """Return the rest of the path under one that it is within."""
        return Path(*self[len(top) :])

    def is_within(self, top: "Path") -> bool:
        """Say whether the path is another, or leads to something below it."""
        return self[: len(top)] == top
