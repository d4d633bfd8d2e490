"""Foreign text as people read it."""


def clean(text: object) -> str:
    """Text from elsewhere in one line, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))
