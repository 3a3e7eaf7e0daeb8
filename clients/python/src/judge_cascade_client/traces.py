"""Traces: what an application retrieved and answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .enums import Retrieval, Role


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrieved piece of text."""

    chunk_id: str
    text: str
    document_id: str | None = None
    retrieval_score: float | None = None
    """The retriever's own score; `None` is unknown and not zero."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation before the question."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One question with the chunks that were retrieved for it and the answer that was given."""

    question: str
    chunks: Sequence[Chunk | str]
    """In rank order; a bare text gets its position as its id, from `1` on."""
    answer: str
    trace_id: str | None = None
    """`None`: the server makes one."""
    reference_answer: str | None = None
    """`None`: correctness is not asked."""
    history: Sequence[Turn] = ()
    standalone_question: str | None = None
    retrieval: Retrieval | None = None
    """`None`: it was performed."""
    tags: Sequence[str] = ()
    generator_model: str | None = None
    language: str | None = None
    statements: Sequence[str] = ()
