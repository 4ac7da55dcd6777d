# Which checks to run when: CONTRIBUTING.md. Each recipe is one line, so that nobody needs `just` to run it.

# Lists the recipes.
default:
    @just --list --unsorted

# Format, clippy and library tests of packages that differ from HEAD, or of the named ones: `just quick memory`.
quick *packages:
    harness/test.sh quick {{packages}}

# Everything that needs Rust alone.
test:
    harness/test.sh rust

# What needs torch, which is set up in target/torch-venv.
torch:
    harness/test.sh torch

# All of it, as it runs before a change is merged.
ci:
    .ci/run
