"""Seeds the fuzzers: small good files into `fuzz/corpus/TARGET`, each in the form that the target takes.

    python3 fuzz/seed.py FOLDER..

Every CRC-32 of an archive is set to zero, which means that there is none: a changed byte then gets beyond the CRC.
"""

import hashlib
import json
import pathlib
import pickle
import struct
import sys
import zipfile

CORPUS = pathlib.Path(__file__).parent / "corpus"
LARGEST = 16 << 10
HEAD = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


def seed(target, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    if len(content) <= LARGEST:
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def without_crcs(content):
    content = bytearray(content)
    at = content.find(b"PK\x01\x02")
    while at >= 0 and at + 46 <= len(content):
        content[at + 16 : at + 20] = bytes(4)
        (header,) = struct.unpack_from("<I", content, at + 42)
        if content[header : header + 4] == b"PK\x03\x04":
            content[header + 14 : header + 18] = bytes(4)
        at = content.find(b"PK\x01\x02", at + 4)
    return bytes(content)


def pickle_end(content, at):
    """The offset at which the pickle at `at` ends."""
    import io
    import pickletools

    stream = io.BytesIO(content)
    stream.seek(at)
    for _ in pickletools.genops(stream):
        pass
    return stream.tell()


def main():
    line = b"%064x 65024 1234567 131072 1700000000 123456789 1700000000 123456789\n"
    seed("store_verified", b"plimsoll.verified/1\n" + line % 1 + line % 2)
    guide = (CORPUS.parent.parent / "docs" / "config.md").read_text(encoding="utf-8")
    for block in guide.split("```toml\n")[1:]:
        seed("plimsoll_toml", block.split("```")[0].encode())
    tests = CORPUS.parent.parent / "tests"
    for log in sorted(tests.glob("diagnose/**/*.log")) + sorted(tests.glob("diagnose/**/*.txt")):
        for target in ("diagnose_log", "telemetry"):
            seed(target, log.read_bytes())
    for line in (tests / "data" / "parameter-counts.jsonl").read_text(encoding="utf-8").splitlines():
        seed("model_config", json.dumps(json.loads(line).get("config", {})).encode())
    frame = [{"filename": "/k/train.py", "line": 3, "name": "forward"}]
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": frame}
    segment = {"device": 0, "address": 4096, "total_size": 2 << 20, "stream": 0, "segment_type": "small", "blocks": [block],
               "allocated_size": 512, "active_size": 512, "requested_size": 500, "segment_pool_id": (0, 0), "frames": []}
    event = {"addr": 4096, "size": 512, "stream": 0, "time_us": 7, "frames": frame, "device_free": 1 << 20}
    trace = [{"action": action, **event} for action in ("segment_alloc", "alloc", "free_requested", "free_completed", "oom")]
    dump = {"segments": [segment], "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}
    for protocol in range(6):
        seed("snapshot", pickle.dumps(dump, protocol))
    # A change of an honest recipe: the target applies it.
    seed("store_recipe", b"c\0\x10\0\x0d")
    record = (CORPUS.parent.parent / "snapshots" / "record_document.snap").read_text(encoding="utf-8")
    seed("record", record.split("---\n", 2)[2].encode())
    for which in range(4):
        seed("store", bytes([which]) + b"plimsoll.recipe/1 " + b"0" * 64 + b"\n")
    seed("history", b"c\0\x10\0\x0d")
    tensor = '{"tensor":{"storage":0,"layout":{"dtype":"float32","shape":[2],"strides":[1],"offset":0,"conj":false,"neg":false}}}'
    call = f'{{"params":["input"],"args":[{tensor}],"storages":[{{"path":"/a","offset":64,"bytes":8}}],"outputs":[]}}'
    leaf = '{"path":"","tensor":{"dtype":"float32","shape":[2],"offset":0,"bytes":8,"crc32":7}}'
    for message in [
        '{"type":"hello","protocol":2,"kernel":"builtin:embedding"}',
        f'{{"type":"launch","id":1,"call":{call}}}',
        f'{{"type":"launched","id":1,"elapsed_ns":5,"outputs":[{leaf}]}}',
        '{"type":"error","id":1,"kind":"exception","message":"no"}',
        '{"type":"next"}',
        '{"type":"release"}',
    ]:
        seed("worker_protocol", message.encode())
        seed("hostile_worker", b"\xff" + message.encode() + b"\n")
    for folder in map(pathlib.Path, sys.argv[1:]):
        for path in sorted(folder.iterdir()):
            if path.suffix == ".pickle":
                seed("snapshot", path.read_bytes())
            if path.suffix not in (".pt", ".ckpt", ".pth"):
                continue
            content = path.read_bytes()
            seed("torch_file", without_crcs(content))
            seed("skeleton", without_crcs(content))
            if content.startswith(HEAD):
                try:
                    seed("legacy", content[pickle_end(content, pickle_end(content, len(HEAD))) :])
                except Exception:
                    pass
            try:
                with zipfile.ZipFile(path) as archive:
                    names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
                    values = archive.read(names[0])
            except Exception:
                # A hostile file is one seed as a whole.
                continue
            seed("pickle", values)
            seed("entry", values)


if __name__ == "__main__":
    main()
