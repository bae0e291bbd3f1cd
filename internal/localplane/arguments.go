// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"path/filepath"
	"strconv"
)

const (
	// serviceRange and podRange never leave the machine: there is no network.
	serviceRange   = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
	podRange       = "10.244.0.1/16"
	// nodeIP is reserved for documentation (RFC 5737); Endpoints must not contain
	// a loopback address.
	nodeIP = "192.0.2.1"
)

// pki is the path of a file with a certificate or a key.
func (p *Plane) pki(name string) string { return filepath.Join(p.dataDir, "pki", name) }

func (p *Plane) etcdArgs() []string {
	client := "https://" + address(p.ports.Etcd)
	peer := "https://" + address(p.ports.EtcdPeer)
	return []string{
		"--name=local",
		"--data-dir=" + filepath.Join(p.dataDir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		"--cert-file=" + p.pki("etcd.crt"),
		"--key-file=" + p.pki("etcd.key"),
		"--trusted-ca-file=" + p.pki("etcd-ca.crt"),
		"--client-cert-auth",
		"--peer-cert-file=" + p.pki("etcd.crt"),
		"--peer-key-file=" + p.pki("etcd.key"),
		"--peer-trusted-ca-file=" + p.pki("etcd-ca.crt"),
		"--peer-client-cert-auth",
		// A power cut may cost this data; waiting for the disk would cost time.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (p *Plane) apiServerArgs() []string {
	args := []string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.ports.APIServer),
		// A loopback address cannot be an endpoint of the kubernetes Service.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.pki("kube-apiserver.crt"),
		"--tls-private-key-file=" + p.pki("kube-apiserver.key"),
		"--client-ca-file=" + p.pki("ca.crt"),
		"--etcd-servers=https://" + address(p.ports.Etcd),
		"--etcd-cafile=" + p.pki("etcd-ca.crt"),
		"--etcd-certfile=" + p.pki("etcd.crt"),
		"--etcd-keyfile=" + p.pki("etcd.key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.pki("service-accounts.key"),
		"--service-account-signing-key-file=" + p.pki("service-accounts.key"),
		"--audit-policy-file=" + filepath.Join(p.dataDir, "audit-policy.yaml"),
		"--audit-log-path=" + p.AuditLog(),
		// No rotation: a test that counts requests needs all of them.
		"--audit-log-maxsize=0",
		"--shutdown-delay-duration=0s",
		"--profiling=false",
	}
	return append(args, p.options.APIServerArgs...)
}

func (p *Plane) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + p.kubeconfigOf("kube-controller-manager"),
		"--leader-elect=false",
		"--secure-port=0",
		"--controllers=*",
		// Each controller is a user of its own in the audit log.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + p.pki("service-accounts.key"),
		"--root-ca-file=" + p.pki("ca.crt"),
		"--cluster-signing-cert-file=" + p.pki("ca.crt"),
		"--cluster-signing-key-file=" + p.pki("ca.key"),
		"--horizontal-pod-autoscaler-sync-period=5s",
		// A suspended laptop is no reason to evict the pods.
		"--node-monitor-grace-period=1h",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

func (p *Plane) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + p.kubeconfigOf("kube-scheduler"),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

// kwokArgs has no port: nothing serves logs or exec of pods that do not run. Its
// configuration is named as the folder that it runs in has it: kwok takes a comma in a path
// for the end of it.
func (p *Plane) kwokArgs(config string) []string {
	return []string{
		"--kubeconfig=" + p.kubeconfigOf("kwok"),
		"--config=" + filepath.Base(config),
		"--cidr=" + podRange,
		"--node-ip=" + nodeIP,
	}
}
