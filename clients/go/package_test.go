package fairlock_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	debianPackages = "/usr/share/gocode"
	linesMax       = 300
)

// copyPackage copies what a user gets: the sources without their tests.
func copyPackage(t *testing.T, from, to string) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() && name != "tests" && name != "testdata" {
			copyPackage(t, filepath.Join(from, name), filepath.Join(to, name))
		}
		if entry.IsDir() || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goTool runs go in a folder.
func goTool(t *testing.T, folder string, environment []string, words ...string) {
	t.Helper()
	command := exec.Command("go", words...)
	command.Dir = folder
	command.Env = append(os.Environ(), append(environment, "GOPROXY=off", "GOFLAGS=")...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", words, err, output)
	}
}

// workspace is a GOPATH with the package and Debian's packages, as the README describes.
func workspace(t *testing.T) (folder string, environment []string) {
	folder = t.TempDir()
	copyPackage(t, ".", filepath.Join(folder, "src", "fairlock"))
	return folder, []string{"GO111MODULE=off", "GOPATH=" + folder + ":" + debianPackages}
}

const work = `
package main

import "context"

func charge(context.Context, int, int64) error { println("charged"); return nil }
`

func (b *bench) run(program string, arguments ...string) string {
	b.Helper()
	output, err := exec.Command(program, arguments...).CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}

func TestProgramInAWorkspaceOfDebian(t *testing.T) {
	skipIfShort(t)
	b := newBench(t)
	folder, environment := workspace(t)
	source := filepath.Join(folder, "src", "shop")
	example := strings.ReplaceAll(examples(t)[0], "localhost:3247", b.server.address())
	write(t, filepath.Join(source, "main.go"), example)
	write(t, filepath.Join(source, "work.go"), work)
	goTool(t, source, environment, "build", "-o", "shop")
	b.expect(b.run(filepath.Join(source, "shop")) == "charged\n", "another output")
	b.expect(b.commands("unlock") == 1, "no release")
	b.expectNothingLeft("order:42")
}

func TestProgramWithModules(t *testing.T) {
	skipIfShort(t)
	b := newBench(t)
	folder := t.TempDir()
	copyPackage(t, ".", filepath.Join(folder, "clients", "go"))
	// Debian's copy is not a module.
	redis := filepath.Join(folder, "redis")
	copyPackage(t, filepath.Join(debianPackages, "src", "gopkg.in", "redis.v5"), redis)
	write(t, filepath.Join(redis, "go.mod"), "module gopkg.in/redis.v5\n")
	source := filepath.Join(folder, "shop")
	write(t, filepath.Join(source, "go.mod"), "module shop\n\ngo 1.19\n")
	write(t, filepath.Join(source, "main.go"),
		strings.ReplaceAll(examples(t)[0], "localhost:3247", b.server.address()))
	write(t, filepath.Join(source, "work.go"), work)
	modules := []string{"GO111MODULE=on", "GOPATH=" + filepath.Join(folder, "cache")}
	goTool(t, source, modules, "mod", "edit", "-require", "fairlock@v0.1.0", "-replace",
		"fairlock=../clients/go", "-replace", "gopkg.in/redis.v5=../redis")
	goTool(t, source, modules, "build", "-mod=mod", "-o", "shop")
	b.expect(b.run(filepath.Join(source, "shop")) == "charged\n", "another output")
}

func TestFormatAndVet(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	output, err := exec.Command("gofmt", "-l", ".").CombinedOutput()
	if err != nil || len(output) > 0 {
		t.Errorf("gofmt -l: %v\n%s", err, output)
	}
	goTool(t, ".", nil, "vet", "fairlock", "fairlock/tests/conformance_driver",
		"fairlock/tests/fleet_worker")
}

func TestPublicNamesAreDocumented(t *testing.T) {
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", func(file fs.FileInfo) bool {
		return !strings.HasSuffix(file.Name(), "_test.go")
	}, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.PackageExports(packages["fairlock"])
	found := doc.New(packages["fairlock"], "fairlock", 0)
	count := 0
	check := func(name, text string) {
		count++
		if text == "" {
			t.Errorf("%s is not documented", name)
		}
	}
	check("the package", found.Doc)
	for _, f := range found.Funcs {
		check(f.Name, f.Doc)
	}
	for _, kind := range found.Types {
		check(kind.Name, kind.Doc)
		for _, f := range append(kind.Funcs, kind.Methods...) {
			check(kind.Name+"."+f.Name, f.Doc)
		}
	}
	if count < 30 {
		t.Errorf("only %d names were found", count)
	}
}

func TestFilesAreShort(t *testing.T) {
	paths, _ := filepath.Glob("*.go")
	more, _ := filepath.Glob("tests/*/*.go")
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if lines := strings.Count(string(text), "\n"); err != nil || lines > linesMax {
			t.Errorf("%s has %d lines: %v", path, lines, err)
		}
	}
	if len(paths)+len(more) < 30 {
		t.Errorf("only %d files were found", len(paths)+len(more))
	}
}
