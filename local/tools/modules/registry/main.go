// Command registry serves an OCI registry on loopback: the real distribution, with its storage in memory. It writes its
// address to standard output as soon as it accepts connections. Only tests run it.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func serve() error {
	logrus.SetLevel(logrus.WarnLevel)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": configuration.Parameters{}}}
	app := handlers.NewApp(context.Background(), config)
	fmt.Println(listener.Addr())
	return http.Serve(listener, app)
}
