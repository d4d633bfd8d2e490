"""Text from hosts and files, made safe for a terminal."""


def printable(text: object) -> str:
    """Return the text on one line, with every character replaced that could control a terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))
