"""The generated documents are up to date."""

from pathlib import Path

import pytest

from docs.generator.__main__ import DOCUMENTS, ROOT, main


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_is_up_to_date(name: str) -> None:
    """The committed file equals the generated text. If this fails, run `make generated`."""
    assert (ROOT / name).read_text(encoding="utf-8") == DOCUMENTS[name]()


def test_all_documents_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing folders are created."""
    monkeypatch.setattr("docs.generator.__main__.ROOT", tmp_path)
    main()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == sorted(DOCUMENTS)
