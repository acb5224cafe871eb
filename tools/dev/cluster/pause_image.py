#!/usr/bin/env python3
"""pause_image.py PROGRAM OUT.tar NAME: an OCI image archive of one layer with one static program, /pause."""

import hashlib
import io
import json
import platform
import sys
import tarfile

MEDIA = "application/vnd.oci.image."
EPOCH = "1970-01-01T00:00:00Z"


def tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def main(program: str, out: str, name: str) -> None:
    files: dict[str, tuple[bytes, int]] = {"oci-layout": (b'{"imageLayoutVersion":"1.0.0"}', 0o644)}

    def blob(data: bytes, media: str) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{digest}"] = (data, 0o644)
        return {"mediaType": MEDIA + media, "digest": f"sha256:{digest}", "size": len(data)}

    with open(program, "rb") as f:
        layer = blob(tar({"pause": (f.read(), 0o755)}), "layer.v1.tar")
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    config = blob(json.dumps({
        "architecture": architecture, "os": "linux", "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}, "history": [{"created": EPOCH}]}).encode(), "config.v1+json")
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": config, "layers": [layer]}).encode(), "manifest.v1+json")
    manifest["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rsplit(":", 1)[1]}
    files["index.json"] = (json.dumps({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [manifest]}).encode(), 0o644)
    with open(out, "wb") as f:
        f.write(tar(files))


if __name__ == "__main__":
    main(*sys.argv[1:4])
