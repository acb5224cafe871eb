#!/usr/bin/env python3
"""schemas.py SWAGGER.json FOLDER: JSON Schemas of the Kubernetes API for kubeconform, so that it needs no network.

The swagger document is the Kubernetes module's own. Written whole or not at all: into a folder beside FOLDER, then renamed.
  kubeconform -strict -schema-location 'FOLDER/{{ .ResourceKind }}{{ .KindSuffix }}.json'
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
KEPT = ("type", "required", "enum", "$ref", "format")


def schema(node: dict) -> dict:
    """One node of the swagger document as strict JSON Schema: what is not declared is refused."""
    if node.get("format") == "int-or-string":
        return {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    result = {key: value for key, value in node.items() if key in KEPT}
    if "properties" in node:
        result["properties"] = {name: schema(value) for name, value in node["properties"].items()}
        result["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            result[key] = schema(node[key])
    return result


def referenced(node: object, definitions: dict, found: set[str]) -> set[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                name = value.rsplit("/", 1)[1]
                if name not in found:
                    found.add(name)
                    referenced(definitions[name], definitions, found)
            else:
                referenced(value, definitions, found)
    elif isinstance(node, list):
        for value in node:
            referenced(value, definitions, found)
    return found


def main(swagger: str, folder: str) -> None:
    out = Path(folder)
    if out.exists():
        return
    source = json.loads(Path(swagger).read_text())["definitions"]
    definitions = {name: schema(node) for name, node in source.items()}
    definitions[QUANTITY] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    for name, node in source.items():
        for kind in node.get("x-kubernetes-group-version-kind", []):
            whole = dict(definitions[name])
            whole["required"] = sorted({*whole.get("required", []), "kind", "apiVersion"})
            whole["definitions"] = {other: definitions[other] for other in referenced(whole, definitions, set())}
            parts = (kind["kind"].lower(), kind["group"].split(".")[0], kind["version"])
            (work / ("-".join(filter(None, parts)) + ".json")).write_text(json.dumps(whole))
    try:
        os.rename(work, out)
    except OSError:
        shutil.rmtree(work)
        if not out.exists():
            raise


if __name__ == "__main__":
    main(*sys.argv[1:3])
