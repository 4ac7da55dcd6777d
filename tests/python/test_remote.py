"""Captures and stores in S3, on a real server of its protocol (moto). Run: python -m unittest discover tests/python"""

import json
import os
import subprocess
import tempfile
import threading
import unittest

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from program import program

BUCKET = "lab"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


class Server:
    """moto, with a log of its requests and of the bytes that it sent."""

    def __init__(self):
        self.seen, self.refuse = [], None
        self.app = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __call__(self, environ, start_response):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        refused = self.refuse and self.refuse(method, path)
        if refused:
            status, text = refused
            start_response(status, [("Content-Length", str(len(text)))])
            return [text.encode()]
        body = list(self.app(environ, start_response))
        part = environ["QUERY_STRING"]
        self.seen.append((method, f"{path}?{part}" if method == "PUT" and part else path, sum(map(len, body)) if method == "GET" else 0))
        return body

    def take_seen(self):
        seen, self.seen = self.seen, []
        return seen


class RemoteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.s3 = boto3.client("s3", endpoint_url=cls.server.url, aws_access_key_id="key", aws_secret_access_key="secret",
                              region_name="us-east-1")
        cls.s3.create_bucket(Bucket=BUCKET)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.capture = os.path.join(cls.folder, "embedding")
        cls.run_here("generate", cls.capture, "--preset", "gemma4-e2b-gb10", "--scale", "1/384")
        cls.names = sorted(os.listdir(cls.capture))
        cls.bytes = sum(os.path.getsize(os.path.join(cls.capture, name)) for name in cls.names)
        for name in cls.names:
            cls.s3.upload_file(os.path.join(cls.capture, name), BUCKET, f"captures/embedding/{name}")
        cls.address = f"s3://{BUCKET}/captures/embedding"
        # Few rows of a large table are looked up.
        cls.table = os.path.join(cls.folder, "table")
        cls.run_here("generate", cls.table, "--preset", "embedding", "--vocab", "50000", "--dim", "256", "--seq", "32",
                     "--entries", "4")
        for name in os.listdir(cls.table):
            cls.s3.upload_file(os.path.join(cls.table, name), BUCKET, f"captures/table/{name}")

    def setUp(self):
        self.server.refuse = None
        self.server.take_seen()

    @classmethod
    def run_here(cls, *arguments, code=0):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PLIMSOLL_"))}
        environment.update(ENVIRONMENT, AWS_ENDPOINT=cls.server.url)
        done = subprocess.run([program(), *arguments], env=environment, cwd=cls.folder, capture_output=True, text=True)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done

    def keys(self, prefix):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return {item["Key"] for page in pages for item in page.get("Contents", [])}

    def test_inspect_shows_what_it_shows_of_the_folder_with_two_requests_an_entry(self):
        remote = json.loads(self.run_here("inspect", self.address, "--json").stdout)
        gets = [path for method, path, _ in self.server.take_seen() if method == "GET" and path.endswith(".pt")]
        self.assertTrue(all(gets.count(path) <= 2 for path in gets), gets)
        self.assertEqual(len(set(gets)), len(self.names))
        local = json.loads(self.run_here("inspect", self.capture, "--json").stdout)
        self.assertEqual(remote["path"], self.address)
        for one, other in zip(remote["entries"], local["entries"], strict=True):
            self.assertEqual(one.pop("file"), f"{self.address}/{os.path.basename(other.pop('file'))}")
            self.assertEqual(one, other)
        self.assertEqual(remote["totals"], local["totals"])

    def test_a_look_up_fetches_the_rows_that_it_touches_and_means_the_same(self):
        address = f"s3://{BUCKET}/captures/table"
        self.run_here("check", self.table, "--kernel", "builtin:embedding", "--record", "local.json")
        self.run_here("check", address, "--kernel", "builtin:embedding", "--record", "remote.json")
        sent = sum(bytes for _, _, bytes in self.server.take_seen())
        whole = sum(os.path.getsize(os.path.join(self.table, name)) for name in os.listdir(self.table))
        self.assertLess(sent, whole / 50)
        records = []
        for name in ("local.json", "remote.json"):
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                records.append(json.load(file))
        self.assertEqual(records[0]["semantics_digest"], records[1]["semantics_digest"])
        self.assertEqual(records[1]["policy"]["source"]["path"], address)

    def test_a_store_is_sent_once_goes_on_where_it_stopped_and_comes_back_whole(self):
        store = f"s3://{BUCKET}/store"
        first = json.loads(self.run_here("pack", self.capture, "--out", store, "--json").stdout)
        self.assertGreater(first["sent_bytes"], 0)
        keys = self.keys("store/")
        puts = [path for method, path, _ in self.server.take_seen() if method == "PUT" and "objects" in path]
        self.assertEqual(len(puts), len(set(puts)), "each object is sent once")
        again = json.loads(self.run_here("pack", self.capture, "--out", store, "--json").stdout)
        self.assertEqual(again["sent_bytes"], 0)
        seen = self.server.take_seen()
        self.assertFalse([path for method, path, _ in seen if method in ("PUT", "POST")])
        gets = [path for method, path, _ in seen if method == "GET" and "/store/captures/" in path]
        self.assertEqual(len(gets), len(set(gets)), "a reference that is there is read once")
        # The leftovers of a killed pack: objects without references.
        lost = sorted(key for key in keys if "/objects/" in key)[:3]
        for key in [*lost, *(key for key in keys if "/captures/" in key)]:
            self.s3.delete_object(Bucket=BUCKET, Key=key)
        self.server.take_seen()
        self.run_here("pack", self.capture, "--out", store)
        puts = {path for method, path, _ in self.server.take_seen() if method == "PUT" and "objects" in path}
        self.assertEqual(puts, {f"/{BUCKET}/{key}" for key in lost})
        self.assertEqual(self.keys("store/"), keys)

        self.assertIn("everything holds", self.run_here("verify", store).stdout)
        listed = self.run_here("store", "ls", store).stdout
        self.assertEqual(listed.count("embedding/entry_"), len(self.names))
        out = os.path.join(self.folder, "unpacked")
        self.run_here("unpack", store, "--out", out)
        for name in self.names:
            with open(os.path.join(out, name), "rb") as one, open(os.path.join(self.capture, name), "rb") as other:
                self.assertEqual(one.read(), other.read())
        self.run_here("check", f"{store}/captures/embedding", "--kernel", "builtin:embedding", "--no-record")
        # One changed byte of an object: its size stays the same.
        damaged = max((key for key in keys if "/objects/" in key), key=lambda key: self.s3.head_object(Bucket=BUCKET, Key=key)["ContentLength"])
        content = bytearray(self.s3.get_object(Bucket=BUCKET, Key=damaged)["Body"].read())
        content[len(content) // 2] ^= 1
        self.s3.put_object(Bucket=BUCKET, Key=damaged, Body=bytes(content))
        self.assertIn(os.path.basename(damaged), self.run_here("verify", store, code=1).stdout)

    def test_records_and_baselines_are_written_and_read(self):
        record = f"s3://{BUCKET}/records/embedding.json"
        self.run_here("check", self.address, "--kernel", "builtin:embedding", "--record", record)
        self.assertEqual(self.keys("records/"), {"records/embedding.json"})
        for baseline in (record, f"s3://{BUCKET}/records/"):
            # One run against one run is undecidable.
            self.assertIn(f"baseline    {baseline}", self.run_here("gate", record, "--baseline", baseline, code=3).stdout)
        self.run_here("compare", record, record)
        self.assertIn("there is nothing at this address", self.run_here("compare", record, f"{record}.none", code=2).stderr)

    def test_records_of_shards_at_an_address_are_merged_into_one_there(self):
        parts, out = f"s3://{BUCKET}/parts", f"s3://{BUCKET}/parts/all.json"
        check = ("check", self.address, "--kernel", "builtin:embedding", "--digest", "full")
        self.run_here(*check, "--record", "whole.json")
        self.run_here(*check, "--shard", "1/2", "--record", f"{parts}/1.json")
        done = self.run_here("merge", parts, "--out", out, code=2)
        self.assertIn("shard 2 of 2 (no record)", done.stderr)
        self.assertEqual(self.keys("parts/"), {"parts/1.json"}, "nothing is half written")
        # What a run leaves that was killed is a record, too.
        self.run_here(*check, "--shard", "2/2", "--record", "2.json")
        self.s3.upload_file(os.path.join(self.folder, "2.json"), BUCKET, "parts/2.json.partial")
        before = set(os.listdir(self.folder))
        for _ in range(2):
            # A second time, the merged record is not one of the parts.
            self.run_here("merge", parts, "--out", out)
        self.assertEqual(set(os.listdir(self.folder)), before)
        merged = json.loads(self.s3.get_object(Bucket=BUCKET, Key="parts/all.json")["Body"].read())
        with open(os.path.join(self.folder, "whole.json"), encoding="utf-8") as file:
            self.assertEqual(merged["semantics_digest"], json.load(file)["semantics_digest"])
        self.run_here("merge", f"{parts}/1.json", f"{parts}/2.json.partial", "--out", "here.json")

    def test_a_record_that_cannot_be_written_is_an_error_before_the_run(self):
        self.server.refuse = lambda method, path: path.startswith(f"/{BUCKET}/closed") and ("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>")
        done = self.run_here("check", self.address, "--kernel", "builtin:embedding", "--record", f"s3://{BUCKET}/closed/r.json", code=2)
        self.assertIn("refuses access", done.stderr)

    def test_expired_credentials_are_named_and_nothing_is_left_half_written(self):
        text = "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
        self.server.refuse = lambda method, path: method == "PUT" and "/objects/" in path and ("400 Bad Request", text)
        done = self.run_here("pack", self.capture, "--out", f"s3://{BUCKET}/half", code=2)
        self.assertIn("the credentials have expired", done.stderr)
        self.assertFalse([key for key in self.keys("half/") if "/captures/" in key], "no reference leads to what is missing")

    def test_a_bucket_that_does_not_exist_is_named(self):
        done = self.run_here("inspect", "s3://none/captures", code=2)
        self.assertIn("s3://none/captures: there is nothing at this address", done.stderr)


if __name__ == "__main__":
    unittest.main()
