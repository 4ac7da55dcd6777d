"""Captures and stores in Azure Blob Storage, by azurite (from the path, or named by AZURITE_BLOB), and in Google Cloud
Storage, by moto and by fake-gcs-server (from the path, or named by FAKE_GCS_SERVER). If a server is not there its tests are
left out, unless PLIMSOLL_TESTS_MAY_LACK is set and does not name it.
Run: python -m unittest discover tests/python"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from email.utils import formatdate

from program import program

# The account of every emulator, which is no secret.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def found(variable, name):
    """The server's program; without it the tests are left out, if they may be."""
    path = os.environ.get(variable) or shutil.which(name)
    may_lack = os.environ.get("PLIMSOLL_TESTS_MAY_LACK")
    if path is None and may_lack is not None and name not in may_lack.split(","):
        raise AssertionError(f"{name} is not installed, and PLIMSOLL_TESTS_MAY_LACK does not name it")
    if path is None:
        raise unittest.SkipTest(f"not possible here: {name} is not installed")
    return path


class Captures:
    """What holds of every object store that captures are read from."""

    @classmethod
    def start(cls, command):
        log = tempfile.TemporaryFile()
        server = subprocess.Popen(command, stdout=log, stderr=log)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", cls.port), 1).close()
                break
            except OSError:
                log.seek(0)
                assert server.poll() is None and time.monotonic() < end, log.read().decode()
                time.sleep(0.05)
        cls.prepare()

    @classmethod
    def prepare(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.capture = os.path.join(cls.folder, "embedding")
        cls.run_here("generate", cls.capture, "--preset", "gemma4-e2b-gb10", "--scale", "1/384")
        cls.names = sorted(os.listdir(cls.capture))
        cls.make_bucket()
        for name in cls.names:
            with open(os.path.join(cls.capture, name), "rb") as file:
                cls.upload(f"captures/embedding/{name}", file.read())
        cls.address = f"{cls.scheme}://{cls.bucket}/captures/embedding"

    @classmethod
    def request(cls, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", cls.port)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, (answer.status, text)
        return text

    @classmethod
    def run_here(cls, *arguments, code=0, **more):
        prefixes = ("AWS_", "AZURE_", "GOOGLE_", "PLIMSOLL_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        environment.update(cls.environment, **more)
        done = subprocess.run([program(), *arguments], env=environment, cwd=cls.folder, capture_output=True, text=True)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done

    def test_a_capture_there_means_the_same_whole_and_in_shards(self):
        check = ("--kernel", "builtin:embedding", "--digest", "full", "--record")
        self.run_here("check", self.capture, *check, "local.json")
        self.run_here("check", self.address, *check, "remote.json")
        self.run_here("compare", "local.json", "remote.json")
        os.makedirs(os.path.join(self.folder, "shards"), exist_ok=True)
        for shard in ("1", "2"):
            self.run_here("check", self.address, "--shard", f"{shard}/2", *check, f"shards/{shard}.json")
        self.run_here("merge", "shards", "--out", "shards.json")
        self.assertEqual(self.digest_of("shards.json"), self.digest_of("local.json"))

    def test_nothing_at_an_address_is_an_error_that_names_it(self):
        self.assert_nothing_at(f"{self.scheme}://{self.bucket}/nothing")

    def assert_nothing_at(self, address):
        done = self.run_here("inspect", address, code=2)
        self.assertIn(f"{address}: there is nothing at this address", done.stderr)

    @classmethod
    def digest_of(cls, name):
        with open(os.path.join(cls.folder, name), encoding="utf-8") as file:
            return json.load(file)["semantics_digest"]


class Stores(Captures):
    """What holds of every object store that is written to as well."""

    def test_a_bucket_that_does_not_exist_is_an_error_that_names_it(self):
        self.assert_nothing_at(f"{self.scheme}://nothing/captures")

    def test_a_capture_there_means_the_same_and_its_record_goes_there(self):
        record = f"{self.scheme}://{self.bucket}/records/remote.json"
        check = ("--kernel", "builtin:embedding", "--digest", "full", "--record")
        self.run_here("check", self.capture, *check, "local.json")
        self.run_here("check", self.address, *check, record)
        self.run_here("compare", "local.json", record)
        self.run_here("check", self.address, "--shard", "1/2", *check, f"{self.scheme}://{self.bucket}/parts/1.json")
        self.run_here("check", self.address, "--shard", "2/2", *check, f"{self.scheme}://{self.bucket}/parts/2.json")
        self.run_here("merge", f"{self.scheme}://{self.bucket}/parts", "--out", "merged.json")
        self.assertEqual(self.digest_of("local.json"), self.digest_of("merged.json"))

    def test_a_store_is_sent_once_and_comes_back_whole(self):
        store = f"{self.scheme}://{self.bucket}/store"
        first = json.loads(self.run_here("pack", self.capture, "--out", store, "--json").stdout)
        self.assertGreater(first["sent_bytes"], 0)
        again = json.loads(self.run_here("pack", self.capture, "--out", store, "--json").stdout)
        self.assertEqual(again["sent_bytes"], 0)
        self.assertIn("everything holds", self.run_here("verify", store).stdout)
        self.run_here("unpack", store, "--out", "unpacked")
        for name in self.names:
            with open(os.path.join(self.folder, "unpacked", name), "rb") as one:
                with open(os.path.join(self.capture, name), "rb") as other:
                    self.assertEqual(one.read(), other.read())
        self.run_here("check", f"{store}/captures/embedding", "--kernel", "builtin:embedding", "--no-record")


class AzureTest(Stores, unittest.TestCase):
    scheme = "az"
    bucket = "lab"

    @classmethod
    def setUpClass(cls):
        azurite = found("AZURITE_BLOB", "azurite-blob")
        cls.port = free_port()
        cls.environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{cls.port}/{ACCOUNT}"}
        cls.start([azurite, "--inMemoryPersistence", "--silent", "--blobPort", str(cls.port), "--skipApiVersionCheck",
                   "--disableTelemetry"])

    @classmethod
    def signed(cls, method, path, body, query, headers):
        """A request signed with the key of the account, as Azure wants it."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02", **headers}
        resource = f"/{ACCOUNT}/{ACCOUNT}/{path}" + "".join(f"\n{name}:{value}" for name, value in sorted(query.items()))
        own = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()) if name.startswith("x-ms-"))
        text = f"{method}\n\n\n{len(body) or ''}\n\n\n\n\n\n\n\n\n{own}{resource}"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), "sha256")).decode()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
        address = f"/{ACCOUNT}/{path}" + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")
        cls.request(method, address, body, headers)

    @classmethod
    def make_bucket(cls):
        cls.signed("PUT", "lab", b"", {"restype": "container"}, {})

    @classmethod
    def upload(cls, key, content):
        cls.signed("PUT", f"lab/{key}", content, {}, {"x-ms-blob-type": "BlockBlob"})

    def test_a_wrong_key_is_named_and_nothing_is_written(self):
        wrong = base64.b64encode(hashlib.sha512(b"wrong").digest()).decode()
        done = self.run_here("pack", self.capture, "--out", "az://lab/closed", code=2, AZURE_STORAGE_ACCOUNT_KEY=wrong)
        self.assertIn("the store refuses access", done.stderr)
        self.assertIn("there is nothing at this address", self.run_here("inspect", "az://lab/closed", code=2).stderr)


class GoogleTest(Stores, unittest.TestCase):
    """The XML API of GCS, which `gs://` speaks, is that of S3 but for conditions and checksums, which moto passes over."""

    scheme = "gs"
    # Not `lab`: moto shares its buckets within a process, and the tests of S3 have that one.
    bucket = "depot"

    @classmethod
    def setUpClass(cls):
        from test_remote import Server

        class Known(Server):
            """Takes every request for one of the owner, as moto asks for a signature of S3."""

            def __call__(self, environ, start_response):
                credential = "key/20260101/us-east-1/s3/aws4_request"
                environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0"
                return super().__call__(environ, start_response)

        cls.server = Known()
        cls.port = cls.server.server.server_port
        # An account that asks nobody for a token.
        account = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
        cls.environment = {"GOOGLE_BASE_URL": cls.server.url, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}
        cls.prepare()

    @classmethod
    def make_bucket(cls):
        cls.request("PUT", f"/{cls.bucket}")

    @classmethod
    def upload(cls, key, content):
        cls.request("PUT", f"/{cls.bucket}/{key}", content)

    def test_plain_http_to_another_machine_is_refused(self):
        done = self.run_here("inspect", self.address, code=2, GOOGLE_BASE_URL="http://192.0.2.1")
        self.assertIn("plain http is for servers of this machine", done.stderr)


class FakeGcsTest(Captures, unittest.TestCase):
    """A server of GCS alone. Its XML API is for reading: it takes uploads by the JSON API, which `gs://` does not speak."""

    scheme = "gs"
    bucket = "depot"

    @classmethod
    def setUpClass(cls):
        server = found("FAKE_GCS_SERVER", "fake-gcs-server")
        cls.port = free_port()
        url = f"http://127.0.0.1:{cls.port}"
        account = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
        cls.environment = {"GOOGLE_BASE_URL": url, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}
        cls.start([server, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(cls.port),
                   "-public-host", f"127.0.0.1:{cls.port}", "-external-url", url, "-log-level", "error"])

    @classmethod
    def make_bucket(cls):
        body = json.dumps({"name": cls.bucket}).encode()
        cls.request("POST", "/storage/v1/b", body, {"Content-Type": "application/json"})

    @classmethod
    def upload(cls, key, content):
        cls.request("POST", f"/upload/storage/v1/b/{cls.bucket}/o?uploadType=media&name={key}", content)

    def test_an_object_that_was_replaced_is_read_anew(self):
        name, other = self.names[0], self.names[1]
        with open(os.path.join(self.capture, name), "rb") as file:
            self.addCleanup(self.upload, f"captures/embedding/{name}", file.read())
        before = self.run_here("inspect", self.address, "--digest", "blake3", "--json").stdout
        with open(os.path.join(self.capture, other), "rb") as file:
            self.upload(f"captures/embedding/{name}", file.read())
        self.assertNotEqual(self.run_here("inspect", self.address, "--digest", "blake3", "--json").stdout, before)

    def test_a_write_that_the_server_refuses_is_an_error_that_says_so(self):
        done = self.run_here("pack", self.capture, "--out", f"gs://{self.bucket}/store", code=2)
        self.assertIn("400 Bad Request", done.stderr)


if __name__ == "__main__":
    unittest.main()
