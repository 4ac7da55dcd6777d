"""Tests of docs/ci and .github/workflows: templates against their schemas, scripts with shellcheck, and their steps run
here on a release made from the existing build."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import AS_TESTED, ROOT, program
from ruamel.yaml import YAML

CI = os.path.join(ROOT, "docs", "ci")
BIN = os.path.join(sys.prefix, "bin")
TEMPLATES = {
    "github/action.yml": ["vendor.github-actions"],
    "../../.github/workflows/ci.yml": ["vendor.github-workflows"],
    "../../.github/workflows/release.yml": ["vendor.github-workflows"],
    "gitlab.yml": ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}


def read(name):
    with open(os.path.join(CI, name), encoding="utf-8") as file:
        return YAML(typ="safe").load(file)


def run(command, code=0, **options):
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    if ended.returncode != code:
        raise AssertionError(f"{command} ended with {ended.returncode}, not {code}:\n{ended.stdout}")
    return ended.stdout


class Templates(unittest.TestCase):
    def test_schemas(self):
        for name, schema in TEMPLATES.items():
            with self.subTest(name):
                run([os.path.join(BIN, "check-jsonschema"), "--builtin-schema", *schema, os.path.join(CI, name)])

    def test_scripts(self):
        scripts = [("install.sh", None), ("github/run.sh", None), ("../../harness/release.sh", None)]
        steps = read("github/action.yml")["runs"]["steps"]
        steps += [step for job in read("../../.github/workflows/release.yml")["jobs"].values() for step in job["steps"]]
        scripts += [(step["name"], step["run"]) for step in steps if "run" in step]
        scripts += [("gitlab", "\n".join(read("gitlab.yml")[".plimsoll"]["before_script"]))]
        for name, text in scripts:
            with self.subTest(name):
                # Text of a workflow would become part of the script.
                self.assertNotIn("${{", text or "")
                options = ["--shell=sh"] if name == "gitlab" else ["--shell=bash"] if text else []
                file = "-" if text else os.path.normpath(os.path.join(CI, name))
                ended = subprocess.run(
                    [os.path.join(BIN, "shellcheck"), *options, file], input=text, capture_output=True, text=True)
                self.assertEqual(ended.returncode, 0, ended.stdout)


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program()
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        # Without this process's settings, and with a home of releases laid out as on a server.
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL")}
        latest = os.path.join(cls.folder, "releases", "latest", "download")
        cls.printed = run(
            [os.path.join(ROOT, "harness", "release.sh"), "--profile", "dev", "--out", latest, *AS_TESTED], env=cls.environment)
        shutil.copy(os.path.join(CI, "install.sh"), latest)
        cls.version = run([program(), "--version"]).split()[1]
        tagged = os.path.join(cls.folder, "releases", "download")
        os.mkdir(tagged)
        os.symlink(latest, os.path.join(tagged, f"v{cls.version}"))
        cls.releases = "file://" + os.path.join(cls.folder, "releases")
        cls.archive = cls.printed.splitlines()[-1]
        # The machine's own glibc may be too old for choosing the gnu build.
        cls.environment["PLIMSOLL_TARGET"] = os.path.basename(cls.archive)[len("plimsoll-"):-len(".tar.gz")]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def install(self, version, folder, releases=None, code=0):
        return run(
            ["sh", os.path.join(CI, "install.sh"), releases or self.releases, version, folder], code=code,
            env=self.environment)

    def test_the_archive_is_whole(self):
        names = run(["tar", "-tzf", self.archive]).split()
        inside = f"plimsoll-{self.version}-{self.environment['PLIMSOLL_TARGET']}/"
        for name in ("plimsoll", "LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md",
                     "completions/plimsoll.bash", "completions/plimsoll.zsh", "completions/plimsoll.fish",
                     "schema/plimsoll.record-1.json"):
            self.assertIn(inside + name, names)

    def test_a_release_is_installed_by_version_or_as_the_latest(self):
        for version in (self.version, f"v{self.version}", "latest"):
            folder = self.path("installed", version)
            self.assertEqual(self.install(version, folder), f"plimsoll {self.version}\n")
            self.assertEqual(os.listdir(folder), ["plimsoll"])

    def test_what_is_damaged_or_missing_is_not_installed(self):
        folder = self.path("nothing")
        self.assertIn("is there such a release?", self.install("9.9.9", folder, code=1))
        damaged = self.path("damaged", "latest", "download")
        shutil.copytree(self.path("releases", "latest", "download"), damaged)
        with open(os.path.join(damaged, os.path.basename(self.archive)), "ab") as file:
            file.write(b"more")
        self.assertIn("FAILED", self.install("latest", folder, "file://" + self.path("damaged"), code=1))
        self.assertFalse(os.path.exists(folder))

    def action(self, name, code, **inputs):
        """Runs the shell steps of the action, as its runner does; returns its outputs and what it prints."""
        temp = self.path(name)
        os.mkdir(temp)
        files = {variable: os.path.join(temp, variable) for variable in ("GITHUB_OUTPUT", "GITHUB_PATH",
                                                                         "GITHUB_STEP_SUMMARY")}
        install, step = [step for step in read("github/action.yml")["runs"]["steps"] if "run" in step]
        environment = dict(
            self.environment, **files, RUNNER_TEMP=temp, GITHUB_ACTION_PATH=os.path.join(CI, "github"),
            RELEASES=self.releases, VERSION="latest", GITHUB_JOB="memory",
            PLIMSOLL_ACTION_FOLDER=os.path.join(temp, "kept"),
            INPUT_ARGUMENTS="", INPUT_GATE="")
        environment.update({f"INPUT_{key.upper()}": value for key, value in inputs.items()})
        self.assertEqual(set(install["env"]) | set(step["env"]) - set(environment), set(install["env"]))
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
        run([*shell, install["run"]], env=environment)
        with open(files["GITHUB_PATH"], encoding="utf-8") as file:
            environment["PATH"] = file.read().strip() + ":" + environment["PATH"]
        printed = run([*shell, step["run"]], env=environment, code=code, cwd=temp)
        with open(files["GITHUB_OUTPUT"], encoding="utf-8") as file:
            outputs = dict(line.rstrip("\n").split("=", 1) for line in file)
        self.assertEqual(outputs["exit-code"], str(code))
        summary = ""
        if os.path.exists(files["GITHUB_STEP_SUMMARY"]):
            with open(files["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
                summary = file.read()
        return outputs, printed, summary

    def test_the_action(self):
        outputs, printed, summary = self.action(
            "holds", 0, command="echo out | cat\nexit 0", arguments="--peak-rss 1GiB --label a", gate="--peak-rss 1GiB")
        self.assertIn("out\n", printed)
        with open(outputs["record"], encoding="utf-8") as file:
            self.assertEqual(json.load(file)["semantics"]["label"], "a")
        # From the command and from the gate, once each.
        self.assertEqual((summary.count("### "), summary.count("Memory gate: HOLDS")), (2, 1), summary)
        for name in ("report.html", "gate.html"):
            with open(os.path.join(os.path.dirname(outputs["record"]), name), encoding="utf-8") as file:
                self.assertIn("peak_rss", file.read())
        outputs, printed, _ = self.action("breaks", 1, command="true", arguments="--peak-rss 1KiB")
        with open(outputs["record"], encoding="utf-8") as file:
            self.assertEqual(json.load(file)["semantics"]["label"], "memory")
        # The command fails if any part of a pipe does, and its code is kept.
        self.action("fails", 7, command="(exit 7) | cat")
        self.action("gated", 1, command="true", gate="--peak-rss 1KiB")
        # No input becomes part of the script.
        self.action("hostile", 127, command="true", arguments="$(touch hostile) ; touch hostile")
        self.assertFalse(os.path.exists(self.path("hostile", "hostile")))

    def test_the_gitlab_template(self):
        job = read("gitlab.yml")[".plimsoll"]
        folder = self.path("gitlab")
        os.mkdir(folder)
        environment = dict(self.environment, **job["variables"])
        environment.update(PLIMSOLL_RELEASES=self.releases, PLIMSOLL_PEAK_RSS="1KiB")
        script = "\n".join(["set -e", *job["before_script"], "plimsoll run -- true"])
        run(["sh", "-c", script], env=environment, cwd=folder, code=1)
        with open(os.path.join(folder, "plimsoll", "record.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["exit_code"], 1)


if __name__ == "__main__":
    unittest.main()
