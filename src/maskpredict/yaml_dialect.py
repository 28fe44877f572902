"""YAML for configuration files, read with the scalar rules of YAML 1.2.

Scalars are read as YAML 1.2 has them, so `1e-3` is a number, `no` is a language and `2014-01-01` is text,
where YAML 1.1, the version of PyYAML, has text, `false` and a date. A duplicate key is an error.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from maskpredict.errors import UserError


def parse_yaml(text: str, place: str) -> Any:
    """Parse YAML; a syntax error names `place` and the line."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{place}{line}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an explicit tag that does not fit, `!!int x`
        raise UserError(f"{place}: not valid YAML: {str(error).splitlines()[0]}") from None


def inline_yaml(value: Any) -> str:
    """Plain dicts, lists and scalars as one line of YAML, which `parse_yaml` reads back."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, sort_keys=False, width=2**31
    )
    return text.removesuffix("\n").removesuffix("\n...")


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's attribute; ours are added below

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]:
            if key.value in seen:
                problem = f"the key {key.value!r} occurs twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        # Double quotes escape line breaks, so that every text stays on the line of its key.
        style = None if text.splitlines() in ([], [text]) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.represent_text)

for _tag, _pattern, _first_letters in [
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
]:
    for _side in (_Loader, _Dumper):
        _side.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first_letters))
