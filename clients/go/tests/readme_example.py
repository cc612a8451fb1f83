"""Runs the example of the README that names these addresses."""

import pathlib
import re
import subprocess

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = """
package main

import (
	"context"
	"fmt"

	"fairlock"

	"gopkg.in/redis.v5"
)

func deploy(context.Context) error { fmt.Println("deployed"); return nil }

func example(ctx context.Context) error {
	%s}

func main() { fmt.Println(example(context.Background())) }
"""


def build(source, program):
    subprocess.run(["go", "build", "-o", program, source], check=True, timeout=100)


def output(folder, shown, addresses):
    """The output with these addresses instead of those that the README shows."""
    blocks = re.findall(r"```go\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    (example,) = [text for text in blocks if shown in text]
    source = folder / "main.go"
    own = ", ".join(f'"{address}"' for address in addresses)
    source.write_text(PROGRAM % example.replace(shown, own))
    build(source, folder / "example")
    return subprocess.run([folder / "example"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60, check=True).stdout
