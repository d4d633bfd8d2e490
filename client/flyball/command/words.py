"""Numbers and foreign text as people read them."""


def bytes_in_words(count: float) -> str:
    """1536 → 1.5 KiB."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(value) < 1024 or unit == "PiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or abs(value) >= 100 else f"{value:.1f} {unit}"


def clean(text: object) -> str:
    """Text from elsewhere in one line, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))


def plural(count: int, one: str) -> str:
    """1 host, 2 hosts."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"
