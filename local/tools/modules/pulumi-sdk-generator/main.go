// Command pulumi-sdk-generator writes SDKs of a Pulumi package, as the language hosts of the engine's version do. Only
// tests run it: module proxies serve no language host of that version.
//
// Arguments: the schema of the package as JSON, and a folder. The SDK of each language is written below the folder, into
// `nodejs`, `go` and `python`. Mistakes of the schema, among them everything that the metaschema refuses, are written to
// standard error, and nothing is generated.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

const tool = "pulumi-sdk-generator"

type generator func(*schema.Package) (map[string][]byte, error)

var generators = map[string]generator{
	"go": func(sources *schema.Package) (map[string][]byte, error) {
		return golang.GeneratePackage(tool, sources, nil)
	},
	"nodejs": func(sources *schema.Package) (map[string][]byte, error) {
		return nodejs.GeneratePackage(tool, sources, nil, nil, false, nil)
	},
	"python": func(sources *schema.Package) (map[string][]byte, error) {
		return python.GeneratePackage(tool, sources, nil, nil)
	},
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, folder string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for language, generate := range generators {
		sources, err := bind(text)
		if err != nil {
			return err
		}
		written, err := generate(sources)
		if err != nil {
			return fmt.Errorf("%s: %w", language, err)
		}
		if err := write(filepath.Join(folder, language), written); err != nil {
			return err
		}
	}
	return nil
}

// bind reads and checks the schema. Each language gets a package of its own, because generators change it.
func bind(text []byte) (*schema.Package, error) {
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	bound, diagnostics, err := schema.BindSpec(spec, nil, schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return bound, nil
}

func write(folder string, written map[string][]byte) error {
	for name, content := range written {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
