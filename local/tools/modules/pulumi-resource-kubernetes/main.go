// Command pulumi-resource-kubernetes is the Kubernetes provider plugin. Its schema and mapping are files of the provider's
// module; the build puts them beside this file, the schema with its version added.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, mapping)
}
