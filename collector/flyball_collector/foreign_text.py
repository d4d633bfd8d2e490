"""Text from hosts, processes and people, made safe for one line."""


def one_line(text: str, longest: int, instead: str = " ") -> str:
    """Return the text shortened, with every character replaced that is not printable, without spaces around it."""
    return "".join(each if each.isprintable() else instead for each in text[:longest]).strip()
