// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/localplane/egress"
)

const service = "10.96.4.2:443"

// echo serves one line for each connection: its name and what it was sent.
func echo(t *testing.T, name string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				for line, err := reader.ReadString('\n'); err == nil; line, err = reader.ReadString('\n') {
					fmt.Fprintf(conn, "%s: %s", name, line)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func listen(t *testing.T) *egress.Router {
	t.Helper()
	router, err := egress.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// socket reads, as the API server does, where the proxy is.
func socket(t *testing.T, router *egress.Router) string {
	t.Helper()
	_, path, _ := strings.Cut(router.APIServerArgs()[0], "=")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		EgressSelections []struct {
			Name       string
			Connection struct {
				Transport struct{ UDS struct{ UDSName string } }
			}
		}
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.EgressSelections) != 1 || config.EgressSelections[0].Name != "cluster" {
		t.Fatalf("more than what goes into the cluster is sent through the proxy: %s", content)
	}
	return config.EgressSelections[0].Connection.Transport.UDS.UDSName
}

// connect asks for a way to an address, and returns the connection and the answer.
func connect(t *testing.T, router *egress.Router, method, address string) (net.Conn, *bufio.Reader, int) {
	t.Helper()
	conn, err := net.Dial("unix", socket(t, router))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", method, address)
	reader := bufio.NewReader(conn)
	answer, err := reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	code := 0
	if _, err := fmt.Sscanf(answer, "HTTP/1.1 %d", &code); err != nil {
		t.Fatalf("the proxy answers %q: %v", answer, err)
	}
	for line := answer; line != "\r\n"; {
		if line, err = reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return conn, reader, code
}

func TestRoute(t *testing.T) {
	router := listen(t)
	t.Cleanup(func() { _ = router.Close() })
	for _, name := range []string{"first", "second"} {
		router.Route(service, echo(t, name))
		conn, reader, code := connect(t, router, http.MethodConnect, service)
		if code != http.StatusOK {
			t.Fatalf("the %s route answers %d", name, code)
		}
		for _, text := range []string{"hello\n", "again\n"} {
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			if got, err := reader.ReadString('\n'); err != nil || got != name+": "+text {
				t.Errorf("got %q, %v", got, err)
			}
		}
	}
}

func TestRouteRefuses(t *testing.T) {
	router := listen(t)
	t.Cleanup(func() { _ = router.Close() })
	// A free port could be in use by the time that it is asked for; this one is never given.
	router.Route("10.96.0.9:443", "127.0.0.1:1")
	cases := map[string]struct {
		reason, method, address string
		want                    int
	}{
		"Unknown": {reason: "an address without a route is refused at once", method: http.MethodConnect, address: service, want: http.StatusBadGateway},
		"Port":    {reason: "another port of the same Service is another address", method: http.MethodConnect, address: "10.96.0.9:15012", want: http.StatusBadGateway},
		"Refused": {reason: "a process that does not listen is refused", method: http.MethodConnect, address: "10.96.0.9:443", want: http.StatusBadGateway},
		"Method":  {reason: "it is no proxy for anything else", method: http.MethodGet, address: "http://10.96.0.9/", want: http.StatusMethodNotAllowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, _, code := connect(t, router, tc.method, tc.address); code != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, code, tc.want)
			}
		})
	}
}

func TestClose(t *testing.T) {
	router := listen(t)
	path := socket(t, router)
	router.Route(service, echo(t, "process"))
	_, reader, code := connect(t, router, http.MethodConnect, service)
	if code != http.StatusOK {
		t.Fatalf("got %d", code)
	}
	if err := router.Close(); err != nil {
		t.Fatal(err)
	}
	if line, err := reader.ReadString('\n'); err == nil {
		t.Errorf("a connection lives on after Close: %q", line)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}
