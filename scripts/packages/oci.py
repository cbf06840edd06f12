"""Makes an OCI image layout of one layer, and unpacks one, for scripts/package (image-spec, version 1.0).

    oci.py LAYER.tar LAYOUT VERSION MACHINE EPOCH    makes the folder LAYOUT
    oci.py --unpack LAYOUT ROOT                      unpacks its image, whose checksums must be right
"""

import datetime
import gzip
import hashlib
import json
import pathlib
import sys
import tarfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
TYPES = "application/vnd.oci.image"


def make(layer: str, layout: str, version: str, machine: str, epoch: str) -> None:
    folder = pathlib.Path(layout)
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    plain = pathlib.Path(layer).read_bytes()

    def add(kind: str, content: bytes) -> dict:
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"mediaType": f"{TYPES}.{kind}", "digest": f"sha256:{name}", "size": len(content)}

    def text(value: dict) -> bytes:
        return json.dumps(value, sort_keys=True).encode()

    created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/paceline"],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/work",
            "Labels": {"org.opencontainers.image.title": "paceline", "org.opencontainers.image.version": version},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/package oci"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{TYPES}.manifest.v1+json",
        "config": add("config.v1+json", text(config)),
        # Without a time in it, so that the same content has the same name.
        "layers": [add("layer.v1.tar+gzip", gzip.compress(plain, mtime=0))],
    }
    named = add("manifest.v1+json", text(manifest))
    named["annotations"] = {"org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": f"{TYPES}.index.v1+json", "manifests": [named]}
    (folder / "index.json").write_bytes(text(index))
    (folder / "oci-layout").write_bytes(text({"imageLayoutVersion": "1.0.0"}))


def unpack(layout: str, root: str) -> None:
    folder = pathlib.Path(layout)

    def content(named: dict) -> bytes:
        kind, name = named["digest"].split(":")
        found = (folder / "blobs" / kind / name).read_bytes()
        if hashlib.sha256(found).hexdigest() != name or len(found) != named["size"]:
            sys.exit(f"{name} is not what its name says")
        return found

    if json.loads((folder / "oci-layout").read_bytes())["imageLayoutVersion"] != "1.0.0":
        sys.exit("another version of image layouts")
    manifest = json.loads(content(json.loads((folder / "index.json").read_bytes())["manifests"][0]))
    config = json.loads(content(manifest["config"]))
    for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        plain = gzip.decompress(content(layer))
        if "sha256:" + hashlib.sha256(plain).hexdigest() != diff:
            sys.exit(f"a layer is not {diff}")
        path = pathlib.Path(root) / ".layer.tar"
        path.write_bytes(plain)
        with tarfile.open(path) as archive:
            archive.extractall(root, filter="tar")
        path.unlink()


if sys.argv[1] == "--unpack":
    unpack(*sys.argv[2:])
else:
    make(*sys.argv[1:])
