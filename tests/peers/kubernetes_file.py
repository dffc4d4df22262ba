"""The kinds of the documents of a manifest, each valid by Kubernetes' own schemas of the version below."""

import json
import sys

import kubernetes_validate
import yaml

VERSION = "1.31"

with open(sys.argv[1], encoding="utf-8") as file:
    documents = list(yaml.safe_load_all(file))
for document in documents:
    kubernetes_validate.validate(document, VERSION, strict=True)
json.dump({"kinds": [document["kind"] for document in documents]}, sys.stdout)
