// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // where the images are
	"github.com/sirupsen/logrus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		os.Exit(exit.ExitCode()) // the command has said why
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("registry", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.Usage = func() {
		fmt.Fprintln(log, "Usage: registry [--address HOST:PORT] FOLDER [COMMAND...]")
		flags.PrintDefaults()
	}
	address := flags.String("address", "127.0.0.1:5050", "where to listen; port 0 is a free one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return errors.New("a folder with images is required")
	}
	server, host, err := serve(ctx, *address)
	if err != nil {
		return err
	}
	err = pushAll(ctx, flags.Arg(0), host, out)
	switch {
	case err != nil:
	case flags.NArg() > 1:
		err = command(ctx, flags.Args()[1:], out, log)
	default:
		fmt.Fprintf(out, "The registry %s is ready; Ctrl-C ends it.\n", host)
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}

// serve starts a registry, and returns its host with the port.
func serve(ctx context.Context, address string) (server *http.Server, host string, err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("starting the registry: %w; another port can be given with --address, and in registries.conf", err)
	}
	logrus.SetOutput(io.Discard) // the registry logs each request there
	registry := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": configuration.Parameters{}},
		Log:     configuration.Log{Level: "fatal", AccessLog: configuration.AccessLog{Disabled: true}},
	}
	registry.HTTP.Secret = "of one process"
	server = &http.Server{Handler: handlers.NewApp(ctx, registry), ReadHeaderTimeout: time.Minute}
	go func() {
		// It ends with the listener.
		_ = server.Serve(listener)
	}()
	return server, listener.Addr().String(), nil
}

// pushAll pushes every image of a folder.
func pushAll(ctx context.Context, folder, host string, out io.Writer) error {
	images, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil {
		return fmt.Errorf("listing images: %w", err)
	}
	if len(images) == 0 {
		return fmt.Errorf("%s has no folders REPOSITORY/TAG", folder)
	}
	for _, image := range images {
		reference := host + "/" + filepath.Base(filepath.Dir(image)) + ":" + filepath.Base(image)
		digest, err := push(ctx, image, reference)
		if err != nil {
			return fmt.Errorf("pushing %s: %w", image, err)
		}
		fmt.Fprintf(out, "Pushed %s@%s\n", reference, digest)
	}
	return nil
}

// command runs a program until it ends, or is interrupted with this one.
func command(ctx context.Context, args []string, out, log io.Writer) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, out, log
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	return c.Run()
}
