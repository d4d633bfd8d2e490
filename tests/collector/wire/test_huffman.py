"""Huffman-coded text of headers, against an encoder that follows the standard's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.wire.frames import ProtocolFault
from flyball_collector.wire.hpack_tables import CODE_BITS
from flyball_collector.wire.huffman import huffman_decoded

LONGEST = max(CODE_BITS[:256])


@given(st.binary(max_size=100))
def test_huffman_coded_text_is_decoded(text: bytes) -> None:
    """Every byte has a code, and the padding consists of ones."""
    assert huffman_decoded(coded(text)) == text


@pytest.mark.parametrize("symbol", range(256))
def test_each_symbol_is_decoded_at_each_position_of_a_byte(symbol: int) -> None:
    """A code of up to 30 bits may begin with any bit of a byte."""
    for before in range(8):
        text = b"0" * before + bytes([symbol]) + b"a"  # the code of "0" has five bits, so all positions occur
        assert huffman_decoded(coded(text)) == text


@given(st.binary(max_size=60))
def test_arbitrary_bits_decode_to_text_or_a_fault(bits: bytes) -> None:
    """Accepted bits are those that the text is encoded to: there is one coding of each text."""
    try:
        text = huffman_decoded(bits)
    except ProtocolFault:
        return
    assert coded(text) == bits


@pytest.mark.parametrize(
    ("bits", "reason"),
    [
        ("00000 000", "padding"),  # "0", then zeros
        ("00011 111 11111111", "padding"),  # "a", then eleven ones
        ("11111111", "padding"),
        ("1" * 30 + "11", "end-of-string"),
        ("00011" + "1" * 30 + "00011", "end-of-string"),
    ],
)
def test_invalid_bits_have_a_reason(bits: str, reason: str) -> None:
    """Padding is less than a byte of ones, and the end-of-string symbol must not occur (section 5.2)."""
    digits = bits.replace(" ", "")
    with pytest.raises(ProtocolFault, match=reason):
        huffman_decoded(int(digits, 2).to_bytes(len(digits) // 8))


def coded(text: bytes) -> bytes:
    """Encode text with Huffman's code the long way: codes of one length are consecutive, in the order of bytes."""
    codes, code = {}, 0
    for bits in range(1, 31):
        code *= 2
        for symbol in (symbol for symbol, length in enumerate(CODE_BITS) if length == bits):
            codes[symbol] = f"{code:0{bits}b}"
            code += 1
    bits_of_text = "".join(codes[byte] for byte in text)
    bits_of_text += "1" * (-len(bits_of_text) % 8)
    return int(bits_of_text or "0", 2).to_bytes(len(bits_of_text) // 8)
