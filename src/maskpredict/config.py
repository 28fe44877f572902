"""Strict configuration: frozen dataclasses <-> commented YAML <-> `key.sub=value` overrides.

A setting is declared once, as a dataclass field beside the code it configures, and explained once, in the string
literal right below the field. Everything else follows from that: what a YAML file may say, which values are
refused, the comments of a dumped configuration, the help of the command line.

    @dataclass(frozen=True)
    class TrainConfig:
        steps: int = 300_000
        \"\"\"Updates of the weights.\"\"\"

    config = load_config(TrainConfig, Path("train.yaml"), ["steps=1000"])

Fields may be scalars, `Path`, `Literal`, unions, other dataclasses, and lists, tuples and dicts of these. Numbers may
have bounds (`maskpredict.bounds`). A dataclass whose keys stand beside those of the class
around it is a field with the metadata `FLAT`.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import inspect
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from maskpredict.bounds import Bounds
from maskpredict.errors import UserError
from maskpredict.yaml_dialect import inline_yaml, parse_yaml

T = TypeVar("T")
FLAT = "flat"
"""Metadata key of a field with a dataclass whose keys stand beside those of the class around it, without a level of
their own. The metadata is a function from all settings to `FlatKeys`."""
_LONGEST_SHOWN = 200
"""Characters of a wrong value in an error message."""
_MOST_LEVELS = 20
"""Levels of the key of an override."""


@dataclasses.dataclass(frozen=True)
class FlatKeys:
    """The dataclass of a field with the metadata `FLAT`."""

    kind: type[Any]
    ignored: Collection[str] = ()
    """Keys that are neither used nor refused as unknown."""


def load_config(
    cls: type[T], path: Path | None, overrides: Sequence[str] = (), defaults: Mapping[str, Any] | None = None
) -> T:
    """The configuration from, in rising precedence: the class, `defaults`, the YAML file, the overrides.

    Mappings are merged key by key; every other value, a list included, replaces the lower one. An override is
    `key.sub=value` with the value in YAML; a number in the key (`corpora.0.weight=2`) is a place in a list
    that `defaults` or the file gives.
    """
    try:
        built: T = _build(cls, read_settings(path, overrides, defaults), key="", base=None)
    except _Problem as problem:
        raise UserError(f"{_place_of(problem.key, path, overrides)}: {problem}") from None
    return built


def read_settings(
    path: Path | None, overrides: Sequence[str] = (), defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values that `load_config` makes a configuration of, unchecked."""
    settings: dict[str, Any] = _merged(dict(defaults or {}), _read_yaml(path) if path else {})
    for override in overrides:
        settings = _with_override(settings, override)
    return settings


def from_dict(cls: type[T], mapping: Mapping[str, Any], key: str = "") -> T:
    """The configuration that `to_dict` wrote, with the same checks as a YAML file gets.

    Errors put `key` before the names of fields, as in `model.dropout`.
    """
    try:
        built: T = _build(cls, mapping, key=key, base=None)
    except _Problem as problem:
        raise UserError(f"configuration: {problem}") from None
    return built


def check_bounds(instance: Any) -> None:
    """Refuse numbers out of bounds in a configuration made in Python; call it in `__post_init__`."""
    try:
        _check_fields(instance, "")
    except _Problem as problem:
        raise UserError(str(problem)) from None


def to_dict(instance: Any) -> dict[str, Any]:
    """The configuration as plain dicts, lists and scalars, ready for YAML or JSON."""
    plain: dict[str, Any] = {}
    for name, field in _settings(instance).items():
        value = _plain(getattr(instance, name))
        plain |= value if FLAT in field.metadata else {name: value}
    return plain


def dump_config(instance: Any) -> str:
    """YAML that loads back to an equal instance, each key followed by the first paragraph of its explanation."""
    return "\n".join(_block(instance) or ["{}"]) + "\n"


def keys_of(cls: type[Any]) -> list[str]:
    """The keys that a mapping may have for this class, without those of flat fields."""
    return [name for name, field in _settings(cls).items() if FLAT not in field.metadata]


@functools.cache
def field_docs(cls: type[Any]) -> dict[str, str]:
    """Each field's explanation: the string literal right below it in the source, inherited ones included."""
    docs: dict[str, str] = {}
    for owner in reversed([c for c in cls.__mro__ if dataclasses.is_dataclass(c)]):
        try:
            source = textwrap.dedent(inspect.getsource(owner))
        except OSError:  # no source at hand, as in an interactive session: only the comments are lost
            continue
        (definition,) = ast.parse(source).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in zip(definition.body, definition.body[1:], strict=False):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    docs[name] = inspect.cleandoc(text)
    return docs


class _Problem(Exception):
    """A problem with the value at a key path; `load_config` adds the file or override it came from."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key


def _build(cls: type[Any], mapping: Mapping[str, Any], key: str, base: Any) -> Any:
    """An instance of `cls`; values missing in `mapping` come from `base`, if any, or from the defaults of the class."""
    hints = _hints(cls)  # type: ignore[arg-type]  # mypy takes type[Any] for something without a hash
    fields = _settings(cls)
    flat = {name: field.metadata[FLAT](mapping) for name, field in fields.items() if FLAT in field.metadata}
    known = [*keys_of(cls), *(name for keys in flat.values() for name in keys_of(keys.kind))]
    for name in mapping:
        if name not in known and not any(name in keys.ignored for keys in flat.values()):
            raise _unknown_key(key, str(name), known)
    values = {}
    for name, field in fields.items():
        if name in flat:
            inner = {name: mapping[name] for name in keys_of(flat[name].kind) if name in mapping}
            values[name] = _build(flat[name].kind, inner, key, None)
            continue
        default = getattr(base, name) if base is not None else _default(field)
        if name in mapping:
            values[name] = _convert(hints[name], mapping[name], _join(key, name), default)
        elif default is dataclasses.MISSING:
            expected = _describe(hints[name])
            raise _Problem(_join(key, name), f"{_join(key, name)!r} is missing; set it to {expected}")
        else:
            values[name] = default
    return cls(**values)


@functools.cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """Cached type hints, which Python would resolve again at every call of a Translator."""
    return get_type_hints(cls, include_extras=True)


def _check_fields(instance: Any, key: str) -> None:
    hints = _hints(type(instance))  # type: ignore[arg-type]
    for name, field in _settings(instance).items():
        _check_value(hints[name], getattr(instance, name), key if FLAT in field.metadata else _join(key, name))


def _check_value(kind: Any, value: Any, key: str) -> None:
    origin, args = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(value):
        _check_fields(value, key)
    elif origin is Annotated or (origin in (Union, UnionType) and any(get_origin(arm) is Annotated for arm in args)):
        _convert(kind, value, key)
    elif origin is dict:
        for name, item in value.items():
            _check_value(args[1], item, _join(key, name))
    elif origin in (list, tuple):
        for index, item in enumerate(value):
            _check_value(args[0] if args[-1] is Ellipsis or origin is list else args[index], item, _join(key, index))


def _convert(kind: Any, value: Any, key: str, default: Any = None) -> Any:
    """Convert a value of YAML to the type that an annotation asks for."""
    if type(value) is kind:
        return value
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _convert_bounded(kind, value, key)
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        assert isinstance(kind, type)
        return _build(kind, value, key, base=default if type(default) is kind else None)
    if origin in (Union, UnionType):
        return _convert_union(kind, value, key, default)
    if origin in (list, tuple) and isinstance(value, list | tuple):
        is_open = origin is list or args[-1] is Ellipsis
        if is_open or len(value) == len(args):
            kinds = [args[0]] * len(value) if is_open else args
            return origin(_convert(kinds[i], item, _join(key, i)) for i, item in enumerate(value))
    if origin is dict and isinstance(value, Mapping):
        return {_convert(args[0], k, key): _convert(args[1], v, _join(key, k)) for k, v in value.items()}
    if origin is Literal and any(value == a and type(value) is type(a) for a in args):
        return value
    if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is Any:
        return value
    quotes = " (put it in quotes to make it text)" if kind is str and isinstance(value, int | float) else ""
    raise _Problem(key, f"{key!r} must be {_describe(kind)}, not {_brief(value)}{quotes}")


def _convert_bounded(kind: Any, value: Any, key: str) -> Any:
    """Convert a number and check the bounds of its annotation."""
    number, bounds = get_args(kind)
    assert isinstance(bounds, Bounds)
    if type(value) in (int, number):  # a whole number may stand for a float
        converted = _convert(number, value, key)
        if bounds.allow(converted):
            return converted
    raise _Problem(key, f"{key!r} must be {_describe(kind)}, not {_brief(value)}")


def _convert_union(kind: Any, value: Any, key: str, default: Any) -> Any:
    arms = get_args(kind)
    if type(value) in arms:  # saves the cost of messages that are never shown
        return value
    deeper = []
    for arm in arms:
        try:
            return _convert(arm, value, key, default)
        except _Problem as problem:
            if problem.key != key:
                deeper.append(problem)
    # If a single alternative has the shape of the value, its message names the entry that is wrong.
    if len(deeper) == 1:
        raise deeper[0]
    raise _Problem(key, f"{key!r} must be {_describe(kind)}, not {_brief(value)}")


def _describe(kind: Any) -> str:
    """The annotation in words for an error message."""
    origin, args = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return f"a mapping of {', '.join(_settings(kind))}"
    if origin is Annotated:
        return f"{_describe(args[0])} {args[1]}" if str(args[1]) else "a finite number"
    if origin in (Union, UnionType):
        return " or ".join(_describe(arm) for arm in args)
    if origin is Literal:
        return ("one of " if len(args) > 1 else "") + ", ".join(map(_shown, args))
    if origin is dict:
        return f"a mapping of names to {_describe(args[1])}"
    if origin is tuple and args[-1] is not Ellipsis:
        return f"a list of {len(args)} ({', '.join(map(_describe, args))})"
    if origin in (list, tuple):
        return f"a list of {_describe(args[0])}"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false", Path: "a path"}
    return words.get(kind, "null" if kind is NoneType else str(kind))


def _settings(config: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(config) if field.init}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def _unknown_key(key: str, name: str, known: list[str]) -> _Problem:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    advice = f"did you mean {_join(key, near[0])!r}?" if near else f"known here: {', '.join(known)}"
    return _Problem(_join(key, name), f"unknown key {_join(key, name)!r}; {advice}")


def _join(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the configuration {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"the configuration {path} is not UTF-8 text; save it as UTF-8") from None
    settings = parse_yaml(text, str(path))
    if settings is None:  # an empty file, or one with comments alone
        return {}
    if not isinstance(settings, dict):
        raise UserError(f"{path}: a configuration is lines of `key: value`, not {_shown(settings)}")
    return settings


def _with_override(settings: dict[str, Any], override: str) -> dict[str, Any]:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise UserError(f"override {override!r}: write it as key=value or key.sub=value")
    names = key.split(".")
    if len(names) > _MOST_LEVELS:
        shown = override[:_LONGEST_SHOWN]
        raise UserError(f"override {shown!r}: no setting is {len(names)} levels deep; write it as key.sub=value")
    value = parse_yaml(text, f"override {override!r}")
    updated: dict[str, Any] = _set_at(settings, names, value)
    return updated


def _set_at(tree: Any, names: list[str], value: Any) -> Any:
    """A copy of `tree` with `value` at the path `names`; missing mappings on the way are created."""
    if not names:
        return value
    name, *remaining = names
    if isinstance(tree, list) and name.isdecimal() and int(name) < len(tree):
        return [_set_at(item, remaining, value) if i == int(name) else item for i, item in enumerate(tree)]
    below = tree if isinstance(tree, dict) else {}
    return {**below, name: _set_at(below.get(name), remaining, value)}


def _place_of(key: str, path: Path | None, overrides: Sequence[str]) -> str:
    """Origin of the value at `key`: the last override at, above or below it, or else the file."""
    for override in reversed(overrides):
        overridden = override.partition("=")[0]
        if f"{key}.".startswith(f"{overridden}.") or overridden.startswith(f"{key}."):
            return f"override {override!r}"
    return str(path or "configuration")


def _merged(lower: Any, upper: Any) -> Any:
    if not (isinstance(lower, Mapping) and isinstance(upper, Mapping)):
        return upper
    return {**lower, **{key: _merged(lower.get(key), value) for key, value in upper.items()}}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def _block(value: Any) -> list[str]:
    """Indented lines of a value that contains dataclasses; none for a value that fits on the line of its key."""
    if dataclasses.is_dataclass(value):
        entries = _entries(value)
    elif isinstance(value, dict) and any(map(_block, value.values())):
        entries = [_entry(_shown(key), item, "") for key, item in value.items()]
    elif isinstance(value, list | tuple) and any(map(_block, value)):
        entries = [_item(_block(item) or [_shown(item)]) for item in value]
    else:
        entries = []
    return [line for lines in entries for line in lines]


def _entries(instance: Any) -> list[list[str]]:
    """Lines of each field of a dataclass."""
    docs = field_docs(type(instance))  # type: ignore[arg-type]
    entries: list[list[str]] = []
    for name, field in _settings(instance).items():
        value = getattr(instance, name)
        doc = _first_paragraph(docs.get(name, ""))
        entries += _entries(value) if FLAT in field.metadata else [_entry(name, value, doc)]
    return entries


def _first_paragraph(text: str) -> str:
    return text.partition("\n\n")[0].replace("\n", " ")


def _entry(name: str, value: Any, doc: str) -> list[str]:
    comment = f"  # {doc}" if doc else ""
    block = _block(value)
    if block:
        return [f"{name}:{comment}", *(f"  {line}" for line in block)]
    return [f"{name}: {_shown(value)}{comment}"]


def _item(lines: list[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _shown(value: Any) -> str:
    return inline_yaml(_plain(value))


def _brief(value: Any) -> str:
    """A value as an error message shows it."""
    shown = _shown(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
