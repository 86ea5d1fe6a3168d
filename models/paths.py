"""Paths in a tree of plain values, such as a configuration or a rendered object."""

from typing import Self


class Path(tuple[str | int, ...]):
    """Keys of mappings and indices of lists, from the top of the tree downwards.

    Its text is for messages: `services.qwen.engine.args[2]`.
    """

    __slots__ = ()

    def __new__(cls, *parts: str | int) -> Self:
        """Make a path from its parts."""
        return super().__new__(cls, parts)

    def __getnewargs__(self) -> tuple[str | int, ...]:
        return tuple(self)

    def __truediv__(self, part: str | int) -> "Path":
        """Return the path of the value at a key or an index."""
        # Planning makes a hundred paths for each service, and `Path(*self, part)` would pack the parts twice.
        return tuple.__new__(Path, (*self, part))  # pyright: ignore[reportUnknownMemberType] - typeshed leaves it open

    def __str__(self) -> str:
        text = ""
        for part in self:
            if isinstance(part, int):
                text += f"[{part}]"
            elif text:
                text += f".{part}"
            else:
                text = part
        return text

    def __lt__(self, other: tuple[str | int, ...], /) -> bool:
        """Order paths by their texts, so that messages are sorted as users read them."""
        return str(self) < str(Path(*other))

    @property
    def parent(self) -> "Path":
        """Path of the mapping or list that holds the value."""
        return Path(*self[:-1])

    def below(self, top: "Path") -> "Path":
        """Return the path relative to `top`. The path must be within `top`."""
        return Path(*self[len(top) :])

    def is_within(self, top: "Path") -> bool:
        """Return whether the path is `top` or leads to a value below `top`."""
        return self[: len(top)] == top
