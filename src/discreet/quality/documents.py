"""What is known of a model's quality, as JSON: ``evaluation.json``."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from discreet.errors import ConfigurationError
from discreet.quality.numbers import NumberQuality
from discreet.quality.quality import Quality

AnyQuality = Quality | NumberQuality
"""Of a classifier, or of a regression."""

_QUALITY: TypeAdapter[Quality] = TypeAdapter(Quality)
_NUMBERS: TypeAdapter[NumberQuality] = TypeAdapter(NumberQuality)
NOT_PRIVATE = "not private: exact functions of held-out records, which no guarantee covers"
"""The note beside exact measurements, wherever they are kept."""

_METHOD = (
    "95 % intervals: Wilson (proportions, F1, average precision over its positives), Newcombe's method 5 "
    "(area under the ROC curve), Zou and Donner (balanced accuracy), normal (Brier); exact McNemar test"
)
_NUMBERS_METHOD = "95 % intervals: percentiles of 200 to 1000 bootstrap resamples of the records"
_PERSONS = {
    _METHOD: f"{_METHOD}; a person's records are taken for alike (Kish's effective number)",
    _NUMBERS_METHOD: "95 % intervals: percentiles of 200 to 1000 bootstrap resamples of persons",
}
_VERSION = 1


def quality_json(quality: AnyQuality) -> dict[str, Any]:
    """Returns the measurements as plain JSON, with the note that they are not private."""
    method, found = _NUMBERS_METHOD, dict[str, Any]()
    if isinstance(quality, Quality):
        method = _METHOD
        found |= _QUALITY.dump_python(quality, mode="json")
    else:
        found |= _NUMBERS.dump_python(quality, mode="json")
    if quality.persons is not None:
        return _about(_PERSONS[method]) | found
    del found["persons"]
    return _about(method) | found


def quality_from_json(data: object, *, source: str = "evaluation.json") -> AnyQuality:
    """Reads what `quality_json` wrote; types, names and lengths are checked.

    Raises:
        ConfigurationError: one line, if it is anything else.
    """
    method = data.get("method") if isinstance(data, dict) else None
    number = method in (_NUMBERS_METHOD, _PERSONS[_NUMBERS_METHOD])
    usual = _NUMBERS_METHOD if number else _METHOD
    about = _about(_PERSONS[usual] if method == _PERSONS[usual] else usual)
    if not isinstance(data, dict) or any(data.get(key) != value for key, value in about.items()):
        raise ConfigurationError(
            f"{source} must hold measurements of version {_VERSION}; got another text. Report the run again."
        )
    fields = {key: data[key] for key in data if key not in about}
    try:
        return _NUMBERS.validate_python(fields) if number else _QUALITY.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"{source}: {where!r} must be as it was written; {first['msg']}.") from None


def _about(method: str) -> dict[str, Any]:
    return {"version": _VERSION, "note": NOT_PRIVATE, "method": method}
