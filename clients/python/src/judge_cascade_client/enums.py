"""The named values of the API.

A server may be newer than this client: a value that the client does not know reads as `UNKNOWN`, and a value that is
not set is never read as one that is. Neither is ever a pass.
"""

from __future__ import annotations

from enum import Enum


class Diagnosis(Enum):
    """What is wrong with an answer."""

    PASS = "PASS"
    RETRIEVAL_MISS = "RETRIEVAL_MISS"
    RETRIEVAL_INSUFFICIENT = "RETRIEVAL_INSUFFICIENT"
    CONFLICTING_EVIDENCE = "CONFLICTING_EVIDENCE"
    ANSWER_IRRELEVANT = "ANSWER_IRRELEVANT"
    GENERATOR_UNGROUNDED = "GENERATOR_UNGROUNDED"
    ANSWER_INCORRECT = "ANSWER_INCORRECT"
    JUDGE_UNCERTAIN = "JUDGE_UNCERTAIN"
    NOT_ASSESSABLE = "NOT_ASSESSABLE"
    UNKNOWN = "UNKNOWN"


class Action(Enum):
    """What to do with an answer."""

    ALLOW = "ALLOW"
    WARN = "WARN"
    BLOCK = "BLOCK"
    UNKNOWN = "UNKNOWN"


class Route(Enum):
    """How a diagnosis was reached."""

    AUTO = "AUTO"
    FALLBACK = "FALLBACK"
    FALLBACK_UNAVAILABLE = "FALLBACK_UNAVAILABLE"
    UNKNOWN = "UNKNOWN"


class Rule(Enum):
    """The rule of the policy that decided."""

    NO_CHUNKS = "NO_CHUNKS"
    CONFLICT = "CONFLICT"
    RETRIEVAL_MISS = "RETRIEVAL_MISS"
    INSUFFICIENT = "INSUFFICIENT"
    IRRELEVANT = "IRRELEVANT"
    EMPTY_ANSWER = "EMPTY_ANSWER"
    UNGROUNDED = "UNGROUNDED"
    INCORRECT = "INCORRECT"
    UNCERTAIN = "UNCERTAIN"
    PASS = "PASS"
    RECORDED_VERDICT = "RECORDED_VERDICT"
    NOT_ASSESSABLE = "NOT_ASSESSABLE"
    UNKNOWN = "UNKNOWN"


class Dimension(Enum):
    """One question about a trace."""

    CHUNK_RELEVANCE = "CHUNK_RELEVANCE"
    CONTEXT_SUFFICIENCY = "CONTEXT_SUFFICIENCY"
    CONTEXT_CONFLICT = "CONTEXT_CONFLICT"
    ANSWER_RELEVANCE = "ANSWER_RELEVANCE"
    GROUNDEDNESS = "GROUNDEDNESS"
    CONTRADICTION = "CONTRADICTION"
    CORRECTNESS = "CORRECTNESS"
    UNKNOWN = "UNKNOWN"


class Band(Enum):
    """Where a probability lies between the thresholds; about truth and not goodness."""

    NEGATIVE = "NEGATIVE"
    UNCERTAIN = "UNCERTAIN"
    POSITIVE = "POSITIVE"
    UNKNOWN = "UNKNOWN"


class FailureReason(Enum):
    """Why a judge gave no probability."""

    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    UNAVAILABLE = "UNAVAILABLE"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PROTOCOL = "PROTOCOL"
    REFUSED = "REFUSED"
    OUTPUT_TRUNCATED = "OUTPUT_TRUNCATED"
    TOO_LONG = "TOO_LONG"
    TRUNCATED_BY_JUDGE = "TRUNCATED_BY_JUDGE"
    UNDECIDABLE = "UNDECIDABLE"
    UNSUPPORTED_LANGUAGE = "UNSUPPORTED_LANGUAGE"
    LOW_LABEL_MASS = "LOW_LABEL_MASS"
    LOGPROBS_UNSUPPORTED = "LOGPROBS_UNSUPPORTED"
    MODEL_MISMATCH = "MODEL_MISMATCH"
    BUDGET = "BUDGET"
    BREAKER_OPEN = "BREAKER_OPEN"
    OVERLOADED = "OVERLOADED"
    UNKNOWN = "UNKNOWN"


class FallbackUnavailableReason(Enum):
    """Why the fallback judge gave nothing."""

    NOT_CONFIGURED = "NOT_CONFIGURED"
    SKIPPED = "SKIPPED"
    ERROR = "ERROR"
    DEADLINE = "DEADLINE"
    BUDGET = "BUDGET"
    BREAKER = "BREAKER"
    OVERLOADED = "OVERLOADED"
    DEFERRED = "DEFERRED"
    MISMATCH_SHARE = "MISMATCH_SHARE"
    UNKNOWN = "UNKNOWN"


class NotApplicableReason(Enum):
    """Why a question does not apply."""

    NO_CONTEXT = "NO_CONTEXT"
    EMPTY_ANSWER = "EMPTY_ANSWER"
    NO_REFERENCE = "NO_REFERENCE"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    SWITCHED_OFF = "SWITCHED_OFF"
    UNKNOWN = "UNKNOWN"


class NotAssessableReason(Enum):
    """Why a trace cannot be judged."""

    RETRIEVAL_NOT_PERFORMED = "RETRIEVAL_NOT_PERFORMED"
    TEXTS_MISSING = "TEXTS_MISSING"
    UNKNOWN = "UNKNOWN"


class CalibrationState(Enum):
    """Whether the thresholds are certified."""

    CERTIFIED = "CERTIFIED"
    UNCALIBRATED = "UNCALIBRATED"
    MISMATCH = "MISMATCH"
    EXPIRED = "EXPIRED"
    SUSPENDED = "SUSPENDED"
    UNKNOWN = "UNKNOWN"


class JudgeRole(Enum):
    """Whether a judge is asked first or when the first is uncertain."""

    ATOMIC = "ATOMIC"
    FALLBACK = "FALLBACK"
    UNKNOWN = "UNKNOWN"


class Scope(Enum):
    """Which dimensions are asked."""

    FULL = "FULL"
    RETRIEVAL = "RETRIEVAL"


class FallbackMode(Enum):
    """What to do when the atomic judge is uncertain."""

    INLINE = "INLINE"
    NONE = "NONE"


class Retrieval(Enum):
    """Whether the application retrieved anything."""

    PERFORMED = "PERFORMED"
    NOT_PERFORMED = "NOT_PERFORMED"
    TEXTS_MISSING = "TEXTS_MISSING"


class Role(Enum):
    """Who spoke a turn."""

    USER = "USER"
    ASSISTANT = "ASSISTANT"
