"""Runs the example of the README that names these addresses."""

import pathlib
import re
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE.parents[1] / "tests/integration"))

import own_go  # noqa: E402

PROGRAM = """
package main

import (
	"context"
	"fmt"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func deploy(context.Context) error { fmt.Println("deployed"); return nil }

func example(ctx context.Context) error {
	%s}

func main() { fmt.Println(example(context.Background())) }
"""


def output(folder, shown, addresses):
    """The output with these addresses instead of those that the README shows."""
    blocks = re.findall(r"```go\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    (example,) = [text for text in blocks if shown in text]
    source = folder / "main.go"
    own = ", ".join(f'"{address}"' for address in addresses)
    source.write_text(PROGRAM % example.replace(shown, own))
    own_go.build(source, folder / "example")
    return subprocess.run([folder / "example"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60, check=True).stdout
