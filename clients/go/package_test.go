package fairlock_test

import (
	"archive/zip"
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	fairlock "github.com/fairlock/fairlock/clients/go"
)

const linesMax = 300

func write(t *testing.T, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goTool runs go in a folder, and returns what it prints.
func goTool(t *testing.T, folder string, environment []string, words ...string) string {
	t.Helper()
	command := exec.Command("go", words...)
	command.Dir = folder
	command.Env = append(append(os.Environ(), "GOPROXY=off", "GOWORK=off"), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", words, err, output)
	}
	return strings.TrimSpace(string(output))
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

func modulePath(t *testing.T) string {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[1]
}

// publish makes a module proxy in a folder that has this module, as a release would.
func publish(t *testing.T, folder string) {
	path, version := modulePath(t), "v"+fairlock.Version
	at := filepath.Join(folder, filepath.FromSlash(path), "@v")
	description, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), version+"\n")
	write(t, filepath.Join(at, version+".mod"), string(description))
	write(t, filepath.Join(at, version+".info"),
		`{"Version": "`+version+`", "Time": "2026-01-01T00:00:00Z"}`)
	var archive bytes.Buffer
	packed := zip.NewWriter(&archive)
	err = filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := packed.Create(path + "@" + version + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = file.Write(text)
		}
		return err
	})
	if err != nil || packed.Close() != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, version+".zip"), archive.String())
}

// An empty project gets the module from a proxy, with nothing else at hand.
func TestProgramWithThePublishedModule(t *testing.T) {
	skipIfShort(t)
	b := newBench(t)
	folder := t.TempDir()
	publish(t, filepath.Join(folder, "proxy"))
	shop := filepath.Join(folder, "shop")
	write(t, filepath.Join(shop, "main.go"),
		strings.ReplaceAll(examples(t)[0], "localhost:3247", b.server.address()))
	write(t, filepath.Join(shop, "work.go"), work)
	downloaded := filepath.Join(goTool(t, ".", nil, "env", "GOMODCACHE"), "cache", "download")
	environment := []string{"GOPROXY=file://" + filepath.Join(folder, "proxy") + ",file://" +
		downloaded, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOMODCACHE=" +
		filepath.Join(folder, "cache")}
	goTool(t, shop, environment, "mod", "init", "shop")
	goTool(t, shop, environment, "get", modulePath(t)+"@v"+fairlock.Version)
	goTool(t, shop, environment, "build", "-o", "shop", ".")
	used := goTool(t, shop, environment, "list", "-m", modulePath(t))
	b.expect(used == modulePath(t)+" v"+fairlock.Version, "%s", used)
	b.expect(b.run(filepath.Join(shop, "shop")) == "charged\n", "another output")
	b.expect(b.commands("unlock") == 1, "no release")
	b.expectNothingLeft("order:42")
}

func TestFormatAndVet(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	output, err := exec.Command("gofmt", "-l", ".").CombinedOutput()
	if err != nil || len(output) > 0 {
		t.Errorf("gofmt -l: %v\n%s", err, output)
	}
	goTool(t, ".", nil, "vet", "./...")
}

// Go demands the suffix from the second major version on.
func TestModulePathFollowsTheVersion(t *testing.T) {
	major, _, _ := strings.Cut(fairlock.Version, ".")
	suffix := regexp.MustCompile(`/v\d+$`).FindString(modulePath(t))
	if major == "0" || major == "1" {
		major = ""
	} else {
		major = "/v" + major
	}
	if suffix != major || !strings.Contains(strings.Split(modulePath(t), "/")[0], ".") {
		t.Errorf("%s in version %s", modulePath(t), fairlock.Version)
	}
}

// deploy/set_go_module_path.sh changes them all.
func TestAllImportsHaveThePathOfTheModule(t *testing.T) {
	any := regexp.MustCompile(`"([^"\s]*/clients/go(/v\d+)?)"`)
	count := 0
	for _, folder := range []string{".", "../../tests", "../../docs"} {
		filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if extension := filepath.Ext(name); !strings.Contains(".go.md.py", extension) ||
				extension == "" {
				return nil
			}
			text, _ := os.ReadFile(name)
			for _, match := range any.FindAllStringSubmatch(string(text), -1) {
				count++
				if match[1] != modulePath(t) {
					t.Errorf("%s imports %s", name, match[1])
				}
			}
			return nil
		})
	}
	if count < 20 {
		t.Errorf("only %d imports were found", count)
	}
}

func TestLicenceIsThatOfTheProject(t *testing.T) {
	mine, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadFile("../../LICENSE"); err == nil && string(all) != string(mine) {
		t.Error("they differ")
	}
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
