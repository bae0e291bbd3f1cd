// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Ports are the loopback ports of a plane. 0 means any free one.
type Ports struct {
	// APIServer is the port of kube-apiserver, the only one that users need.
	APIServer int
	// Etcd is the port for etcd's clients.
	Etcd int
	// EtcdPeer is the port for etcd's peers, which a plane does not have.
	EtcdPeer int
}

// portUser is one port and what it is for.
type portUser struct {
	user string
	port *int
}

func (p *Ports) users() []portUser {
	return []portUser{
		{user: "kube-apiserver", port: &p.APIServer},
		{user: "etcd", port: &p.Etcd},
		{user: "etcd's peers", port: &p.EtcdPeer},
	}
}

// validate checks the numbers, not whether they are free.
func (p Ports) validate() error {
	seen := map[int]string{}
	for _, u := range p.users() {
		port := *u.port
		if port < 0 || port > 65535 {
			return fmt.Errorf("port %d for %s is not between 0 and 65535", port, u.user)
		}
		if other, taken := seen[port]; taken && port != 0 {
			return fmt.Errorf("port %d is given to both %s and %s", port, other, u.user)
		}
		seen[port] = u.user
	}
	return nil
}

// allFixed says whether trying again would use the same ports.
func (p Ports) allFixed() bool {
	return p.APIServer != 0 && p.Etcd != 0 && p.EtcdPeer != 0
}

// pick returns the ports with free ones for every 0. Another process may take
// one between now and the start of its user; Start tries again then.
func (p Ports) pick() (Ports, error) {
	var listeners []net.Listener
	// Closed at the end, so that no two users get the same port.
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, u := range p.users() {
		listener, err := net.Listen("tcp", address(*u.port))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return Ports{}, fmt.Errorf("port %d for %s is taken (in use by another process); choose another or leave it 0", *u.port, u.user)
		case err != nil:
			return Ports{}, fmt.Errorf("port %d for %s cannot be used: %w; choose another or leave it 0", *u.port, u.user, err)
		}
		listeners = append(listeners, listener)
		if bound, ok := listener.Addr().(*net.TCPAddr); ok {
			*u.port = bound.Port
		}
	}
	return p, nil
}

// address is a port of the loopback interface, the only one that is used.
func address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
